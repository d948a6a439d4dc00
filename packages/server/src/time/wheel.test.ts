import { describe, expect, it } from 'vitest'
import { TimingWheel } from './wheel.js'

const start = Date.UTC(2026, 0, 1)
const million = 1_000_000

function wheelOf(options: { capacity?: number; tickMs?: number; startsAt?: number } = {}): TimingWheel {
  return new TimingWheel({ startsAt: start, capacity: million, ...options })
}

/** All that one advance hands out, as [key, milliseconds after the start, tag]. */
function advance(wheel: TimingWheel, to: number, most = Number.POSITIVE_INFINITY): number[][] {
  const taken: number[][] = []
  const count = wheel.advance(start + to, most, (key, at, tag) => taken.push([key, at - start, tag]))
  expect(count).toBe(taken.length)
  return taken
}

describe('a timing wheel', () => {
  it('hands out what is due, earliest first, with its instant and tag, once', () => {
    const wheel = wheelOf()
    wheel.insert(1, start + 700, 255)
    wheel.insert(2, start + 5, 0)
    wheel.insert(3, start + 90_000, 7)
    expect(advance(wheel, 4)).toEqual([])
    expect(advance(wheel, 700)).toEqual([
      [2, 5, 0],
      [1, 700, 255],
    ])
    expect(advance(wheel, 89_999)).toEqual([])
    expect(advance(wheel, 10_000_000)).toEqual([[3, 90_000, 7]])
    expect(advance(wheel, 10_000_001)).toEqual([])
  })

  it('replaces the timer of the same key, also while it is full', () => {
    const wheel = wheelOf({ capacity: 1 })
    wheel.insert(1, start + 10, 1)
    expect(wheel.insert(1, start + 3_000, 2)).toBe(true)
    expect(wheel.size).toBe(1)
    expect(wheel.at(1)).toBe(start + 3_000)
    expect(advance(wheel, 2_999)).toEqual([])
    expect(advance(wheel, 3_000)).toEqual([[1, 3_000, 2]])
    expect(wheel.at(1)).toBeNull()
  })

  it('refuses a timer too many and has room again when one has left', () => {
    const wheel = wheelOf({ capacity: 2 })
    wheel.insert(1, start + 10, 0)
    wheel.insert(2, start + 20, 0)
    expect(wheel.insert(3, start + 15, 0)).toBe(false)
    expect(wheel.has(3)).toBe(false)
    wheel.cancel(1)
    expect(wheel.insert(3, start + 15, 0)).toBe(true)
    expect(advance(wheel, 20)).toEqual([
      [3, 15, 0],
      [2, 20, 0],
    ])
  })

  it('hands out late timers with the next advance, in the order of their instants, before all others', () => {
    const wheel = wheelOf()
    advance(wheel, 10_000)
    wheel.insert(1, start + 10_001, 0)
    wheel.insert(2, start + 9_000, 0)
    wheel.insert(3, start - 3_600_000, 0)
    expect(wheel.nextAt()).toBe(start - 3_600_000)
    expect(advance(wheel, 10_001).map(([key]) => key)).toEqual([3, 2, 1])
  })

  it('keeps what goes beyond `most` for the next call, and lets it be cancelled meanwhile', () => {
    const wheel = wheelOf()
    for (const key of [1, 2, 3, 4, 5]) wheel.insert(key, start + 100, 0)
    const first = advance(wheel, 5_000, 2)
    expect(first).toHaveLength(2)
    expect(advance(wheel, 5_000, 0)).toEqual([])
    const left = [1, 2, 3, 4, 5].filter((key) => wheel.has(key))
    wheel.cancel(left[0] as number)
    expect(new Set(advance(wheel, 5_000).map(([key]) => key))).toEqual(new Set(left.slice(1)))
  })

  it('holds a timer of the last instant there is, beside one of the next millisecond', () => {
    const wheel = wheelOf({ startsAt: 0 })
    const last = 2 ** 48
    wheel.insert(1, last, 9)
    wheel.insert(2, 1, 0)
    const taken: number[][] = []
    const take = (...timer: number[]) => taken.push(timer)
    wheel.advance(last - 1, 10, take)
    expect(taken).toEqual([[2, 1, 0]])
    wheel.advance(last, 10, take)
    expect(taken[1]).toEqual([1, last, 9])
  })

  it('hands out nothing before its millisecond, and in order, with ticks that are wider', () => {
    const wheel = wheelOf({ tickMs: 100 })
    wheel.insert(1, start + 250, 0)
    wheel.insert(2, start + 210, 0)
    wheel.insert(3, start + 290, 0)
    expect(advance(wheel, 209)).toEqual([])
    expect(advance(wheel, 250).map(([key]) => key)).toEqual([2, 1])
    expect(advance(wheel, 289)).toEqual([])
    expect(advance(wheel, 290).map(([key]) => key)).toEqual([3])
  })

  it('lets the receiver of a timer insert and cancel', () => {
    const wheel = wheelOf()
    for (const key of [1, 2, 3]) wheel.insert(key, start + key * 10, 0)
    const taken: number[] = []
    wheel.advance(start + 2_000, 100, (key, at) => {
      taken.push(key)
      wheel.cancel(3)
      // Enough of them to make every array grow under the loop.
      if (key === 1) for (let more = 100; more < 5_000; more++) wheel.insert(more, start + 1_000_000, 0)
      if (at < start + 1_500) wheel.insert(key, at + 1_500, 0)
    })
    expect(taken).toEqual([1, 2, 1, 2])
    expect(wheel.size).toBe(4_900)
  })

  it('stands still when asked to go back', () => {
    const wheel = wheelOf()
    wheel.insert(1, start + 50, 0)
    advance(wheel, 40)
    expect(advance(wheel, 10)).toEqual([])
    expect(advance(wheel, 49)).toEqual([])
    expect(advance(wheel, 50)).toHaveLength(1)
  })
})

describe('what a timing wheel tells ahead', () => {
  it('knows the next instant exactly within a second, and a bound for it further off', () => {
    const wheel = wheelOf()
    expect(wheel.nextAt()).toBe(null)
    wheel.insert(1, start + 500_000, 0)
    const bound = wheel.nextAt() as number
    expect(bound).toBeGreaterThan(start + 500_000 - 1024)
    expect(bound).toBeLessThanOrEqual(start + 500_000)
    wheel.insert(2, start + 1_000, 0)
    expect(wheel.nextAt()).toBe(start + 1_000)
    wheel.cancel(2)
    expect(wheel.nextAt()).toBe(bound)
  })

  it('counts what is due through an instant: exactly close by, to about a second further off', () => {
    const wheel = wheelOf()
    for (let key = 0; key < 600_000; key += 100) wheel.insert(key, start + key + 1, 0)
    expect(wheel.countThrough(start)).toBe(0)
    expect(wheel.countThrough(start + 501)).toBe(6)
    const through = wheel.countThrough(start + 300_000)
    expect(through).toBeGreaterThanOrEqual(3_000)
    expect(through).toBeLessThanOrEqual(3_000 + 11)
    expect(wheel.countThrough(start + 2 ** 40)).toBe(6_000)
    expect(through - wheel.countAfter(start + 300_000)).toBe(3_000)
    advance(wheel, 300_000, 10)
    expect(wheel.countThrough(start + 2 ** 40)).toBe(5_990)
  })

  it('does not go through a slot with very many to count, and counts it as a whole', () => {
    const wheel = wheelOf()
    for (let key = 0; key < 40_000; key++) wheel.insert(key, start + 300_000, 0)
    const before = start + 299_999
    expect(wheel.countBeside(before)).toBe(wheel.countThrough(before))
    expect(wheel.countAfter(before)).toBe(0)
    for (let key = 0; key < 20_000; key++) wheel.cancel(key)
    expect(wheel.countAfter(before)).toBe(wheel.countThrough(before))
  })
})

describe('the memory of a timing wheel', () => {
  it('is at most 64 bytes a timer with a million of them, ten minutes ahead', () => {
    const wheel = wheelOf()
    for (let key = 0; key < million; key++) wheel.insert(key, start + ((key * 7_919) % 600_000), key & 255)
    expect(wheel.size).toBe(million)
    expect(wheel.bytes() / million).toBeLessThanOrEqual(64)
  })

  it('is at most 64 bytes a timer with a million of them at one instant that has come, in a wheel with room for more', () => {
    const wheel = wheelOf({ capacity: 8 * million })
    for (let key = 0; key < million; key++) wheel.insert(key, start + 5_000, 0)
    advance(wheel, 5_000, 1)
    wheel.insert(million, start, 0)
    expect(wheel.size).toBe(million)
    expect(wheel.bytes() / million).toBeLessThanOrEqual(64)
  })

  it('is small while there are few timers, whatever it has room for, and does not grow as they come and go', () => {
    const wheel = wheelOf({ capacity: 16 * million })
    for (let round = 0; round < 100; round++) {
      for (let key = 0; key < 1_000; key++) wheel.insert(round * 1_000 + key, start + round * 5_000 + key, 0)
      expect(advance(wheel, round * 5_000 + 1_000)).toHaveLength(1_000)
    }
    expect(wheel.bytes()).toBeLessThan(128 * 1024)
  })
})

describe('values that a wheel cannot hold are refused by name', () => {
  it.each([
    ['a key that is no whole number', () => wheelOf().insert(1.5, start, 0), /key .* 1\.5/],
    ['a key that JavaScript cannot hold exactly', () => wheelOf().insert(2 ** 53, start, 0), /key/],
    ['a tag above 255', () => wheelOf().insert(1, start, 256), /tag .* 256/],
    ['a tag that is no number', () => wheelOf().insert(1, start, Number.NaN), /tag/],
    ['an instant before 1970', () => wheelOf().insert(1, -1, 0), /at .* -1/],
    ['an instant that is no number', () => wheelOf().insert(1, Number.NaN, 0), /at .* NaN/],
    [
      'a way without an end',
      () => wheelOf().advance(Number.POSITIVE_INFINITY, 1, () => undefined),
      /to .* Infinity/,
    ],
    ['no room at all', () => wheelOf({ capacity: 0 }), /capacity .* 0/],
    ['ticks without width', () => wheelOf({ tickMs: 0 }), /tickMs .* 0/],
  ])('%s', (_name, act, message) => {
    expect(act).toThrow(RangeError)
    expect(act).toThrow(message)
  })
})
