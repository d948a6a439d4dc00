import { expect, it } from 'vitest'
import { ManualClock } from '../../test/kit/manual-clock.js'
import { Seldom } from './seldom.js'

function worked(costMs: number): { clock: ManualClock; work: Seldom } {
  const clock = new ManualClock(0)
  const work = new Seldom(clock, 2_000)
  const begun = clock.monotonic()
  clock.skip(costMs)
  work.done(begun)
  return { clock, work }
}

it('work that was never done is due', () => {
  expect(new Seldom(new ManualClock(0), 2_000).isDue()).toBe(true)
})

it('work that costs nothing is always due', () => {
  expect(worked(0).work.isDue()).toBe(true)
})

it('work that costs is due after twenty times its cost', () => {
  const { clock, work } = worked(10)
  clock.skip(199)
  expect(work.isDue()).toBe(false)
  clock.skip(1)
  expect(work.isDue()).toBe(true)
})

it('however dear it is, it is due after the longest distance', () => {
  const { clock, work } = worked(10_000)
  clock.skip(1_999)
  expect(work.isDue()).toBe(false)
  clock.skip(1)
  expect(work.isDue()).toBe(true)
})

it('work that is demanded is due at once', () => {
  const { work } = worked(10_000)
  work.demand()
  expect(work.isDue()).toBe(true)
})
