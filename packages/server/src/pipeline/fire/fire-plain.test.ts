import { expect, test } from 'vitest'
import { isPlain, plainDecisions, plainParams } from './fire-plain.js'
import type { DueTimer, PlannedTick } from './plan.js'

function tickOf(job: number, change: Partial<PlannedTick> = {}, timer: Partial<DueTimer> = {}): PlannedTick {
  return {
    timer: {
      job,
      partition: 3,
      due: 1_000,
      start_at: 1_005,
      rev: 4,
      runs: 2,
      version: 1,
      route: 6,
      place: `(0,${job})`,
      definition: { max_runs: null, max_retries: 2 },
      ...timer,
    } as DueTimer,
    runDue: 1_000,
    availableAt: 1_005,
    nextDue: 2_000,
    nextStart: 2_005,
    places: 1,
    waits: false,
    skip: null,
    replay: null,
    reason: 'missed',
    gaps: [],
    ...change,
  }
}

test('a tick as the cursor names it, with another after it, is plain', () => {
  expect(isPlain(tickOf(7))).toBe(true)
  expect(isPlain(tickOf(7, { places: null }))).toBe(true)
})

const range = { from: 1_000, to: 1_000, count: 1 }
test.each<[string, Partial<PlannedTick>, Partial<DueTimer>]>([
  ['whose timer lies who knows where', {}, { place: null }],
  ['that is the last', { nextDue: null, nextStart: null }, {}],
  ['with missed ones before it', { runDue: 1_500, skip: range }, {}],
  ['in whose stead a later one runs', { runDue: 1_500 }, {}],
  ['beside ones to catch up on', { replay: range }, {}],
  ['that runs not at all', { runDue: null }, {}],
  ['behind a jump of the clocks', { gaps: [{ at: 900, count: 1, reason: 'dst_gap', next: null }] }, {}],
  ['of a job whose runs are counted', {}, { definition: { max_runs: 9 } as DueTimer['definition'] }],
])('a tick %s is not', (_name, change, timer) => {
  expect(isPlain(tickOf(7, change, timer))).toBe(false)
})

test('ticks are named by job, each with the epoch under which its partition is held', () => {
  const ticks = [tickOf(9, {}, { partition: 5 }), tickOf(2), tickOf(4, {}, { partition: 8 })]
  const held = [
    { partition: 3, epoch: 30 },
    { partition: 5, epoch: 50 },
    { partition: 6, epoch: 60 },
  ]
  expect(plainParams(1, held, ticks, null)).toMatchObject({
    partitions: [3, 5],
    epochs: [30, 50],
    jobs: [2, 4, 9],
    timer_places: ['(0,2)', '(0,4)', '(0,9)'],
    job_partitions: [3, 8, 5],
    // Partition 8 is not held any more.
    job_epochs: [30, -1, 50],
    max_attempts: [3, 3, 3],
    holder: null,
  })
})

test('what was fired is told apart by job, in whatever order the columns are', () => {
  const ticks = [tickOf(2), tickOf(4, {}, { route: 8 }), tickOf(9)]
  const fired = plainDecisions(ticks, {
    now: 990,
    jobs: [9, 4],
    tokens: [77, 78],
    run_places: ['(5,9)', '(5,4)'],
    moved: [4, 9],
    timer_places: ['(6,4)', '(6,9)'],
    slow_routes: [8],
    timeouts: [30],
  })
  const common = { due: 1_000, now: 990, decision: 'fired' }
  expect(fired).toEqual([
    { ...common, job: 9, token: 77, run_place: '(5,9)', timer_place: '(6,9)', timeout_seconds: null },
    { ...common, job: 4, token: 78, run_place: '(5,4)', timer_place: '(6,4)', timeout_seconds: 30 },
  ])
})
