import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { effort } from './effort.js'
import { decideTick, type MissedPolicy, type TickDecision } from './missed.js'
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

function decide(
  schedule: Schedule,
  due: number,
  now: number,
  chosen: MissedPolicy,
  startAt = due,
): TickDecision {
  return decideTick({ schedule, due, startAt, now, lateToleranceMs: 5000, policy: chosen })
}

describe.each(['*/10 * * * *', '@every 10m'])('decideTick of %s', (rule) => {
  const schedule = read(rule)
  const due = at('01:00:00')
  const skipped = (from: string, to: string, count: number) => ({
    from: at(from),
    to: at(to),
    count,
    reason: 'missed',
  })

  it.each(['SKIP', 'RUN_ONCE', 'RUN_ALL'] as const)(
    'fires a tick within the tolerance under %s, also with no grace',
    (window) => {
      for (const now of [due - 1000, due, due + 5000]) {
        expect(decide(schedule, due, now, policy(window, 1, 0))).toEqual({
          fire: { due, catchUp: false },
          skip: null,
          next: at('01:10:00'),
        })
      }
    },
  )

  it('fires a tick whose start was put off and has come, and calls it caught up', () => {
    const decision = decide(schedule, due, due + 9 * minute, policy('SKIP'), due + 9 * minute)
    expect(decision).toEqual({ fire: { due, catchUp: true }, skip: null, next: at('01:10:00') })
  })

  it.each<[string, MissedPolicy, string, TickDecision['fire'], unknown, string]>([
    ['SKIP leaves out all', policy('SKIP'), '01:35:00', null, skipped('01:00:00', '01:30:00', 4), '01:40:00'],
    ['SKIP of one tick', policy('SKIP'), '01:00:06', null, skipped('01:00:00', '01:00:00', 1), '01:10:00'],
    [
      'SKIP fires the tick that is due right now',
      policy('SKIP'),
      '01:30:03',
      { due: at('01:30:00'), catchUp: false },
      skipped('01:00:00', '01:20:00', 3),
      '01:40:00',
    ],
    [
      'RUN_ONCE fires the latest',
      policy('RUN_ONCE'),
      '01:35:00',
      { due: at('01:30:00'), catchUp: true },
      skipped('01:00:00', '01:20:00', 3),
      '01:40:00',
    ],
    [
      'RUN_ONCE with one tick missed',
      policy('RUN_ONCE'),
      '01:09:00',
      { due, catchUp: true },
      null,
      '01:10:00',
    ],
    [
      'RUN_ONCE fires a tick on time beside missed ones, whatever the grace',
      policy('RUN_ONCE', 1, 0),
      '01:30:05',
      { due: at('01:30:00'), catchUp: false },
      skipped('01:00:00', '01:20:00', 3),
      '01:40:00',
    ],
    [
      'RUN_ONCE beyond the grace',
      policy('RUN_ONCE', 1, minute),
      '01:35:00',
      null,
      skipped('01:00:00', '01:30:00', 4),
      '01:40:00',
    ],
    [
      'RUN_ALL begins with the oldest',
      policy('RUN_ALL'),
      '01:35:00',
      { due, catchUp: true },
      null,
      '01:10:00',
    ],
    [
      'RUN_ALL keeps as many as allowed',
      policy('RUN_ALL', 2),
      '01:35:00',
      { due: at('01:20:00'), catchUp: true },
      skipped('01:00:00', '01:10:00', 2),
      '01:30:00',
    ],
    [
      'RUN_ALL keeps what is within the hour by default',
      policy('RUN_ALL', 1000),
      '03:00:00',
      { due: at('02:00:00'), catchUp: true },
      skipped('01:00:00', '01:50:00', 6),
      '02:10:00',
    ],
    [
      'RUN_ALL beyond the grace',
      policy('RUN_ALL', 5, minute),
      '01:35:00',
      null,
      skipped('01:00:00', '01:30:00', 4),
      '01:40:00',
    ],
    [
      'RUN_ALL that may keep none',
      policy('RUN_ALL', 0),
      '01:35:00',
      null,
      skipped('01:00:00', '01:30:00', 4),
      '01:40:00',
    ],
  ])('%s', (_, chosen, now, fire, skip, next) => {
    expect(decide(schedule, due, at(now), chosen)).toEqual({ fire, skip, next: at(next) })
  })
})

describe('decideTick of a single instant', () => {
  const schedule = read('2026-01-01T01:00:00Z')
  const due = at('01:00:00')
  const lost = { fire: null, skip: { from: due, to: due, count: 1, reason: 'missed' }, next: null }
  const caught = { fire: { due, catchUp: true }, skip: null, next: null }

  it.each<[string, MissedPolicy, string, unknown]>([
    ['on time', policy('SKIP'), '01:00:01', { fire: { due, catchUp: false }, skip: null, next: null }],
    ['SKIP', policy('SKIP'), '01:30:00', lost],
    ['RUN_ONCE without a grace', policy('RUN_ONCE'), '23:00:00', caught],
    ['RUN_ONCE within the grace', policy('RUN_ONCE', 1, 30 * minute), '01:30:00', caught],
    ['RUN_ONCE beyond the grace', policy('RUN_ONCE', 1, 30 * minute), '01:30:01', lost],
    ['RUN_ALL within the hour', policy('RUN_ALL'), '02:00:00', caught],
    ['RUN_ALL beyond the hour', policy('RUN_ALL'), '02:00:01', lost],
  ])('%s', (_, chosen, now, expected) => {
    expect(decide(schedule, due, at(now), chosen)).toEqual(expected)
  })

  it('never stays at a tick that was to start before it was due', () => {
    const decision = decide(schedule, due, due - minute, policy('SKIP'), due - 2 * minute)
    expect(decision).toEqual(lost)
  })
})

describe('decideTick after long outages', () => {
  const tenYears = 3652 * 86_400_000

  it('counts the ticks of an interval exactly, however many', () => {
    const schedule = read('@every 1s')
    const due = base + 1000
    const decision = decide(schedule, due, base + tenYears + 10, policy('RUN_ALL', 3))
    expect(decision).toEqual({
      fire: { due: base + tenYears - 2000, catchUp: false },
      skip: { from: due, to: base + tenYears - 3000, count: tenYears / 1000 - 3, reason: 'missed' },
      next: base + tenYears - 1000,
    })
  })

  it('counts 139 days of a minutely cron rule', () => {
    const now = base + 199_999 * minute + 30_000
    const decision = decide(read('* * * * *'), base, now, policy('RUN_ONCE'))
    expect(decision.skip).toEqual({
      from: base,
      to: base + 199_998 * minute,
      count: 199_999,
      reason: 'missed',
    })
    expect(decision.fire).toEqual({ due: base + 199_999 * minute, catchUp: true })
  })

  it.each<[string, MissedPolicy, number, number]>([
    ['SKIP', policy('SKIP'), 5000, 6000],
    ['RUN_ONCE', policy('RUN_ONCE'), 0, 1000],
    ['RUN_ALL', policy('RUN_ALL', 1000), 999_000, 1_000_000],
  ])('decides about ten years of every second under %s', (_, chosen, firedAgo, skippedAgo) => {
    const latest = base + tenYears
    const decision = decide(read('* * * * * *'), base, latest, chosen)
    expect(decision.fire?.due).toBe(latest - firedAgo)
    expect(decision.skip?.to).toBe(latest - skippedAgo)
    expect(decision.skip?.count).toBe((latest - skippedAgo - base) / 1000 + 1)
  })

  it('takes as many steps for ten years of every second as for a day, but for the years', () => {
    const steps = (length: number) => {
      const before = effort.steps
      decide(read('* * * * * *'), base, base + length, policy('RUN_ALL', 100))
      return effort.steps - before
    }
    steps(tenYears)
    expect(steps(tenYears)).toBeLessThan(steps(86_400_000) + 10 * 12 + 100)
  })

  it('finds the latest ticks of a rule that has been silent for months', () => {
    const due = Date.parse('2025-01-01T00:00:00Z')
    const now = Date.parse('2026-12-31T00:00:00Z')
    const decision = decide(read('* * * * 1-6 *'), due, now, policy('RUN_ONCE'))
    expect(decision.fire).toEqual({ due: Date.parse('2026-06-30T23:59:59Z'), catchUp: true })
    expect(decision.skip).toMatchObject({ from: due, to: Date.parse('2026-06-30T23:59:58Z') })
    expect(decision.next).toBe(Date.parse('2027-01-01T00:00:00Z'))
  })
})

/** The rules said once more, over a plain list of all ticks. */
function naiveDecision(
  all: number[],
  due: number,
  now: number,
  tolerance: number,
  chosen: MissedPolicy,
): TickDecision {
  const rest = all.filter((tick) => tick >= due)
  const after = (tick: number | undefined) => rest.find((other) => tick !== undefined && other > tick) ?? null
  if (now - due <= tolerance) return { fire: { due, catchUp: false }, skip: null, next: after(due) }
  const past = rest.filter((tick) => tick <= now)
  const onTime = (tick: number) => now - tick <= tolerance
  const grace = chosen.graceMs ?? (chosen.missedWindow === 'RUN_ALL' ? 3_600_000 : Number.POSITIVE_INFINITY)
  const runnable = past.filter(
    (tick) => onTime(tick) || (chosen.missedWindow !== 'SKIP' && now - tick <= grace),
  )
  const most = { SKIP: past.length, RUN_ONCE: 1, RUN_ALL: chosen.maxMissed }[chosen.missedWindow]
  const fired = runnable.slice(Math.max(0, runnable.length - most))[0]
  const left = past.filter((tick) => fired === undefined || tick < fired)
  return {
    fire: fired === undefined ? null : { due: fired, catchUp: !onTime(fired) },
    skip:
      left.length === 0
        ? null
        : { from: left[0] ?? 0, to: left.at(-1) ?? 0, count: left.length, reason: 'missed' },
    next: after(fired ?? left.at(-1)),
  }
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
              if (decision.skip !== null) {
                expect(all[accounted]).toBe(decision.skip.from)
                accounted += decision.skip.count
                expect(all[accounted - 1]).toBe(decision.skip.to)
              }
              if (decision.fire !== null) expect(all[accounted++]).toBe(decision.fire.due)
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
