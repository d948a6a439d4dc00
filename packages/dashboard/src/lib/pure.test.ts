import type {
  ClusterView,
  DeadLetterGroup,
  Run,
  RunAttempt,
  RunDetail,
  Stats,
  TargetHost,
} from '@carillon/contract'
import { describe, expect, it } from 'vitest'
import { concernsOf } from './attention.js'
import { asCurl, asTypeScript, shellQuote } from './copy-as.js'
import { heatRows, levelOf } from './heat.js'
import { merged } from './live.js'
import { recentOf } from './recent.js'
import { barsOf, spans } from './waterfall.js'

const due = Date.parse('2026-11-16T03:00:00Z')
const at = (ms: number) => new Date(due + ms).toISOString()

describe('what needs attention', () => {
  const calm = { stats: null, cluster: null, groups: [], targets: [], events: [] }
  const cluster = { unowned: 0, lag_ms: 0, brake: null } as unknown as ClusterView

  it('is nothing where nothing is wrong', () => expect(concernsOf({ ...calm, cluster })).toEqual([]))

  it('has the worst first, each with why and where to go', () => {
    const target = {
      host: 'a.test',
      waiting: 3,
      breaker: { state: 'draining', last_error: 'HTTP 503' },
    } as unknown as TargetHost
    const group = {
      fingerprint: 'f',
      count: 2,
      jobs: 1,
      pattern: 'p',
      example: { run_id: 'r', error: 'boom' },
    } as unknown as DeadLetterGroup
    const found = concernsOf({
      ...calm,
      cluster: { ...cluster, unowned: 4 },
      targets: [target],
      groups: [group],
    })
    expect(found.map(({ severity }) => severity)).toEqual(['bad', 'bad', 'warn'])
    expect(found[0]).toMatchObject({ title: '4 partitions without an owner', href: '/cluster' })
    expect(found[1]).toMatchObject({ why: 'boom', href: '/dead-letters?fingerprint=f' })
    expect(found[2]?.why).toContain('3 runs parked')
  })

  it('includes runs that nobody takes', () => {
    const stats = { queue: { ready: 7, oldest_ready_ms: 60_000 } } as unknown as Stats
    expect(concernsOf({ ...calm, stats })[0]?.title).toBe('7 runs ready, the oldest for 1 m')
    const ill = {
      host: 'a.test',
      waiting: 7,
      breaker: { state: 'open', last_error: null },
    } as unknown as TargetHost
    // What waits for an ill host is none of the ready: these starve beside it.
    const keys = concernsOf({ ...calm, stats, targets: [ill] }).map(({ key }) => key)
    expect(keys).toEqual(['starved', 'target a.test'])
  })
})

describe('a waterfall', () => {
  const attempt = (changes: Partial<RunAttempt>): RunAttempt => ({
    ...{
      attempt: 1,
      round: 1,
      outcome: 'success',
      final: true,
      reason: null,
      error: null,
      result: null,
      version: 1,
    },
    ...{
      fencing_token: 1,
      worker: 'node_1',
      available_at: at(0),
      leased_at: at(-500),
      started_at: at(2),
      finished_at: at(102),
    },
    ...{ duration_ms: 100, recorded_at: at(110) },
    ...changes,
  })
  const run = (changes: Partial<RunDetail>) =>
    ({
      scheduled_at: at(0),
      status: 'success',
      attempt: 1,
      round: 1,
      attempts: [],
      available_at: null,
      started_at: null,
      ...changes,
    }) as RunDetail

  it('goes from the lease before the tick through the attempt to its record', () => {
    const bars = barsOf(run({ attempts: [attempt({})] }), due + 1_000)
    expect(bars.map(({ label, from, to }) => [label, from, to])).toEqual([
      ['attempt 1: leased', -500, 2],
      ['attempt 1', 2, 102],
      ['attempt 1: closed', 102, 110],
    ])
    for (const { start, width } of spans(bars)) {
      expect(start).toBeGreaterThanOrEqual(0)
      expect(start + width).toBeLessThanOrEqual(100.01)
    }
  })

  it('shows what it waited for, each attempt, and the one that goes on', () => {
    const failed = attempt({
      outcome: 'failed',
      final: false,
      error: 'boom',
      leased_at: at(3_000),
      started_at: at(3_001),
      finished_at: at(3_002),
      recorded_at: at(3_002),
    })
    const bars = barsOf(
      run({ status: 'running', attempt: 2, started_at: at(5_000), attempts: [failed] }),
      due + 6_000,
    )
    expect(bars.map(({ kind }) => kind)).toEqual(['waiting', 'leased', 'failed', 'running'])
    expect(bars.at(-1)).toMatchObject({ from: 5_000, to: 6_000 })
  })

  it('shows a decision without an attempt as an instant', () => {
    const decided = attempt({
      attempt: 0,
      outcome: 'skipped',
      reason: 'overlap',
      started_at: null,
      leased_at: null,
      recorded_at: at(5),
    })
    expect(barsOf(run({ status: 'skipped', attempts: [decided] }), due)).toEqual([
      { label: 'decided', kind: 'decided', from: 5, to: 5, note: 'overlap' },
    ])
  })
})

describe('the heatmap', () => {
  it('puts an hour that the clocks show twice into one cell, and leaves one out that they jump over', () => {
    const hours = (from: string, many: number) =>
      Array.from({ length: many }, (_, hour) => ({
        at: new Date(Date.parse(from) + hour * 3_600_000).toISOString(),
        firings: 1,
      }))
    const [back] = heatRows(hours('2026-10-24T22:00:00Z', 25), 'Europe/Madrid')
    expect(back?.hours[2]?.firings).toBe(2)
    const [jump] = heatRows(hours('2026-03-28T23:00:00Z', 23), 'Europe/Madrid')
    expect(jump?.hours[2]).toBeNull()
    expect(jump?.hours[3]?.firings).toBe(1)
  })

  it('lets anything at all be seen', () => {
    expect(levelOf(0, 1_000_000)).toBe(0)
    expect(levelOf(1, 1_000_000)).toBe(1)
    expect(levelOf(1_000_000, 1_000_000)).toBe(8)
  })
})

describe('a call for a terminal', () => {
  it('is quoted so that nothing in it is a command', () => {
    expect(shellQuote('plain/path-1.2')).toBe('plain/path-1.2')
    expect(shellQuote(`it's $(rm -rf /)`)).toBe(`'it'\\''s $(rm -rf /)'`)
    const call = {
      method: 'POST' as const,
      path: '/api/v1/runs/run_1/retry',
      body: { note: `'; ls` },
      cli: '',
      typescript: '',
    }
    expect(asCurl(call, 'http://h', true)).toContain(`-d '{"note":"'\\''; ls"}'`)
  })

  it('names the key by its variable, never by itself', () => {
    const call = {
      method: 'GET' as const,
      path: '/api/v1/runs/run_1',
      cli: '',
      typescript: `runs.get('run_1')`,
    }
    expect(asCurl(call, 'http://h', true)).toContain('$CARILLON_API_KEY')
    expect(asTypeScript(call, 'http://h', false)).not.toContain('apiKey')
  })
})

it('live runs: each once, in its latest state, the newest first', () => {
  const run = (id: string, status: Run['status']) => ({ run_id: id, status }) as Run
  const before = [run('b', 'running'), run('a', 'success')]
  const after = merged(before, [run('b', 'success'), run('c', 'running')], 10)
  expect(after.map(({ run_id: id, status }) => `${id} ${status}`)).toEqual([
    'c running',
    'b success',
    'a success',
  ])
  expect(merged(before, [run('c', 'running')], 1)).toHaveLength(1)
})

it('a job that fails every second is one line, and hides no other', () => {
  const run = (job: string, reason: string, ms: number, skipped: number | null = null) =>
    ({
      run_id: `${job}${ms}`,
      job_id: job,
      status: 'skipped',
      reason,
      scheduled_at: at(ms),
      finished_at: null,
      started_at: null,
      skipped_count: skipped,
    }) as Run
  const runs = [
    run('a', 'overlap', 1),
    run('b', 'missed', 0, 40),
    run('a', 'overlap', 3),
    run('a', 'paused', 2),
  ]
  expect(recentOf(runs, 8).map(({ run: newest, times }) => [newest.run_id, times])).toEqual([
    ['a3', 2],
    ['a2', 1],
    ['b0', 40],
  ])
})
