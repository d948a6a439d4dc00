import { expect, test } from 'vitest'
import { ManualClock } from '../../../test/kit/manual-clock.js'
import { type LaneSeen, Watermarks } from './watermarks.js'

const now = 1_000_000

function passes() {
  const clock = new ManualClock()
  const marks = new Watermarks(clock)
  return {
    clock,
    marks,
    pass: (tookMs: number, seen: LaneSeen[] = [], at = now, holder = 1) => {
      const sentAt = clock.monotonic()
      const look = marks.next(holder)
      clock.skip(tookMs)
      marks.found(look, seen, at, sentAt)
      return look
    },
  }
}

test('while a look from the bottom costs nothing, every pass is one', () => {
  const { pass } = passes()
  expect([pass(0).full, pass(0).full, pass(0).full]).toEqual([true, true, true])
})

test('looks from the bottom take a twentieth of the time, and are at most two seconds apart', () => {
  const { pass, clock } = passes()
  pass(10)
  clock.skip(199)
  expect(pass(0).full).toBe(false)
  clock.skip(1)
  expect(pass(60_000).full).toBe(true)
  clock.skip(1_999)
  expect(pass(0).full).toBe(false)
  clock.skip(1)
  expect(pass(0).full).toBe(true)
})

test('a lane is looked at from its first run, and not from later than the slack', () => {
  const { pass } = passes()
  pass(100, [
    { route: 1, ready: now - 90_000, waiting: null },
    { route: 2, ready: now + 500, waiting: now - 70_000 },
  ])
  expect(pass(0)).toEqual({
    full: false,
    from: now - 5_000,
    routes: [1, 2],
    readyFroms: [now - 90_000, now - 5_000],
    waitingFroms: [now - 5_000, now - 70_000],
    freed: [],
  })
})

test('jobs that gave a place back are named once', () => {
  const { pass, marks } = passes()
  pass(100)
  marks.freed(7)
  marks.freed(7)
  expect(pass(0).freed).toEqual([7])
  expect(pass(0).freed).toEqual([])
})

test('more freed jobs than can be named make a look from the bottom', () => {
  const { pass, marks } = passes()
  pass(100)
  for (let job = 0; job <= 1_000; job++) marks.freed(job)
  expect(pass(0).full).toBe(true)
})

test('a new life of the process, or a clock that went back, makes a look from the bottom', () => {
  const { pass } = passes()
  pass(100)
  expect(pass(0, [], now, 2).full).toBe(true)
  pass(100, [], now, 2)
  pass(100, [], now, 2)
  expect(pass(0, [], now - 1, 2).full).toBe(false)
  expect(pass(0, [], now, 2).full).toBe(true)
})
