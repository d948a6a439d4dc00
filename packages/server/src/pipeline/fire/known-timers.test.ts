import { describe, expect, test } from 'vitest'
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
  definition_bytes: 100,
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

describe('where more timers come round than are kept', () => {
  /** As they come back from a statement that fired them. */
  const firedAt = (job: number, now: number, startAt: number, bytes = 100): DueTimer => ({
    ...timer,
    job,
    now,
    start_at: startAt,
    definition_bytes: bytes,
  })
  const isKnown = (known: KnownTimers, job: number, startAt: number) =>
    known.take(job, { partition: 3, startAt }, startAt) !== null

  test('those that are there stay, turn after turn, and the others are read', () => {
    const known = new KnownTimers(undefined, { timers: 3, definitionBytes: 1_000 })
    const jobs = [1, 2, 3, 4, 5]
    for (const job of jobs) known.keep(firedAt(job, 1_000, 2_000))
    for (const second of [2_000, 3_000, 4_000]) {
      const found = jobs.filter((job) => {
        const kept = isKnown(known, job, second)
        known.keep(firedAt(job, second, second + 1_000))
        return kept
      })
      expect(found).toHaveLength(3)
    }
  })

  test('long definitions take the room of several short ones, and give it back', () => {
    const known = new KnownTimers(undefined, { timers: 10, definitionBytes: 1_000 })
    known.keep(firedAt(1, 1_000, 2_000, 900))
    known.keep(firedAt(2, 1_000, 2_000, 200))
    expect(isKnown(known, 2, 2_000)).toBe(false)
    // Kept once more, it counts once.
    known.keep(firedAt(1, 1_000, 2_000, 900))
    expect(isKnown(known, 1, 2_000)).toBe(true)
    known.keep(firedAt(2, 1_000, 2_000, 1_000))
    expect(isKnown(known, 2, 2_000)).toBe(true)
  })

  test('one that starts late is not kept: it would take the place of many that come sooner', () => {
    const known = new KnownTimers()
    known.keep(firedAt(1, 1_000, 1_000 + 600_000))
    known.keep(firedAt(2, 1_000, 1_001 + 600_000))
    expect(isKnown(known, 1, 601_000)).toBe(true)
    expect(isKnown(known, 2, 601_001)).toBe(false)
  })

  test('those that nobody asks for any more make room, but the house is not searched for them at every turn', () => {
    const known = new KnownTimers(undefined, { timers: 2, definitionBytes: 1_000 })
    known.keep(firedAt(1, 1_000, 2_000))
    known.keep(firedAt(2, 1_000, 500_000))
    const later = 2_000 + 600_001
    // Full, and 1 is forgotten: it was due ten minutes ago.
    known.keep(firedAt(3, later, later + 1_000))
    expect(isKnown(known, 1, 2_000)).toBe(false)
    expect(isKnown(known, 3, later + 1_000)).toBe(true)
    // Full again, 2 is as old by now; the last search was less than a minute ago.
    const old = 500_000 + 600_001
    const again = new KnownTimers(undefined, { timers: 1, definitionBytes: 1_000 })
    again.keep(firedAt(2, 1_000, 500_000))
    again.keep(firedAt(4, old - 30_000, old))
    again.keep(firedAt(4, old, old + 1_000))
    expect(isKnown(again, 4, old + 1_000)).toBe(false)
    again.keep(firedAt(4, old + 30_000, old + 31_000))
    expect(isKnown(again, 4, old + 31_000)).toBe(true)
  })

  test('those of partitions that others own now make room at once', () => {
    const mine = new Set([3, 4])
    const known = new KnownTimers((partition) => mine.has(partition), { timers: 2, definitionBytes: 1_000 })
    known.keep(firedAt(1, 1_000, 2_000))
    known.keep({ ...firedAt(2, 1_000, 2_000), partition: 4 })
    mine.delete(3)
    known.keep({ ...firedAt(5, 1_000, 2_000), partition: 4 })
    const startAt = 2_000
    expect(known.take(1, { partition: 3, startAt }, 1_500)).toBeNull()
    expect(known.take(2, { partition: 4, startAt }, 1_500)).not.toBeNull()
    expect(known.take(5, { partition: 4, startAt }, 1_500)).not.toBeNull()
  })

  test('a clock that was set back does not keep the house from being gone through', () => {
    const hour = 3_600_000
    const mine = new KnownTimers((partition) => partition === 4, { timers: 1, definitionBytes: 1_000 })
    mine.keep(firedAt(1, 10 * hour, 10 * hour + 1))
    mine.keep({ ...firedAt(2, 10 * hour, 10 * hour + 1), partition: 4 })
    expect(mine.take(2, { partition: 4, startAt: 10 * hour + 1 }, 10 * hour)).not.toBeNull()
    mine.keep(firedAt(4, 10 * hour, 10 * hour + 1))
    mine.keep({ ...firedAt(5, 9 * hour, 9 * hour + 1), partition: 4 })
    expect(mine.take(5, { partition: 4, startAt: 9 * hour + 1 }, 9 * hour)).not.toBeNull()
  })
})
