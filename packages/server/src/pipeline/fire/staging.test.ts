import { describe, expect, it } from 'vitest'
import { Staging } from './staging.js'

/** Ticks at instants, with how many there are at each. */
const startBy = (ticks: Record<number, number>) => (instant: number, many: number) =>
  Object.entries(ticks).reduce((sum, [at, count]) => sum + (Number(at) <= instant ? count : 0), 0) >= many
const nothing = startBy({})

describe('how early ticks are staged', () => {
  it('is the setting as long as all that starts can be staged in it', () => {
    expect(new Staging(2_000).aheadMs(0, startBy({ 1_500: 20_000, 50_000: 20_000 }))).toBe(2_000)
    expect(new Staging(300).aheadMs(0, nothing)).toBe(300)
  })

  describe('where a worker of the process holds runs from then on', () => {
    const calmly = (settingMs: number, heldMs?: number) =>
      Staging.inFront(settingMs, heldMs).aheadMs(0, nothing)

    it('is not longer than it would lease them ahead, while little starts', () => {
      expect(calmly(2_000)).toBe(2_000)
      expect(calmly(2_000, 1_000)).toBe(1_000)
      expect(calmly(2_000, 60_000)).toBe(2_000)
    })

    it('leaves time enough to stage in, whatever that worker is told', () => {
      expect(calmly(2_000, 10)).toBe(250)
      expect(calmly(100, 10)).toBe(100)
    })

    it('is the setting as soon as more starts within it than is staged in a moment', () => {
      const staging = Staging.inFront(2_000, 1_000)
      // By the assumed 20,000 a second.
      expect(staging.aheadMs(0, startBy({ 2_000: 8_000 }))).toBe(1_000)
      expect(staging.aheadMs(0, startBy({ 2_000: 8_001 }))).toBe(2_000)
      expect(Staging.inFront(2_000, 1_000).aheadMs(0, startBy({ 2_001: 8_001 }))).toBe(1_000)
      for (let at = 0; at < 50; at++) staging.measured(1_000, 100)
      expect(staging.aheadMs(20_000, startBy({ 22_000: 3_900 }))).toBe(1_000)
      expect(staging.aheadMs(20_000, startBy({ 22_000: 4_100 }))).toBe(2_000)
    })

    it('stays the setting for ten seconds after that, also while what started is staged and no longer there', () => {
      const staging = Staging.inFront(2_000, 1_000)
      expect(staging.aheadMs(0, startBy({ 2_000: 8_001 }))).toBe(2_000)
      expect(staging.aheadMs(50, startBy({ 2_000: 4_000 }))).toBe(2_000)
      expect(staging.aheadMs(9_999, nothing)).toBe(2_000)
      expect(staging.aheadMs(10_000, nothing)).toBe(1_000)
      expect(staging.aheadMs(60_000, startBy({ 62_000: 8_001 }))).toBe(2_000)
      expect(staging.aheadMs(66_000, startBy({ 68_000: 8_001 }))).toBe(2_000)
      expect(staging.aheadMs(75_999, nothing)).toBe(2_000)
    })

    it('is as long as a crowd needs all the same', () => {
      expect(Staging.inFront(2_000, 1_000).aheadMs(0, startBy({ 1_000: 100_000 }))).toBe(5_000)
    })
  })

  it('is as long as a crowd at one instant needs, once it is that near', () => {
    const staging = new Staging(2_000)
    // 500,000 at the assumed 20,000 a second and a reserve: more than 30 s, less than 45 s.
    const midnight = startBy({ 100_000: 500_000 })
    expect(staging.aheadMs(0, midnight)).toBe(2_000)
    expect(staging.aheadMs(69_999, midnight)).toBe(2_000)
    expect(staging.aheadMs(70_000, midnight)).toBe(30_000)
    expect(staging.aheadMs(99_000, midnight)).toBe(30_000)
  })

  describe('beside an even flow', () => {
    const now = 100_000
    const hour = 3_600_000

    /** Staged as it came, up to `now`, with as many in each second, and taken up to so long after it. */
    function flowing(
      staging: Staging,
      perSecond: number,
      { periodMs = hour, takenMs = 2_000 } = {},
    ): Staging {
      for (let second = now / 1_000 - 4; second < now / 1_000; second++)
        for (let tick = 0; tick < perSecond; tick++) staging.staged(second * 1_000, periodMs, second * 1_000)
      staging.taken(now + takenMs, now)
      return staging
    }
    /** So many a second from an instant on, as the wheel has them, and a crowd on top. */
    const evenly =
      (perSecond: number, from: number, crowd: Record<number, number> = {}) =>
      (instant: number, many: number) => {
        const even = Math.max(0, Math.floor(((instant - from) * perSecond) / 1_000))
        return even >= many || startBy(crowd)(instant, many - even)
      }

    it('is the setting, though the flow takes nearly all that can be staged', () => {
      const untaken = new Staging(2_000)
      expect(untaken.aheadMs(now, evenly(18_000, now + 2_000))).toBe(60_000)
      expect(flowing(new Staging(2_000), 18_000).aheadMs(now, evenly(18_000, now + 2_000))).toBe(2_000)
      expect(flowing(new Staging(2_000), 18_000, { takenMs: 0 }).aheadMs(now, evenly(18_000, now))).toBe(
        2_000,
      )
    })

    it('is longer where more comes than can be staged: that is over some time, and is a crowd until then', () => {
      for (const perSecond of [25_000, 30_000])
        expect(flowing(new Staging(2_000), perSecond).aheadMs(now, evenly(perSecond, now + 2_000))).toBe(
          60_000,
        )
    })

    it('is longer where a crowd comes on top of it, and not for one that is small', () => {
      const staging = flowing(new Staging(2_000), 10_000)
      // In 5 s 76,900 can be staged with the reserve, of which 30,000 are those of the flow that were not taken yet.
      expect(staging.aheadMs(now, evenly(10_000, now + 2_000, { 104_500: 48_000 }))).toBe(5_000)
      expect(staging.aheadMs(now, evenly(10_000, now + 2_000, { 104_500: 46_000 }))).toBe(2_000)
    })

    it('is as long as a crowd needs beside frequent jobs, each of which waits with one tick only', () => {
      // In a minute 923,000 can be staged with the reserve. Of jobs that come every second 10,000 timers are there, not 600,000.
      const crowd = evenly(0, 0, { 160_000: 950_000 })
      expect(flowing(new Staging(2_000), 10_000, { periodMs: 1_000 }).aheadMs(now, crowd)).toBe(60_000)
      expect(flowing(new Staging(2_000), 10_000).aheadMs(now, crowd)).toBe(2_000)
    })

    it('does not take what is left of the flow for more than little', () => {
      const calm = (perSecond: number) =>
        flowing(Staging.inFront(2_000, 1_000), perSecond, { takenMs: 1_000 }).aheadMs(
          now,
          evenly(10_000, now + 1_000),
        )
      expect(calm(0)).toBe(2_000)
      expect(calm(10_000)).toBe(1_000)
    })

    it('takes a crowd on top of it for more than little', () => {
      const staging = flowing(Staging.inFront(2_000, 1_000), 10_000, { takenMs: 1_000 })
      const crowd = (many: number) => evenly(10_000, now + 1_000, { 101_500: many })
      expect(staging.aheadMs(now, crowd(7_900))).toBe(1_000)
      expect(staging.aheadMs(now, crowd(8_100))).toBe(2_000)
    })

    it('is found again after the clock was set back', () => {
      const staging = Staging.inFront(2_000, 1_000)
      const later = now + hour
      expect(staging.aheadMs(later, startBy({ [later + 2_000]: 8_001 }))).toBe(2_000)
      staging.taken(later + 2_000, later)
      flowing(staging, 10_000, { takenMs: 1_000 })
      expect(staging.aheadMs(now, evenly(10_000, now + 1_000))).toBe(2_000)
      staging.taken(now + 11_000, now + 10_000)
      expect(staging.aheadMs(now + 10_000, nothing)).toBe(1_000)
    })
  })

  it('is never longer than a minute', () => {
    expect(new Staging(2_000).aheadMs(0, () => true)).toBe(60_000)
  })

  it('grows when staging turns out slower than assumed, and shrinks when it is faster', () => {
    const crowd = startBy({ 1_000: 100_000 })
    const staging = new Staging(2_000)
    expect(staging.aheadMs(0, crowd)).toBe(5_000)
    for (let at = 0; at < 50; at++) staging.measured(1_000, 200)
    expect(staging.aheadMs(0, crowd)).toBe(20_000)
    for (let at = 0; at < 50; at++) staging.measured(1_000, 10)
    expect(staging.aheadMs(0, crowd)).toBe(2_000)
  })

  it('does not jump at one slow batch, and learns nothing from small ones', () => {
    const crowd = startBy({ 1_000: 100_000 })
    const staging = new Staging(2_000)
    staging.measured(1_000, 2_000)
    expect(staging.aheadMs(0, crowd)).toBe(8_000)
    const untaught = new Staging(2_000)
    for (let at = 0; at < 50; at++) {
      untaught.measured(399, 10_000)
      untaught.measured(5_000, 0)
    }
    expect(untaught.aheadMs(0, crowd)).toBe(5_000)
  })
})

describe('when a tick may be staged', () => {
  it('is as early as ticks are staged, for a job whose ticks are far apart', () => {
    expect(Staging.notBefore(100_000, 100_000, 40_000, 2_000)).toBe(98_000)
    expect(Staging.notBefore(100_000, 100_000, 40_000, 30_000)).toBe(70_000)
    expect(Staging.notBefore(100_000, 100_000, 40_000, 60_000)).toBe(70_000)
  })

  it('leaves half of the gap before it free', () => {
    expect(Staging.notBefore(100_000, 100_000, 99_000, 2_000)).toBe(99_500)
    expect(Staging.notBefore(100_000, 100_000, 97_000, 2_000)).toBe(98_500)
  })

  it('counts from the start, which jitter may have put off', () => {
    expect(Staging.notBefore(107_000, 100_000, 99_000, 2_000)).toBe(106_500)
  })

  it('leaves a quarter of a second to stage in, however close the ticks are', () => {
    expect(Staging.notBefore(100_000, 100_000, 99_900, 2_000)).toBe(99_750)
    expect(Staging.notBefore(100_000, 100_000, 99_999, 100)).toBe(99_900)
  })
})
