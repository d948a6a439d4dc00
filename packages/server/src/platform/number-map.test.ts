import { getHeapSpaceStatistics } from 'node:v8'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { homeOf, NumberMap } from './number-map.js'

type Step = { key: number; value: number | null }

/** Keys whose home is among the last of the first 1,024 places: their clusters run over the end of the table. */
const crowded = Array.from({ length: 100_000 }, (_, key) => key).filter((key) => homeOf(key, 1_023) >= 1_021)
/** Those, few and many, even steps and the largest whole numbers. */
const keys = fc.oneof(
  fc.nat({ max: 30 }).map((at) => crowded[at] as number),
  fc.integer({ min: -4, max: 40 }),
  fc.integer({ min: 0, max: 40 }).map((step) => step * 2 ** 32),
  fc.integer({ min: 0, max: 40 }).map((step) => Number.MAX_SAFE_INTEGER - step * 1_024),
)
const steps = fc.array(fc.record({ key: keys, value: fc.option(fc.nat(), { freq: 2 }) }), {
  maxLength: 200,
  size: 'max',
})

function take(map: NumberMap<number>, { key, value }: Step, model: Map<number, number>): void {
  if (value === null) {
    expect(map.delete(key)).toBe(model.get(key))
    model.delete(key)
  } else {
    map.set(key, value)
    model.set(key, value)
  }
  expect(map.get(key)).toBe(model.get(key))
  expect(map.has(key)).toBe(model.has(key))
  expect(map.size).toBe(model.size)
}

const sorted = (entries: Iterable<[number, number]>) => [...entries].sort(([a], [b]) => a - b)

describe('a map from whole numbers', () => {
  it('has what a Map has, whatever came and went', () => {
    fc.assert(
      fc.property(steps, (all) => {
        const map = new NumberMap<number>()
        const model = new Map<number, number>()
        for (const step of all) take(map, step, model)
        expect(sorted(map.entries())).toEqual(sorted(model))
        expect(map.keys().sort((a, b) => a - b)).toEqual(sorted(model).map(([key]) => key))
        expect(map.values().sort((a, b) => a - b)).toEqual([...model.values()].sort((a, b) => a - b))
      }),
      { numRuns: 300 },
    )
  })

  it('grows with a crowd, and is found whole when most of it has gone', () => {
    const map = new NumberMap<number>()
    for (let key = 0; key < 100_000; key++) map.set(key, key * 2)
    expect(map.size).toBe(100_000)
    for (let key = 0; key < 100_000; key++) if (key % 1_000 !== 0) map.delete(key)
    expect(map.size).toBe(100)
    const wrong = Array.from({ length: 100_000 }, (_, key) => key).filter(
      (key) => map.get(key) !== (key % 1_000 === 0 ? key * 2 : undefined),
    )
    expect(wrong).toEqual([])
  })

  it('may be changed while somebody goes through what was in it', () => {
    const map = new NumberMap<string>()
    for (let key = 0; key < 5_000; key++) map.set(key, `value ${key}`)
    const seen: number[] = []
    for (const [key] of map.entries()) {
      seen.push(key)
      map.delete(key)
    }
    expect(seen.sort((a, b) => a - b)).toEqual(Array.from({ length: 5_000 }, (_, key) => key))
    expect(map.size).toBe(0)
  })

  it('is empty after it was cleared, and takes the same keys again', () => {
    const map = new NumberMap<string>()
    for (let key = 0; key < 3_000; key++) map.set(key, 'before')
    map.clear()
    expect([map.size, map.get(1), map.keys()]).toEqual([0, undefined, []])
    map.set(1, 'after')
    expect(map.entries()).toEqual([[1, 'after']])
  })

  it('keeps nothing of what has gone: the young that die soon do not become old', () => {
    const usedByOld = () => {
      const old = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'old_space')
      if (old === undefined) throw new Error('This Node has no old space: what is measured here?')
      return old.space_used_size
    }
    const map = new NumberMap<number[]>()
    const atOnce = 3_000
    const before = usedByOld()
    let most = 0
    for (let key = 0; key < 400_000; key++) {
      map.set(
        key,
        Array.from({ length: 60 }, () => key),
      )
      if (key >= atOnce) map.delete(key - atOnce)
      if (key % 10_000 === 0) most = Math.max(most, usedByOld() - before)
    }
    expect(map.size).toBe(atOnce)
    // All that is held at one time takes less than 2 MB. A Map carries more than ten times as much along.
    expect(most).toBeLessThan(5 * 1024 * 1024)
  })

  it('refuses what is no number: it would be there and never be found', () => {
    const map = new NumberMap<string>()
    expect(() => map.set(Number.NaN, 'lost')).toThrow(RangeError)
    expect(map.size).toBe(0)
  })
})
