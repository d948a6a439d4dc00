import { describe, expect, test } from 'vitest'
import { accountOf } from './accounting.mjs'
import { judgeExecution } from './execution.mjs'
import { Expectation } from './expected.mjs'

// The soak's judges, held against records with one thing wrong: each wrong must be seen.
const start = Date.parse('2026-06-01T12:00:00Z')
const end = start + 60_000
const tick = (at: number) => start + at * 10_000
const definition = {
  name: 'job',
  schedule: '*/10 * * * * *',
  timezone: 'UTC',
  anchor: start,
  exclude: [],
  max_runs: null as number | null,
  overlap_policy: 'SKIP',
  max_concurrent: null as number | null,
}
const job = {
  job: 1,
  id: 'x',
  state: 'active',
  version: 1,
  definition,
  effective_from: start,
  accounted_through: end,
  ended_at: null,
  runs: 6,
}
const row = (at: number, more: object = {}) => ({
  job: 1,
  due: tick(at),
  due_to: null as number | null,
  ticks: 1,
  origin: 0,
  seq: 0,
  outcome: 'success',
  final: true,
  round: 0,
  attempt: 1,
  reason: null as string | null,
  catch_up: false,
  version: 1,
  token: at,
  worker: 1,
  available_at: tick(at),
  fired_at: tick(at),
  started_at: tick(at) + 1,
  finished_at: tick(at) + 5,
  recorded_at: tick(at) + 6,
  ...more,
})
type Row = ReturnType<typeof row>
const all = () => [1, 2, 3, 4, 5, 6].map((at) => row(at))
const records = (ledger: Row[], more: object = {}) => ({
  jobs: [job],
  segments: [],
  ledger,
  queue: [],
  replays: [],
  versions: [],
  ...more,
})
const account = (ledger: Row[], more: object = {}) => {
  const expectation = new Expectation({ from: start, to: end, calendars: {} })
  const { faults } = accountOf(records(ledger, more), expectation, end)
  return Object.fromEntries(Object.entries(faults).filter(([, list]) => list.length > 0))
}

describe('accounting', () => {
  test('finds nothing where every tick has one record, of whatever kind', () => {
    expect(account(all())).toEqual({})
    const range = row(2, { outcome: 'skipped', attempt: 0, due_to: tick(4), ticks: 3, reason: 'missed' })
    expect(account([row(1), range, row(5), row(6)])).toEqual({})
    expect(account(all().slice(0, 5), { queue: [{ job: 1, due: tick(6), origin: 0 }] })).toEqual({})
    const replay = { job: 1, state: 'running', cursor_ms: tick(4), to_ms: tick(6), total: 3, done: 0 }
    expect(account(all().slice(0, 3), { replays: [replay] })).toEqual({})
    expect(account([...all(), row(3, { final: false, outcome: 'failed' })])).toEqual({})
  })

  test.each<[string, Row[], object]>([
    ['missing', all().slice(1), {}],
    ['missing', all().slice(0, 5), { queue: [{ job: 1, due: tick(6), origin: 1 }] }],
    ['doubled', [...all(), row(3)], {}],
    ['doubled', all(), { queue: [{ job: 1, due: tick(2), origin: 0 }] }],
    ['foreign', [...all(), row(2, { due: tick(2) + 500 })], {}],
    ['too_many_runs', all(), { jobs: [{ ...job, definition: { ...definition, max_runs: 5 } }] }],
  ])('sees what is %s', (fault, ledger, more) => {
    expect(Object.keys(account(ledger, more))).toEqual([fault])
  })

  test('sees a range whose count is not that of the rule', () => {
    const range = row(2, { outcome: 'skipped', attempt: 0, due_to: tick(4), ticks: 2, reason: 'missed' })
    expect(Object.keys(account([row(1), range, row(5), row(6)]))).toEqual(['miscounted'])
  })
})

describe('execution', () => {
  const seen = (at: number, more: object = {}) => {
    const begun = tick(at) + 1
    return { job: 'job', due: tick(at), attempt: 1, pid: 7, token: at, begun, ended: begun + 3, ...more }
  }
  const evidence = () => [1, 2, 3, 4, 5, 6].map((at) => seen(at))
  const judge = (
    ledger: Row[],
    found: ReturnType<typeof seen>[],
    deaths: { pid: number; at: number }[] = [],
  ) => {
    const faults = judgeExecution(records(ledger), found, deaths, 0)
    return Object.keys(faults).filter((name) => faults[name as keyof typeof faults].length > 0)
  }

  test('finds nothing where runs follow each other in their time', () => {
    expect(judge(all(), evidence())).toEqual([])
  })

  test.each<[string, Row[], ReturnType<typeof seen>[]]>([
    ['early', [row(1, { started_at: tick(1) - 1 }), ...all().slice(1)], evidence()],
    ['early', all(), [seen(1, { begun: tick(1) - 1 }), ...evidence().slice(1)]],
    ['claimed', all(), evidence().slice(1)],
    ['twice', all(), [...evidence(), seen(6, { begun: tick(6) + 100, ended: tick(6) + 101 })]],
    ['beside', [row(1, { finished_at: tick(2) + 500 }), ...all().slice(1)], evidence()],
    ['beside', all(), [seen(1, { ended: tick(2) + 500 }), ...evidence().slice(1)]],
  ])('sees what is %s', (fault, ledger, found) => {
    expect(judge(ledger, found)).toEqual([fault])
  })

  test('a run of a killed worker ends with it, not before', () => {
    const cut = [seen(1, { ended: null }), ...evidence().slice(1)]
    expect(judge(all(), cut, [{ pid: 7, at: tick(1) + 50 }])).toEqual([])
    expect(judge(all(), cut, [{ pid: 7, at: tick(2) + 50 }])).toEqual(['beside'])
  })
})
