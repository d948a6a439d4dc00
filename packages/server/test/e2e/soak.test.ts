import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const command = fileURLToPath(new URL('../../../../scripts/soak.mjs', import.meta.url))

interface SoakResult {
  jobs: number
  kinds: Record<string, number>
  faults: Record<string, number>
  ticks: {
    expected: number
    ran: number
    caught_up: number
    skipped: Record<string, number>
    in_flight: number
  }
  takeover: Record<string, { count: number; never: number }>
  violations: Record<string, string[]>
}

/** The soak as a person runs it, short: a minute of one of each fault, with short leases. Its table goes to the output. */
async function soak(...args: string[]): Promise<{ code: number | null; result: SoakResult }> {
  const child = spawn(process.execPath, [command, ...args, '--json'], { stdio: ['ignore', 'pipe', 'pipe'] })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  const [code] = (await once(child, 'close')) as [number | null]
  console.log(stderr)
  if (stdout === '') throw new Error(`The soak ended with ${String(code)} and said nothing on stdout.`)
  return { code, result: JSON.parse(stdout) as SoakResult }
}

test('a fleet under kill -9, pauses, handovers and an outage accounts for every tick, doubles none, is never early', async () => {
  const { code, result } = await soak(
    ...'--minutes 1 --jobs 200 --seed 4 --ttl 3 --late 4 --calm 1'.split(' '),
  )
  const violations = Object.entries(result.violations).filter(([, list]) => list.length > 0)
  expect(violations).toEqual([])
  expect(code).toBe(0)
  for (const fault of ['kill', 'stop', 'term', 'worker_kill', 'blackout']) {
    expect(result.faults[fault], fault).toBeGreaterThanOrEqual(1)
  }
  expect(Object.keys(result.kinds)).toHaveLength(10)
  expect(result.ticks.ran).toBeGreaterThan(100)
  expect(result.ticks.caught_up).toBeGreaterThan(0)
  expect(result.takeover.kill?.never).toBe(0)
}, 420_000)
