import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const script = fileURLToPath(new URL('../../../../scripts/simulate.mjs', import.meta.url))

interface Report {
  histories: number
  distinct: number
  effects: Record<string, number>
  faults: number
  broken: number
}

/** What histories are made of. Each of them has to be among the effects, and not once or twice. */
const kinds = [
  ...['fire', 'fire-plain', 'lease', 'start', 'hand-back', 'close', 'close-plain', 'note-stale', 'rescue'],
  ...['take-partitions', 'release-partitions', 'disown', 'declare-dead', 'join', 'leave'],
]

/** Histories in a process of their own; answers what it reports, and its interleavings. */
function simulate(args: string[]): Promise<{ code: number | null; out: string; err: string }> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, ['--max-semi-space-size=64', script, ...args])
    let [out, err] = ['', '']
    child.stdout.on('data', (data: Buffer) => (out += data.toString()))
    child.stderr.on('data', (data: Buffer) => (err += data.toString()))
    child.on('close', (code) => resolve({ code, out, err }))
  })
}

/** Two processes, for two cores. */
const shares = [1, 1_000_001]
const historiesEach = 56_000

test('in 100,000 different interleavings of fires, leases, closes and rescues no promise is broken', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'carillon-simulation-'))
  try {
    const files = shares.map((seed) => join(folder, `${seed}`))
    const ended = await Promise.all(
      shares.map((seed, at) =>
        simulate([
          ...['--seed', `${seed}`, '--histories', `${historiesEach}`],
          ...['--interleavings', files[at] as string],
        ]),
      ),
    )
    const reports = ended.map(({ out }) => JSON.parse(out) as Report)
    const interleavings = new Set(
      files.flatMap((file) => {
        const { buffer, byteOffset, byteLength } = readFileSync(file)
        return [...new Float64Array(buffer.slice(byteOffset, byteOffset + byteLength))]
      }),
    )
    const sum = (of: 'histories' | 'faults' | 'broken') =>
      reports.reduce((total, report) => total + report[of], 0)
    const effects = kinds.map(
      (kind) => [kind, reports.reduce((total, report) => total + (report.effects[kind] ?? 0), 0)] as const,
    )
    console.log(
      `simulation: ${sum('histories')} histories, ${interleavings.size} different interleavings, ` +
        `${sum('faults')} faults, ${sum('broken')} broken; ${effects.map((effect) => effect.join(' ')).join(', ')}`,
    )
    expect(ended.map(({ err }) => err)).toEqual(['', ''])
    expect(sum('broken')).toBe(0)
    expect(interleavings.size).toBeGreaterThanOrEqual(100_000)
    expect(effects.filter(([, count]) => count < 50)).toEqual([])
  } finally {
    rmSync(folder, { recursive: true })
  }
}, 1_200_000)

test('the command tells what broke, how to see it again, and fails', async () => {
  const { code, out, err } = await simulate(['--histories', '300', '--mutant', 'start before its time'])
  expect(code).toBe(1)
  expect((JSON.parse(out) as Report).broken).toBeGreaterThan(0)
  const seed = /again: npm run simulate -- --seed (\d+) --trace/.exec(err)?.[1]
  const again = await simulate(['--seed', `${seed}`, '--trace', '--mutant', 'start before its time'])
  expect(again.code).toBe(1)
  expect(again.err).toContain('was started before its time')
  expect(again.out).toContain('starts, attempt 1')
})
