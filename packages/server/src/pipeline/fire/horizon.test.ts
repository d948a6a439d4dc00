import { expect, it } from 'vitest'
import { Horizon, type HorizonOptions } from './horizon.js'
import { Staging } from './staging.js'

const begin = Date.UTC(2026, 0, 1)
const perSecond = 3_000

/** Timers that start evenly, so many a second, for twenty seconds from `first` on. */
function evenly(first = begin) {
  const clock = { now: begin }
  const horizon = new Horizon({
    databaseNow: () => clock.now,
    horizonMs: 600_000,
    capacity: 1_000_000,
  } as Partial<HorizonOptions> as HorizonOptions)
  horizon.take(begin, 0, 1)
  for (let job = 0; job < 20 * perSecond; job++)
    horizon.startsAt(job, job % 256, first + 1 + Math.floor((job * 1_000) / perSecond))
  return { clock, horizon }
}

it('tells exactly whether so many start up to an instant, wherever in a second that lies', () => {
  const { horizon } = evenly()
  for (let ms = 1_000; ms < 4_000; ms += 77) {
    const many = Math.ceil((ms * perSecond) / 1_000)
    expect(horizon.startBy(begin + ms, many)).toBe(true)
    expect(horizon.startBy(begin + ms, many + 1)).toBe(false)
  }
})

it('counts those that wait for a moment of their own as well', () => {
  const { horizon } = evenly()
  expect(horizon.startBy(begin + 2_500, 7_501)).toBe(false)
  horizon.lookAgainAt(1_000_000, { partition: 1, startAt: begin + 9_000 }, begin + 2_400)
  horizon.lookAgainAt(1_000_001, { partition: 1, startAt: begin + 9_000 }, begin + 2_600)
  expect(horizon.startBy(begin + 2_500, 7_501)).toBe(true)
  expect(horizon.startBy(begin + 2_500, 7_502)).toBe(false)
})

it('is staged from equally far ahead at every moment, while what starts comes evenly', () => {
  const { clock, horizon } = evenly(begin + 3_000)
  const staging = Staging.inFront(2_000, 1_000)
  // So that a second of them is little, and a second and a half would be much.
  for (let at = 0; at < 50; at++) staging.measured(1_000, 100)
  const seen = new Set<number>()
  for (; clock.now < begin + 12_000; clock.now += 50) {
    const aheadMs = staging.aheadMs(clock.now, (instant, many) => horizon.startBy(instant, many))
    seen.add(aheadMs)
    horizon.take(clock.now, aheadMs, 5_000)
    staging.taken(horizon.takenThrough(clock.now + aheadMs), clock.now)
  }
  expect([...seen]).toEqual([1_000])
})

it('tells up to which instant all that starts was taken, also where there was more than fits', () => {
  const { horizon } = evenly()
  expect(horizon.take(begin, 2_000, 3_000).size).toBe(3_000)
  // A thousand milliseconds with three each.
  expect(horizon.takenThrough(begin + 2_000)).toBe(begin + 1_000)
  horizon.take(begin, 2_000, 100_000)
  expect(horizon.takenThrough(begin + 2_000)).toBe(begin + 2_000)
  horizon.take(begin, 60_000, 100_000)
  expect([horizon.size, horizon.takenThrough(begin + 60_000)]).toEqual([0, begin + 60_000])
})
