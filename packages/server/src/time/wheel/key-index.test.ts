import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hashOf, KeyIndex } from './key-index.js'
import { none, TimerTable } from './timer-table.js'

/** Keys whose home is among the last of the first 2,048 buckets: their clusters run over the end of the table. */
function crowdedKeys(count: number): number[] {
  const keys: number[] = []
  for (let key = 0; keys.length < count; key++) if ((hashOf(key) & 2047) >= 2044) keys.push(key)
  return keys
}

function indexOf() {
  const timers = new TimerTable(100_000)
  const index = new KeyIndex(timers)
  return {
    timers,
    index,
    add: (key: number) => {
      const row = timers.take()
      timers.setKey(row, key)
      index.add(row)
    },
    remove: (key: number) => {
      const row = index.find(key)
      index.remove(row)
      timers.giveBack(row)
    },
  }
}

describe('the index of keys', () => {
  it('finds what is in it and nothing else, whatever came and went, when all keys collide', () => {
    const crowd = crowdedKeys(24)
    const picks = fc.array(fc.integer({ min: 0, max: crowd.length - 1 }), { maxLength: 200 })
    fc.assert(
      fc.property(picks, (toggles) => {
        const { timers, index, add, remove } = indexOf()
        const present = new Set<number>()
        for (const pick of toggles) {
          const key = crowd[pick] as number
          if (present.delete(key)) remove(key)
          else {
            present.add(key)
            add(key)
          }
          for (const each of crowd) {
            const row = index.find(each)
            expect(row !== none).toBe(present.has(each))
            if (row !== none) expect(timers.key(row)).toBe(each)
          }
        }
      }),
      { numRuns: 300 },
    )
  })

  it('tells two keys with one hash apart', () => {
    const seen = new Map<number, number>()
    let twins: [number, number] | undefined
    for (let key = 0; twins === undefined; key += 2 ** 20 + 7) {
      const other = seen.get(hashOf(key))
      if (other !== undefined) twins = [other, key]
      seen.set(hashOf(key), key)
    }
    const { timers, index, add, remove } = indexOf()
    add(twins[0])
    expect(index.find(twins[1])).toBe(none)
    add(twins[1])
    expect(twins.map((key) => timers.key(index.find(key)))).toEqual(twins)
    remove(twins[0])
    expect(twins.map((key) => index.find(key) !== none)).toEqual([false, true])
  })

  it('does not fill up with what has gone: a million keys that come and go take no more room', () => {
    const { index, add, remove } = indexOf()
    const before = index.bytes()
    for (let key = 0; key < 1_000_000; key++) {
      add(key)
      if (key >= 500) remove(key - 500)
    }
    expect(index.bytes()).toBe(before)
    expect(index.find(999_999)).not.toBe(none)
    expect(index.find(999_499)).toBe(none)
  })

  it.each([
    ['dense keys', 1],
    ['keys in steps of 256, one partition of a dense table', 256],
    ['keys in steps of 2^20', 2 ** 20],
    ['keys in steps of 2^32', 2 ** 32],
  ])('spreads %s over the table', (_name, step) => {
    const homes = new Set(Array.from({ length: 1_000 }, (_, n) => hashOf(n * step) & 2047))
    // A random function gives about 791 of 2,048.
    expect(homes.size).toBeGreaterThan(700)
  })
})
