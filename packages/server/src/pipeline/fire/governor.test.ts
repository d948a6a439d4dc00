import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../../test/kit/manual-clock.js'
import type { Database } from '../../db/pool.js'
import { Governor } from './governor.js'

interface Given {
  /** Ticks scheduled in the horizon of ten minutes. */
  scheduled?: number
  floorPerSecond?: number
}

function governorOf({ scheduled = 0, floorPerSecond = 10 }: Given = {}) {
  const clock = new ManualClock()
  const asked: { partitions: number[]; horizon_ms: number }[] = []
  const state = { scheduled, factor: 1 }
  const database = {
    run: (_statement: unknown, params: { partitions: number[]; horizon_ms: number }) => {
      asked.push(params)
      return Promise.resolve([{ ticks: state.scheduled }])
    },
  } as unknown as Database
  const governor = new Governor({
    database,
    clock,
    owned: () => [{ partition: 3 }, { partition: 7 }],
    horizonMs: 600_000,
    floorPerSecond,
    catchUpFactor: () => state.factor,
  })
  /** Uses up all that is allowed, every `stepMs` for some time; answers how many that were. */
  const use = async (forMs: number, stepMs = 250) => {
    let used = 0
    for (let passed = 0; passed < forMs; passed += stepMs) {
      clock.skip(stepMs)
      const allowed = await governor.allowed()
      governor.used(allowed)
      used += allowed
    }
    return used
  }
  return { governor, clock, asked, state, use }
}

describe('the pace of catching up', () => {
  it('is twice the mean rate at which ticks are scheduled in the horizon', async () => {
    const { governor, asked, use } = governorOf({ scheduled: 60_000 })
    await governor.allowed()
    expect(governor.perSecond).toBe(200)
    expect(asked).toEqual([{ partitions: [3, 7], horizon_ms: 600_000 }])
    governor.used(200)
    expect(await use(10_000)).toBe(2_000)
  })

  it('is never below the floor', async () => {
    const { governor, use } = governorOf({ scheduled: 600, floorPerSecond: 10 })
    expect(await governor.allowed()).toBe(10)
    expect(governor.perSecond).toBe(10)
    governor.used(10)
    expect(await use(30_000)).toBe(300)
  })

  it('allows nothing more until time has passed', async () => {
    const { governor, clock } = governorOf({ floorPerSecond: 10 })
    governor.used(await governor.allowed())
    expect(await governor.allowed()).toBe(0)
    clock.skip(99)
    expect(await governor.allowed()).toBe(0)
    clock.skip(1)
    expect(await governor.allowed()).toBe(1)
  })

  it('does not count what it was asked and was not used', async () => {
    const { governor } = governorOf({ floorPerSecond: 10 })
    expect(await governor.allowed()).toBe(10)
    expect(await governor.allowed()).toBe(10)
    governor.used(4)
    expect(await governor.allowed()).toBe(6)
  })

  it('saves up no more than a second of it', async () => {
    const { governor, clock } = governorOf({ floorPerSecond: 10 })
    governor.used(await governor.allowed())
    clock.skip(3_600_000)
    expect(await governor.allowed()).toBe(10)
  })

  it('reaches a pace below one a second', async () => {
    const { governor, use } = governorOf({ floorPerSecond: 0.5 })
    governor.used(await governor.allowed())
    expect(await use(20_000)).toBe(10)
  })

  it('asks the database once a minute', async () => {
    const { governor, clock, asked, state } = governorOf({ scheduled: 60_000 })
    for (let at = 0; at < 10; at++) await governor.allowed()
    clock.skip(59_999)
    await governor.allowed()
    expect(asked).toHaveLength(1)
    state.scheduled = 120_000
    clock.skip(1)
    await governor.allowed()
    expect(asked).toHaveLength(2)
    expect(governor.perSecond).toBe(400)
  })

  it('is slowed down by an order, also below the floor, and stopped by it; then it goes on', async () => {
    const { governor, state, use } = governorOf({ floorPerSecond: 10 })
    governor.used(await governor.allowed())
    state.factor = 0.1
    expect(await use(10_000)).toBe(10)
    expect(governor.perSecond).toBe(1)
    state.factor = 0
    expect(await use(60_000)).toBe(0)
    state.factor = 1
    expect(await use(10_000)).toBeGreaterThanOrEqual(100)
  })
})
