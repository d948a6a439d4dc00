import { statusReasons } from '@carillon/contract'
import { existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { judgeStatus, type StatusFacts } from './status.js'

const sample = {
  ...{ oldest_ready_ms: 0, unowned: 0, owners: 1, oldest_due_ms: 0, remote_workers: 0 },
}
const well: StatusFacts = {
  ...{ silentMs: 200, longestSilenceMs: 2_000, away: null, lagBoundMs: 10_000 },
  alive: { api: 1, scheduler: 1, worker: 1 },
  counted: { sample, ageMs: 4_000 },
  ownership: { withoutMs: 0, graceMs: 20_000 },
}
const counted = (given: Partial<typeof sample>, ageMs = 4_000) => ({
  counted: { sample: { ...sample, ...given }, ageMs },
})

describe('how things are', () => {
  it('is ok without a reason', () => {
    expect(judgeStatus(well)).toEqual({ state: 'ok', reasons: [] })
  })

  it.each<[string, string, Partial<StatusFacts>]>([
    ['database_unreachable', 'down', { silentMs: 2_001 }],
    ['no_scheduler', 'down', { alive: { api: 1, scheduler: 0, worker: 1 } }],
    ['no_worker', 'degraded', { alive: { api: 1, scheduler: 1, worker: 0 } }],
    ['partitions_unowned', 'degraded', counted({ unowned: 3 })],
    ['ticks_late', 'degraded', counted({ oldest_due_ms: 10_001 })],
    ['runs_late', 'degraded', counted({ oldest_ready_ms: 10_001 })],
    ['owns_nothing', 'degraded', { ownership: { withoutMs: 20_001, graceMs: 20_000 } }],
    ['numbers_old', 'degraded', counted({}, 30_001)],
    ['numbers_old', 'degraded', { counted: null }],
    ['starting', 'degraded', { away: 'starting' }],
    ['draining', 'degraded', { away: 'draining' }],
  ])('is told by %s, which makes it %s', (code, state, given) => {
    const judged = judgeStatus({ ...well, ...given })
    expect(judged.reasons.map((reason) => reason.code)).toEqual([code])
    expect(judged.state).toBe(state)
  })

  it.each<[string, Partial<StatusFacts>]>([
    ['a silence that is just short enough', { silentMs: 2_000 }],
    ['numbers that are just young enough', counted({}, 30_000)],
    ['lags at their bounds', counted({ oldest_due_ms: 10_000, oldest_ready_ms: 10_000 })],
    ['a scheduler that has just lost its partitions', { ownership: { withoutMs: 20_000, graceMs: 20_000 } }],
    [
      'workers over HTTP alone',
      { ...counted({ remote_workers: 1 }), alive: { api: 1, scheduler: 1, worker: 0 } },
    ],
    ['a process that owns nothing by its roles', { ownership: null }],
  ])('is ok with %s', (_what, given) => {
    expect(judgeStatus({ ...well, ...given })).toEqual({ state: 'ok', reasons: [] })
  })

  it('has the worst first, and says nothing of the fleet that it cannot know', () => {
    const facts = { ...well, ...counted({ unowned: 1 }), alive: { api: 1, scheduler: 0, worker: 0 } }
    const codes = (given: StatusFacts) => judgeStatus(given).reasons.map(({ code }) => code)
    expect(codes(facts)[0]).toBe('no_scheduler')
    expect(codes({ ...facts, silentMs: 9_000, away: 'draining' })).toEqual([
      'database_unreachable',
      'draining',
    ])
  })

  it('has a page to read for whatever is wrong', () => {
    const all: StatusFacts[] = [
      { ...well, silentMs: 9_000 },
      { ...well, alive: { api: 1, scheduler: 0, worker: 0 }, ownership: { withoutMs: 99_000, graceMs: 1 } },
      { ...well, ...counted({ unowned: 1, oldest_due_ms: 99_000, oldest_ready_ms: 99_000 }) },
      { ...well, counted: null },
    ]
    const reasons = all.flatMap((facts) => judgeStatus(facts).reasons)
    expect(new Set(reasons.map(({ code }) => code)).size).toBe(Object.keys(statusReasons).length - 2)
    const missing = reasons.filter(
      ({ runbook }) => runbook === null || !existsSync(new URL(`../../../../${runbook}`, import.meta.url)),
    )
    expect(missing).toEqual([])
  })
})
