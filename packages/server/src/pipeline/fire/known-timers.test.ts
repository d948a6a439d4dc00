import { expect, test } from 'vitest'
import type { Decided, Decision } from './fire-statement.js'
import { KnownTimers } from './known-timers.js'
import type { DueTimer, PlannedTick } from './plan.js'

const timer = {
  job: 7,
  partition: 3,
  due: 1_000,
  start_at: 1_005,
  rev: 4,
  runs: 2,
  accounted_through: 0,
  now: 900,
  definition: { max_runs: null },
} as DueTimer
const tickOf = (): PlannedTick => ({
  timer: { ...timer },
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
})
const decided = (decision: Decision, timer_place: string | null = '(8,2)'): Decided[] => [
  { job: 7, due: 1_000, now: 950, decision, timer_place },
]

function after(planned: PlannedTick, decision: Decision): KnownTimers {
  const known = new KnownTimers()
  known.learn([planned], decided(decision))
  return known
}

test('after a tick was fired the next one of its timer is known, by its start, once', () => {
  const known = after(tickOf(), 'fired')
  expect(known.take(7, { partition: 3, startAt: 2_005 }, 1_900)).toEqual({
    ...timer,
    place: '(8,2)',
    due: 2_000,
    start_at: 2_005,
    accounted_through: 1_000,
    runs: 3,
    now: 1_900,
    remembered: true,
  })
  expect(known.take(7, { partition: 3, startAt: 2_005 }, 1_900)).toBeNull()
})

test('a timer that is said to start at another time, or elsewhere, is read', () => {
  expect(after(tickOf(), 'fired').take(7, { partition: 3, startAt: 2_006 }, 1_900)).toBeNull()
  expect(after(tickOf(), 'fired').take(7, { partition: 4, startAt: 2_005 }, 1_900)).toBeNull()
})

test.each<Decision>(['changed', 'early', 'behind', 'overlap', 'taken', 'skipped', 'deferred', 'refused'])(
  'after a tick was %s, its timer is read',
  (decision) => {
    const known = after(tickOf(), 'fired')
    known.learn([tickOf()], decided(decision))
    expect(known.take(7, { partition: 3, startAt: 2_005 }, 1_900)).toBeNull()
  },
)

test('after a tick was fired by the statement that does not say where the timer lies, it is read', () => {
  const known = new KnownTimers()
  known.learn([tickOf()], decided('fired', null))
  expect(known.take(7, { partition: 3, startAt: 2_005 }, 1_900)).toBeNull()
})

test('what was planned from a timer that has changed since is named, to be read; not where it was just read', () => {
  const known = after(tickOf(), 'fired')
  const taken = known.take(7, { partition: 3, startAt: 2_005 }, 1_900) as DueTimer
  const planned = { ...tickOf(), timer: taken }
  expect(known.mistaken([planned], decided('changed'))).toEqual(
    new Map([[7, { partition: 3, startAt: 2_005 }]]),
  )
  expect(known.mistaken([planned], decided('fired')).size).toBe(0)
  expect(known.mistaken([tickOf()], decided('changed')).size).toBe(0)
})
