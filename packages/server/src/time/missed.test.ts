import { describe, expect, it } from 'vitest'
import { effort } from './effort.js'
import { decideTick, type MissedPolicy, type TickDecision, type TickRange } from './missed.js'
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
  const range = (from: string, to: string, count: number) => ({ from: at(from), to: at(to), count })

  it.each(['SKIP', 'RUN_ONCE', 'RUN_ALL'] as const)(
    'fires a tick within the tolerance under %s, also with no grace',
    (window) => {
      for (const now of [due - 1000, due, due + 5000]) {
        expect(decide(schedule, due, now, policy(window, 1, 0))).toEqual({
          fire: due,
          skip: null,
          replay: null,
          next: at('01:10:00'),
        })
      }
    },
  )

  it.each(['SKIP', 'RUN_ONCE', 'RUN_ALL'] as const)(
    'fires a tick whose start was put off and has come under %s: it was not missed',
    (window) => {
      const decision = decide(schedule, due, due + 9 * minute, policy(window), due + 9 * minute)
      expect(decision).toEqual({ fire: due, skip: null, replay: null, next: at('01:10:00') })
    },
  )

  it.each([
    ['SKIP', { skip: range('01:00:00', '01:00:00', 1), replay: null }],
    ['RUN_ONCE', { skip: null, replay: range('01:00:00', '01:00:00', 1) }],
    ['RUN_ALL', { skip: null, replay: range('01:00:00', '01:00:00', 1) }],
  ] as const)(
    'leaves a later tick alone whose start is still ahead under %s: it was not missed',
    (window, gap) => {
      const decision = decide(schedule, due, at('01:12:00'), policy(window), at('01:08:00'))
      expect(decision).toEqual({ fire: null, ...gap, next: at('01:10:00') })
    },
  )

  it.each<
    [string, MissedPolicy, string, { fire?: number; skip?: TickRange; replay?: TickRange; next: string }]
  >([
    [
      'SKIP leaves out all',
      policy('SKIP'),
      '01:35:00',
      { skip: range('01:00:00', '01:30:00', 4), next: '01:40:00' },
    ],
    [
      'SKIP of one tick',
      policy('SKIP'),
      '01:00:06',
      { skip: range('01:00:00', '01:00:00', 1), next: '01:10:00' },
    ],
    [
      'SKIP fires the tick that is due right now',
      policy('SKIP'),
      '01:30:03',
      { fire: at('01:30:00'), skip: range('01:00:00', '01:20:00', 3), next: '01:40:00' },
    ],
    [
      'RUN_ONCE leaves the latest to a replay',
      policy('RUN_ONCE'),
      '01:35:00',
      {
        skip: range('01:00:00', '01:20:00', 3),
        replay: range('01:30:00', '01:30:00', 1),
        next: '01:40:00',
      },
    ],
    [
      'RUN_ONCE with one tick missed',
      policy('RUN_ONCE'),
      '01:09:00',
      { replay: range('01:00:00', '01:00:00', 1), next: '01:10:00' },
    ],
    [
      'RUN_ONCE fires a tick on time beside missed ones, whatever the grace',
      policy('RUN_ONCE', 1, 0),
      '01:30:05',
      { fire: at('01:30:00'), skip: range('01:00:00', '01:20:00', 3), next: '01:40:00' },
    ],
    [
      'RUN_ONCE a millisecond beyond the tolerance is catching up',
      policy('RUN_ONCE'),
      '01:30:05.001',
      {
        skip: range('01:00:00', '01:20:00', 3),
        replay: range('01:30:00', '01:30:00', 1),
        next: '01:40:00',
      },
    ],
    [
      'RUN_ONCE beyond the grace',
      policy('RUN_ONCE', 1, minute),
      '01:35:00',
      { skip: range('01:00:00', '01:30:00', 4), next: '01:40:00' },
    ],
    [
      'RUN_ALL leaves all to a replay, and the cursor goes past now',
      policy('RUN_ALL'),
      '01:35:00',
      { replay: range('01:00:00', '01:30:00', 4), next: '01:40:00' },
    ],
    [
      'RUN_ALL catches up a tick that is due right now after those before it',
      policy('RUN_ALL'),
      '01:30:03',
      { replay: range('01:00:00', '01:30:00', 4), next: '01:40:00' },
    ],
    [
      'RUN_ALL keeps as many as allowed',
      policy('RUN_ALL', 2),
      '01:35:00',
      {
        skip: range('01:00:00', '01:10:00', 2),
        replay: range('01:20:00', '01:30:00', 2),
        next: '01:40:00',
      },
    ],
    [
      'RUN_ALL keeps what is within the hour by default',
      policy('RUN_ALL', 1000),
      '03:00:00',
      {
        skip: range('01:00:00', '01:50:00', 6),
        replay: range('02:00:00', '03:00:00', 7),
        next: '03:10:00',
      },
    ],
    [
      'RUN_ALL beyond the grace',
      policy('RUN_ALL', 5, minute),
      '01:35:00',
      { skip: range('01:00:00', '01:30:00', 4), next: '01:40:00' },
    ],
    [
      'RUN_ALL that may keep none',
      policy('RUN_ALL', 0),
      '01:35:00',
      { skip: range('01:00:00', '01:30:00', 4), next: '01:40:00' },
    ],
  ])('%s', (_, chosen, now, { fire = null, skip = null, replay = null, next }) => {
    expect(decide(schedule, due, at(now), chosen)).toEqual({ fire, skip, replay, next: at(next) })
  })
})

describe('decideTick of a single instant', () => {
  const schedule = read('2026-01-01T01:00:00Z')
  const due = at('01:00:00')
  const one = { from: due, to: due, count: 1 }
  const lost = { fire: null, skip: one, replay: null, next: null }
  const caught = { fire: null, skip: null, replay: one, next: null }

  it.each<[string, MissedPolicy, string, unknown]>([
    ['on time', policy('SKIP'), '01:00:01', { fire: due, skip: null, replay: null, next: null }],
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
      fire: null,
      skip: { from: due, to: base + tenYears - 3000, count: tenYears / 1000 - 3 },
      replay: { from: base + tenYears - 2000, to: base + tenYears, count: 3 },
      next: base + tenYears + 1000,
    })
  })

  it('counts 139 days of a minutely cron rule', () => {
    const now = base + 199_999 * minute + 30_000
    const decision = decide(read('* * * * *'), base, now, policy('RUN_ONCE'))
    expect(decision.skip).toEqual({
      from: base,
      to: base + 199_998 * minute,
      count: 199_999,
    })
    const latest = base + 199_999 * minute
    expect(decision.replay).toEqual({ from: latest, to: latest, count: 1 })
  })

  it.each<[string, MissedPolicy, number | null, number | null, number]>([
    ['SKIP', policy('SKIP'), 5000, null, 6000],
    ['RUN_ONCE', policy('RUN_ONCE'), 0, null, 1000],
    ['RUN_ALL', policy('RUN_ALL', 1000), null, 999_000, 1_000_000],
  ])('decides about ten years of every second under %s', (_, chosen, firedAgo, replayedAgo, skippedAgo) => {
    const latest = base + tenYears
    const decision = decide(read('* * * * * *'), base, latest, chosen)
    expect(decision.fire).toBe(firedAgo === null ? null : latest - firedAgo)
    expect(decision.replay).toEqual(
      replayedAgo === null ? null : { from: latest - replayedAgo, to: latest, count: replayedAgo / 1000 + 1 },
    )
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
    const latest = Date.parse('2026-06-30T23:59:59Z')
    expect(decision.replay).toEqual({ from: latest, to: latest, count: 1 })
    expect(decision.skip).toMatchObject({ from: due, to: Date.parse('2026-06-30T23:59:58Z') })
    expect(decision.next).toBe(Date.parse('2027-01-01T00:00:00Z'))
  })
})
