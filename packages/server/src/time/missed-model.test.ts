import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  decideGap,
  decideTick,
  type GapDecision,
  type MissedPolicy,
  type TickDecision,
  type TickRange,
} from './missed.js'
import { parseSchedule, type Schedule } from './schedule.js'

const minute = 60_000
const base = Date.parse('2026-01-01T00:00:00Z')
const at = (clock: string) => Date.parse(`2026-01-01T${clock}Z`)
const read = (schedule: string) => parseSchedule({ schedule, timezone: 'UTC', anchor: base })
const policy = (
  missedWindow: MissedPolicy['missedWindow'],
  maxMissed = 10,
  graceMs: number | null = null,
) => ({
  missedWindow,
  maxMissed,
  graceMs,
})

const rangeOf = (ticks: readonly number[]): TickRange | null => {
  const [from] = ticks
  return from === undefined ? null : { from, to: ticks.at(-1) ?? from, count: ticks.length }
}

/** The rules said once more, over a plain list of all ticks. */
function naiveGap(
  all: number[],
  due: number,
  now: number,
  tolerance: number,
  chosen: MissedPolicy,
): GapDecision {
  const past = all.filter((tick) => tick >= due && tick <= now)
  const grace = chosen.graceMs ?? (chosen.missedWindow === 'RUN_ALL' ? 3_600_000 : Number.POSITIVE_INFINITY)
  const runnable = past.filter((tick) => now - tick <= tolerance || now - tick <= grace)
  const most = { SKIP: 0, RUN_ONCE: 1, RUN_ALL: chosen.maxMissed }[chosen.missedWindow]
  const kept = runnable.slice(Math.max(0, runnable.length - most))
  return {
    skip: rangeOf(past.filter((tick) => !kept.includes(tick))),
    replay: rangeOf(kept),
    next: all.find((tick) => tick > now) ?? null,
  }
}

function naiveDecision(
  all: number[],
  due: number,
  now: number,
  tolerance: number,
  chosen: MissedPolicy,
): TickDecision {
  const after = (tick: number) => all.find((other) => other > tick) ?? null
  const onTime = (tick: number) => now - tick <= tolerance
  if (onTime(due)) return { fire: due, skip: null, replay: null, next: after(due) }
  const past = all.filter((tick) => tick >= due && tick <= now)
  if (chosen.missedWindow === 'SKIP') {
    const fire = past.find(onTime) ?? null
    const skip = rangeOf(past.filter((tick) => !onTime(tick)))
    return { fire, skip, replay: null, next: after(fire ?? now) }
  }
  const gap = naiveGap(all, due, now, tolerance, chosen)
  const { replay } = gap
  if (replay?.count === 1 && onTime(replay.to)) return { ...gap, fire: replay.to, replay: null }
  return { fire: null, ...gap }
}

const policies = fc.record({
  missedWindow: fc.constantFrom('SKIP' as const, 'RUN_ONCE' as const, 'RUN_ALL' as const),
  maxMissed: fc.integer({ min: 1, max: 6 }),
  graceMs: fc.option(fc.integer({ min: 0, max: 4_000_000 })),
})

function listed(schedule: Schedule, until: number): number[] {
  const all: number[] = []
  for (let tick = schedule.next(base); tick !== null; tick = schedule.next(tick)) {
    all.push(tick)
    if (tick > until) break
  }
  return all
}

const listSchedules = fc
  .uniqueArray(fc.integer({ min: 1, max: 20_000 }), { minLength: 1, maxLength: 40 })
  .map((seconds): Schedule => {
    const sorted = seconds.sort((left, right) => left - right).map((second) => base + second * 1000)
    return {
      kind: 'cron',
      next: (after) => sorted.find((tick) => tick > after) ?? null,
      prev: (atOrBefore) => sorted.findLast((tick) => tick <= atOrBefore) ?? null,
      count: (from, to) => sorted.filter((tick) => tick >= from && tick <= to).length,
      dropped: () => [],
    }
  })
const schedules = fc.oneof(
  listSchedules,
  fc.integer({ min: 60, max: 4000 }).map((seconds) => read(`@every ${seconds}s`)),
  fc.constantFrom('*/7 * * * *', '0,1 * * * *', '30 */2 * * * *', '2026-01-01T02:00:00Z').map(read),
)

describe('decideTick over random outages', () => {
  it('accounts for every tick exactly once, as the plain reading of the rules does', () => {
    const pauses = fc.array(fc.integer({ min: 0, max: 4_000_000 }), { minLength: 1, maxLength: 8 })
    fc.assert(
      fc.property(
        schedules,
        policies,
        pauses,
        fc.integer({ min: 0, max: 30_000 }),
        (schedule, chosen, waits, tolerance) => {
          const end = base + 4_000_000 * 9
          const all = listed(schedule, end)
          let cursor = schedule.next(base)
          let accounted = 0
          let now = base
          for (const wait of waits) {
            now += wait
            while (cursor !== null && cursor <= now) {
              const decision = decideTick({
                schedule,
                due: cursor,
                startAt: cursor,
                now,
                lateToleranceMs: tolerance,
                policy: chosen,
              })
              expect(decision).toEqual(naiveDecision(all, cursor, now, tolerance, chosen))
              for (const range of [decision.skip, decision.replay]) {
                if (range === null) continue
                expect(all[accounted]).toBe(range.from)
                accounted += range.count
                expect(all[accounted - 1]).toBe(range.to)
              }
              if (decision.fire !== null) expect(all[accounted++]).toBe(decision.fire)
              expect(decision.next).toBe(all[accounted] ?? null)
              cursor = decision.next
            }
          }
          expect(accounted).toBe(all.filter((tick) => tick <= now).length)
        },
      ),
      // The limit is for shrinking: a failure is told soon.
      { numRuns: 300, interruptAfterTimeLimit: 20_000 },
    )
  })
})

describe('decideGap', () => {
  it.each<[string, MissedPolicy, GapDecision['skip'], GapDecision['replay']]>([
    [
      'SKIP passes over the freshest too',
      policy('SKIP'),
      { from: at('01:00:00'), to: at('01:30:00'), count: 4 },
      null,
    ],
    [
      'RUN_ONCE replays the latest, however fresh',
      policy('RUN_ONCE'),
      { from: at('01:00:00'), to: at('01:20:00'), count: 3 },
      { from: at('01:30:00'), to: at('01:30:00'), count: 1 },
    ],
    [
      'RUN_ONCE with no grace replays a tick of this very instant only',
      policy('RUN_ONCE', 1, 0),
      { from: at('01:00:00'), to: at('01:20:00'), count: 3 },
      { from: at('01:30:00'), to: at('01:30:00'), count: 1 },
    ],
    [
      'RUN_ALL replays those within its grace',
      policy('RUN_ALL', 10, 15 * minute),
      { from: at('01:00:00'), to: at('01:10:00'), count: 2 },
      { from: at('01:20:00'), to: at('01:30:00'), count: 2 },
    ],
  ])('%s', (_, chosen, skip, replay) => {
    const gap = { schedule: read('*/10 * * * *'), due: at('01:00:00'), now: at('01:30:00'), policy: chosen }
    expect(decideGap(gap)).toEqual({ skip, replay, next: at('01:40:00') })
  })

  it('decides as the plain reading of the rules does, and leaves no tick out', () => {
    fc.assert(
      fc.property(
        schedules,
        policies,
        fc.integer({ min: 0, max: 4_000_000 }),
        fc.integer({ min: 0, max: 12_000_000 }),
        (schedule, chosen, before, length) => {
          const due = schedule.next(base + before)
          if (due === null) return
          const now = due + length
          const all = listed(schedule, now)
          const gap = decideGap({ schedule, due, now, policy: chosen })
          expect(gap).toEqual(naiveGap(all, due, now, 0, chosen))
          const owed = all.filter((tick) => tick >= due && tick <= now)
          expect((gap.skip?.count ?? 0) + (gap.replay?.count ?? 0)).toBe(owed.length)
          expect(gap.skip?.from ?? gap.replay?.from).toBe(owed[0])
          expect(gap.replay?.to ?? gap.skip?.to).toBe(owed.at(-1))
        },
      ),
      { numRuns: 300, interruptAfterTimeLimit: 20_000 },
    )
  })
})
