import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
const requireAll = process.env['CARILLON_REQUIRE_ALL'] === '1'

interface Figures {
  workload: string
  ours: Record<string, unknown>
  peers: Record<string, Record<string, unknown>>
  probe: Record<string, unknown> | null
  ratio_best_peer: number | null
  ratio_probe: number | null
  lost: number
  doubled: number
  repeats: number
  machine: Record<string, unknown>
}

/** Each in seconds: whether they still work, not how fast. */
const workloads = {
  'hot-second': { probe: true, figures: ['runs_per_s', 'lag_ms.p99', 'drain_s'] },
  saturate: { probe: true, figures: ['runs_per_s', 'wal_bytes_per_run'] },
  steady: { probe: true, figures: ['lag_ms.p50', 'lag_ms.p95', 'lag_ms.p99', 'lag_ms.max'] },
  recurring: { probe: true, figures: ['lag_ms.p99', 'registered_s'] },
  register: { probe: true, figures: ['single_per_s', 'keyed_per_s', 'bulk_per_s'] },
  webhook: { probe: true, figures: ['deliveries_per_s', 'most_in_flight', 'connections', 'lag_ms.p99'] },
  scale: {
    probe: false,
    figures: [
      ...['lag_ms.p99', 'disk_mb', 'due_scan_ms', 'due_scan_all_ms', 'horizon_load_ms', 'rss_mb'],
      ...['restart_ms', 'restart_owned_ms', 'restart_first_run_ms', 'seeded_per_s'],
      ...['bytes_per_job', 'bytes_per_timer', 'ledger_bytes_per_run', 'wal_bytes_per_run'],
    ],
  },
  failover: { probe: false, figures: ['kill.gap_ms.p50', 'term.gap_ms.p50'] },
  'in-flight': { probe: false, figures: ['closes_per_s', 'in_flight_after_ms', 'rss_mb', 'lag_ms.p50'] },
  soak: { probe: false, figures: ['runs_per_s', 'lag_ms.p50', 'rss_mb_late'] },
}
const names = Object.keys(workloads) as (keyof typeof workloads)[]
const folder = mkdtempSync(join(tmpdir(), 'carillon-bench-test-'))
const results = join(folder, 'results')

function bench(...args: string[]) {
  return spawnSync(process.execPath, ['bench/run.mjs', ...args], { cwd: root, encoding: 'utf8' })
}

/** The same beside others. */
function run(...args: string[]): Promise<{ status: number | null; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, ['bench/run.mjs', ...args], { cwd: root })
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (chunk) => (stdout += String(chunk)))
  child.stderr.on('data', (chunk) => (stderr += String(chunk)))
  return new Promise((resolve) => child.once('close', (status) => resolve({ status, stdout, stderr })))
}

function figureAt(figures: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((part, name) => (part as Record<string, unknown> | undefined)?.[name], figures)
}

describe('the benchmarks', () => {
  let statuses: (number | null)[] = []
  let lines: string[] = []
  let said = ''

  // Two at a time: most of it is waiting for an instant.
  beforeAll(async () => {
    const halves = [names.slice(0, 5), names.slice(5)]
    const runs = await Promise.all(
      halves.map((half) => run(...half, '--smoke', '--peers', 'none', '--json', '--out', results)),
    )
    statuses = runs.map(({ status }) => status)
    said = runs.map(({ stderr }) => stderr).join('')
    lines = runs.flatMap(({ stdout }) => stdout.trim().split('\n'))
  }, 900_000)
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  const of = (name: string) => {
    const line = lines.map((each) => JSON.parse(each) as Figures).find(({ workload }) => workload === name)
    if (line === undefined) throw new Error(`No line of ${name}. It said:\n${said.slice(-2_000)}`)
    return line
  }

  it.each(names)('%s has one line in the agreed shape, with nothing lost and nothing doubled', (name) => {
    const figures = of(name)
    expect(figures).toMatchObject({ peers: {}, ratio_best_peer: null, lost: 0, doubled: 0 })
    expect(figures.repeats).toBeGreaterThan(0)
    for (const fact of ['cores', 'load_average']) expect(figures.machine[fact], fact).toBeTypeOf('number')
    for (const path of workloads[name].figures)
      expect(figureAt(figures.ours, path), path).toSatisfy((value) => typeof value === 'number' && value >= 0)
    if (workloads[name].probe) expect(figures.ratio_probe).toBeGreaterThan(0)
    else expect(figures.probe).toBeNull()
  })

  it('ends well, and says on stderr what it does', () => {
    expect(statuses, said.slice(-2_000)).toEqual([0, 0])
    expect(lines).toHaveLength(names.length)
    expect(said).toMatch(/hot-second n 1,000: carillon, 1 of 1/)
  })

  it('makes tables and charts of what it kept', () => {
    const page = join(folder, 'benchmarks.md')
    const sizing = join(folder, 'sizing.md')
    const report = spawnSync(process.execPath, ['bench/report.mjs', results, page, sizing], {
      cwd: root,
      encoding: 'utf8',
    })
    expect(report.status, report.stderr).toBe(0)
    const text = readFileSync(page, 'utf8')
    for (const name of names) {
      expect(text).toContain(`<!-- bench:${name} -->`)
      expect(text).toContain(`## ${name}`)
    }
    expect(text).not.toMatch(/NaN|undefined|\[object/)
    const costs = readFileSync(sizing, 'utf8')
    expect(costs).toMatch(/\| bytes a run in the history \| [\d,]+ \| `scale`, n 2,000 \|/)
    expect(costs).toMatch(/cores of Postgres for 1,000 runs a second, at most speed \| [\d,.]+ \| `saturate`/)
    expect(costs).not.toMatch(/NaN|undefined|\[object/)
    const charts = readdirSync(folder).filter((name) => name.endsWith('.svg'))
    expect(charts.length).toBeGreaterThan(5)
    for (const chart of charts) {
      expect(text).toContain(chart)
      expect(readFileSync(join(folder, chart), 'utf8')).not.toMatch(/NaN|undefined/)
    }
    // Written anew in its place, and what people wrote around it stays.
    spawnSync(process.execPath, ['bench/report.mjs', results, page], { cwd: root })
    expect(readFileSync(page, 'utf8')).toBe(text)
  })
})

describe('the benchmarks beside the peers', () => {
  const installed =
    existsSync(join(root, 'bench/.cache')) &&
    readdirSync(join(root, 'bench/.cache')).some((name) => name.startsWith('peers-'))

  it.skipIf(!installed && !requireAll)(
    'run each of them in the same invocation',
    () => {
      const { status, stdout, stderr } = bench('hot-second', '--smoke', '--json')
      expect(status, stderr.slice(-2_000)).toBe(0)
      const figures = JSON.parse(stdout) as Figures
      expect(Object.keys(figures.peers)).toEqual(['graphile-worker', 'pg-boss', 'bullmq'])
      for (const [name, peer] of Object.entries(figures.peers)) {
        // Redis may be nowhere to be had; the others need nothing.
        if (name === 'bullmq' && !requireAll && 'error' in peer) continue
        expect(peer, name).toMatchObject({ lost: 0, doubled: 0 })
        expect(peer['runs_per_s'], name).toBeGreaterThan(0)
      }
      expect(figures.ratio_best_peer).toBeGreaterThan(0)
    },
    300_000,
  )
})

describe('the options of the benchmarks', () => {
  it.each([
    [['hot-second', '--n', '0'], /--n takes a whole number above 0, not 0/],
    [
      ['hot-second', '--peers', 'sidekiq'],
      /--peers knows graphile-worker, pg-boss, bullmq and none, not sidekiq/,
    ],
    [['hot-second', '--set', 'x'], /--set takes NAME=VALUE, not x/],
    [['hot-second', '--color'], /Unknown option '--color'/],
    [['steady', 'stedy'], /no workload "stedy"\. Known: .*steady/],
  ])('%j is refused with the reason', (args, message) => {
    const { status, stdout, stderr } = bench(...args)
    expect(status).toBe(2)
    expect(stdout).toBe('')
    expect(stderr).toMatch(message)
  })
})
