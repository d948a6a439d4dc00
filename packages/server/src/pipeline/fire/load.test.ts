import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../../test/kit/manual-clock.js'
import { Load } from './load.js'

function loadOf() {
  const clock = new ManualClock()
  const changes: [boolean, number][] = []
  const load = new Load({ clock, thresholdMs: 10_000, onChange: (...change) => void changes.push(change) })
  /** Passes every `stepMs` for some time, all this late. */
  const pass = (lagMs: number, forMs: number, stepMs = 100) => {
    for (let passed = 0; passed <= forMs; passed += stepMs) {
      load.passed(lagMs)
      clock.skip(stepMs)
    }
  }
  return { load, changes, pass }
}

describe('overload', () => {
  it('begins when ticks are late for a while', () => {
    const { load, changes, pass } = loadOf()
    pass(10_001, 900)
    expect(load.overloaded).toBe(false)
    pass(10_001, 200)
    expect(load.overloaded).toBe(true)
    expect(changes).toEqual([[true, 10_001]])
  })

  it('is not a lag at the threshold', () => {
    const { load, pass } = loadOf()
    pass(10_000, 10_000)
    expect(load).toMatchObject({ overloaded: false, lagMs: 10_000 })
  })

  it('is not one late pass, nor several with a good one between them', () => {
    const { load, changes, pass } = loadOf()
    for (let round = 0; round < 20; round++) {
      pass(60_000, 900)
      pass(0, 0)
    }
    expect(load.overloaded).toBe(false)
    expect(changes).toEqual([])
  })

  it('ends by itself when ticks are on time for a while, and says so once', () => {
    const { load, changes, pass } = loadOf()
    pass(20_000, 1_000)
    pass(4_999, 2_900)
    expect(load.overloaded).toBe(true)
    pass(4_999, 100)
    expect(load.overloaded).toBe(false)
    pass(0, 10_000)
    expect(changes).toEqual([
      [true, 20_000],
      [false, 4_999],
    ])
  })

  it('does not end at half of the threshold, nor by a single good pass', () => {
    const { load, pass } = loadOf()
    pass(20_000, 1_000)
    pass(5_000, 60_000)
    expect(load.overloaded).toBe(true)
    for (let round = 0; round < 20; round++) {
      pass(0, 2_900)
      pass(20_000, 0)
    }
    expect(load.overloaded).toBe(true)
  })

  it('can begin again, and needs its time again', () => {
    const { load, changes, pass } = loadOf()
    pass(20_000, 1_000)
    pass(0, 3_000)
    pass(20_000, 900)
    expect(load.overloaded).toBe(false)
    pass(20_000, 100)
    expect(changes.map(([begun]) => begun)).toEqual([true, false, true])
  })

  it('keeps the lag of the last pass', () => {
    const { load } = loadOf()
    load.passed(700)
    expect(load.lagMs).toBe(700)
    load.passed(0)
    expect(load.lagMs).toBe(0)
  })
})
