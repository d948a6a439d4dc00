import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../test/kit/manual-clock.js'
import { DatabaseClock } from './database-clock.js'

const epoch = Date.parse('2026-11-02T12:00:00Z')
const toleranceMs = 5
const memoryMs = 30_000

/** A database beside a process: its clock reads whole milliseconds, and the way to it takes time. */
function beside({ driftPpm = 0 } = {}) {
  const clock = new ManualClock(0)
  const steps: number[] = []
  const databaseClock = new DatabaseClock(clock, (byMs) => steps.push(byMs))
  let stepped = 0
  const truth = () => epoch + clock.monotonic() * (1 - driftPpm / 1_000_000) + stepped
  return {
    clock,
    steps,
    databaseClock,
    truth,
    step: (byMs: number) => {
      stepped += byMs
    },
    /** One query: `there` until the database reads its clock, `back` until the answer is here. */
    sample: (there = 0, back = 0) => {
      const complete = databaseClock.begin()
      clock.skip(there)
      const read = Math.floor(truth())
      clock.skip(back)
      complete(read)
    },
  }
}

const latency = fc.double({ min: 0, max: 2_000, noNaN: true })
const gap = fc.double({ min: 0, max: 10_000, noNaN: true })

describe('the lower bound of the database clock', () => {
  it('is not to be had before the first sample', () => {
    const { databaseClock } = beside()
    expect(() => databaseClock.atLeast()).toThrow('before its first sample')
  })

  it('is never later than the truth, whatever the latencies and however the answers overtake each other', () => {
    const queries = fc.array(fc.record({ sentAt: gap, there: latency, back: latency }), { minLength: 1 })
    fc.assert(
      fc.property(queries, fc.array(gap), (sent, looks) => {
        const { clock, databaseClock, truth, steps } = beside()
        const completions = new Map<number, (read: number) => void>()
        const reads = new Map<number, number>()
        let known = false
        const events = [
          ...sent.flatMap(({ sentAt, there, back }, id) => [
            { at: sentAt, run: () => void completions.set(id, databaseClock.begin()) },
            { at: sentAt + there, run: () => void reads.set(id, Math.floor(truth())) },
            {
              at: sentAt + there + back,
              run: () => {
                completions.get(id)?.(reads.get(id) ?? Number.NaN)
                known = true
              },
            },
          ]),
          ...looks.map((at) => ({ at, run: () => undefined })),
        ].sort((a, b) => a.at - b.at)
        for (const { at, run } of events) {
          clock.skip(at - clock.monotonic())
          run()
          if (known) expect(databaseClock.atLeast()).toBeLessThanOrEqual(truth())
        }
        expect(steps).toEqual([])
      }),
    )
  })

  it('is no further from the truth than the quickest answer took, and one millisecond of rounding on each side', () => {
    const queries = fc.array(fc.record({ gap, there: latency, back: latency }), {
      minLength: 1,
      maxLength: 10,
    })
    fc.assert(
      fc.property(queries, (sent) => {
        const { clock, databaseClock, truth, sample } = beside()
        const answers: { at: number; back: number }[] = []
        for (const query of sent) {
          clock.skip(query.gap)
          sample(query.there, query.back)
          answers.push({ at: clock.monotonic(), back: query.back })
          const remembered = answers.filter(({ at }) => clock.monotonic() - at < memoryMs)
          const quickest = Math.min(...remembered.map(({ back }) => back))
          expect(databaseClock.atLeast()).toBeGreaterThanOrEqual(truth() - quickest - 2)
        }
      }),
    )
  })

  it('moves on with the monotonic clock between samples', () => {
    const { clock, databaseClock, sample } = beside()
    sample()
    const before = databaseClock.atLeast()
    clock.skip(12_345)
    expect(databaseClock.atLeast()).toBe(before + 12_345)
  })

  it('forgets a sample after half a minute, so that a drift does not add up', () => {
    const { clock, databaseClock, sample } = beside()
    sample(0, 0)
    clock.skip(memoryMs - 1_000)
    sample(0, 400)
    const kept = databaseClock.atLeast() - clock.monotonic()
    clock.skip(1_000)
    sample(0, 400)
    expect(databaseClock.atLeast() - clock.monotonic()).toBe(kept - 400)
  })

  it('keeps up with a stream of samples without remembering each of them', () => {
    const { clock, databaseClock, truth, sample } = beside()
    for (let at = 0; at < 200_000; at++) {
      clock.skip(0.1)
      sample(0, at % 7)
    }
    expect(databaseClock.atLeast()).toBeGreaterThan(truth() - 10)
  })
})

describe('a step of the database clock', () => {
  it('back is noticed by the first sample after it, reported once, and obeyed', () => {
    const { clock, databaseClock, truth, step, steps, sample } = beside()
    sample(1, 1)
    clock.skip(250)
    step(-60_000)
    expect(databaseClock.atLeast()).toBeGreaterThan(truth())
    sample(1, 1)
    expect(steps).toHaveLength(1)
    expect(Math.abs((steps[0] ?? 0) + 60_000)).toBeLessThanOrEqual(5)
    expect(databaseClock.atLeast()).toBeLessThanOrEqual(truth())
    clock.skip(250)
    sample(1, 1)
    expect(steps).toHaveLength(1)
  })

  it('back of any size leaves a claim that is too late by no more than the tolerance and the way there', () => {
    const before = fc.array(fc.record({ gap, there: latency, back: latency }), { minLength: 1, maxLength: 5 })
    const size = fc.double({ min: 0, max: 100_000, noNaN: true })
    fc.assert(
      fc.property(before, size, latency, latency, (sent, byMs, there, back) => {
        const { clock, databaseClock, truth, step, sample } = beside()
        for (const query of sent) {
          clock.skip(query.gap)
          sample(query.there, query.back)
        }
        step(-byMs)
        sample(there, back)
        expect(databaseClock.atLeast()).toBeLessThanOrEqual(truth() + toleranceMs + 1 + there)
      }),
    )
  })

  it('back is not undone by an answer that was read before it and came after it was noticed', () => {
    const { clock, databaseClock, truth, step, steps, sample } = beside()
    sample()
    const completeLate = databaseClock.begin()
    const readBefore = Math.floor(truth())
    step(-60_000)
    clock.skip(100)
    sample()
    completeLate(readBefore)
    expect(databaseClock.atLeast()).toBeLessThanOrEqual(truth())
    expect(steps).toHaveLength(1)
  })

  it('forward is noticed by the first sample after it, reported once, and followed at once', () => {
    const { clock, databaseClock, truth, step, steps, sample } = beside()
    sample(1, 1)
    clock.skip(250)
    step(3_600_000)
    sample()
    expect(databaseClock.atLeast()).toBe(Math.floor(truth()))
    expect(steps).toHaveLength(1)
    expect(Math.abs((steps[0] ?? 0) - 3_600_000)).toBeLessThanOrEqual(5)
    clock.skip(250)
    sample(1, 1)
    expect(steps).toHaveLength(1)
  })

  it('forward is also what a sleep looks like, in which the monotonic clock stood still', () => {
    const { clock, steps, sample, step } = beside()
    sample()
    // The database lived on for eight hours; the clock of this process did not.
    step(8 * 3_600_000)
    clock.skip(3)
    sample()
    expect(steps).toEqual([expect.closeTo(8 * 3_600_000, -1)])
  })

  it('forward and back again is noticed both times, each with its sign', () => {
    const { databaseClock, truth, step, steps, sample } = beside()
    sample()
    step(3_600_000)
    sample()
    step(-3_600_000)
    sample()
    expect(steps.map(Math.sign)).toEqual([1, -1])
    expect(databaseClock.atLeast()).toBeLessThanOrEqual(truth())
  })

  it('forward is not undone by an answer that was read before it and came after it was noticed', () => {
    const { clock, databaseClock, truth, step, steps, sample } = beside()
    sample()
    const completeLate = databaseClock.begin()
    const readBefore = Math.floor(truth())
    step(60_000)
    clock.skip(100)
    sample()
    completeLate(readBefore)
    expect(steps).toHaveLength(1)
    expect(databaseClock.atLeast()).toBe(Math.floor(truth()))
  })

  it('of any size and direction is found by any later query that is quicker than the step is wide', () => {
    const before = fc.array(fc.record({ gap, there: latency, back: latency }), { minLength: 1, maxLength: 5 })
    const size = fc.integer({ min: 20_000, max: 90_000_000 })
    fc.assert(
      fc.property(before, size, fc.boolean(), latency, latency, (sent, ms, forward, there, back) => {
        const { clock, step, steps, sample } = beside()
        for (const query of sent) {
          clock.skip(query.gap)
          sample(query.there, query.back)
        }
        step(forward ? ms : -ms)
        sample(there, back)
        expect(steps.map(Math.sign)).toEqual([forward ? 1 : -1])
        // What is reported is certain: no more than the step was.
        expect(Math.abs(steps[0] ?? 0)).toBeLessThanOrEqual(ms + 1)
      }),
    )
  })

  it.each([-1, 1])(
    'is told from a drift that added up in an hour without a sample (direction %i)',
    (sign) => {
      const { clock, steps, sample, step } = beside()
      sample(0.3, 0.3)
      clock.skip(3_600_000)
      step(sign * 1_500)
      sample(0.3, 0.3)
      expect(steps).toEqual([])
      clock.skip(3_600_000)
      step(sign * 10_000)
      sample(0.3, 0.3)
      expect(steps.map(Math.sign)).toEqual([sign])
    },
  )

  it.each([{ driftPpm: 100 }, { driftPpm: -100 }])(
    'is told from a drift of $driftPpm parts per million, which is tolerated for hours',
    ({ driftPpm }) => {
      const { clock, databaseClock, truth, steps, sample } = beside({ driftPpm })
      for (let beat = 0; beat < 4 * 3_600; beat++) {
        clock.skip(250)
        sample(0.3, 0.3)
        expect(databaseClock.atLeast()).toBeLessThanOrEqual(truth() + toleranceMs)
      }
      expect(steps).toEqual([])
    },
  )

  it.each([
    { byMs: -4, noticed: 0 },
    { byMs: -8, noticed: 1 },
    { byMs: 95, noticed: 0 },
    { byMs: 105, noticed: 1 },
  ])(
    'of $byMs ms is reported $noticed times: the tolerance is for drift and slewing alone',
    ({ byMs, noticed }) => {
      const { step, steps, sample } = beside()
      sample()
      step(byMs)
      sample()
      expect(steps).toHaveLength(noticed)
    },
  )

  it('cannot be imitated by a slow answer', () => {
    const { clock, steps, sample } = beside()
    sample()
    clock.skip(100)
    sample(0, 30_000)
    sample(30_000, 0)
    expect(steps).toEqual([])
  })
})
