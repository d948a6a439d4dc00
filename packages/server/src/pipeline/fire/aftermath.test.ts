import { expect, test } from 'vitest'
import { Metrics } from '../../platform/metrics.js'
import { Aftermath } from './aftermath.js'
import type { Decided, Decision } from './fire-statement.js'
import type { Horizon } from './horizon.js'
import type { PlannedTick } from './plan.js'

function setUp() {
  const told: (number | null)[] = []
  const staged: [startAt: number, periodMs: number, now: number][] = []
  const aftermath = new Aftermath({
    metrics: new Metrics(),
    horizon: { startsAt: () => undefined, lookAgainAt: () => undefined } as unknown as Horizon,
    staged: (...tick) => staged.push(tick),
    disown: () => undefined,
    onFired: (leftFrom) => told.push(leftFrom),
    onDeferred: () => undefined,
  })
  const fired = (
    ...runs: [job: number, availableAt: number, token: number | null, decision?: Decision][]
  ) => {
    const ticks = runs.map(([job, availableAt]) => ({
      timer: { job, partition: 1 },
      availableAt,
      nextStart: 9_000,
      skip: null,
      replay: null,
      reason: 'missed',
    }))
    const decided: Decided[] = runs.map(([job, due, token, decision = 'fired']) => ({
      job,
      due,
      now: 1_000,
      decision,
      token,
    }))
    aftermath.of([], ticks as unknown as PlannedTick[], decided)
  }
  return { told, staged, fired }
}

test('who leases is told when the first of the runs starts that are left to be leased', () => {
  const { told, fired } = setUp()
  fired([1, 1_500, 7], [2, 3_000, null], [3, 2_000, null], [4, 2_500, null])
  expect(told).toEqual([2_000])
})

test('who leases is told of nothing where all runs were handed over', () => {
  const { told, fired } = setUp()
  fired([1, 1_500, 7], [2, 3_000, 8])
  expect(told).toEqual([null])
})

test('what comes evenly is counted by ticks that were fired, not by those that are only proposed', () => {
  const { staged, fired } = setUp()
  fired([1, 1_500, 7], [2, 3_000, null, 'early'], [3, 2_000, null, 'changed'], [4, 2_500, null])
  expect(staged).toEqual([
    [1_500, 7_500, 1_000],
    [2_500, 6_500, 1_000],
  ])
})
