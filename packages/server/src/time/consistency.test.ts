import { CarillonError } from '@carillon/contract'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseSchedule, type Schedule, type ScheduleSource } from './schedule.js'
import { timelineOf } from './timeline.js'
import { utcText } from './iso-text.js'

const hour = 3_600_000
const day = 24 * hour
const zones = [
  'UTC',
  'Europe/Madrid',
  'America/New_York',
  'Australia/Lord_Howe',
  'America/Santiago',
  'Pacific/Apia',
  'America/St_Johns',
  'Africa/Casablanca',
]
const int = (min: number, max: number) => fc.integer({ min, max })
const list = (min: number, max: number) =>
  fc.uniqueArray(int(min, max), { minLength: 1, maxLength: 3 }).map((all) => all.join())

const crons = fc
  .tuple(
    fc.oneof(
      fc.constant('*'),
      list(0, 59),
      int(5, 30).map((step) => `*/${step}`),
    ),
    fc.oneof(fc.constant('*'), list(0, 4), list(0, 23), fc.constant('*/2'), fc.constant('22-3')),
    fc.constantFrom('*', '*', '*', '1', 'L', '15W', '29-2'),
    fc.constantFrom('*', '*', '3,4,10,11', '12'),
    fc.constantFrom('*', '*', '*', 'SUN', 'MON-FRI', 'SUN#1', '+SUNL'),
  )
  .map((fields) => fields.join(' '))
const intervals = fc.tuple(int(60, 100_000), int(0, 4 * day)).map(([every, by]) => ({
  every,
  anchor: utcText(Date.UTC(2008, 0, 1) + by),
}))
const recurrences = fc
  .tuple(
    fc.constantFrom(
      'FREQ=DAILY',
      'FREQ=DAILY;INTERVAL=3',
      'FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,SU',
      'FREQ=MONTHLY;BYDAY=-1SU',
      'FREQ=MONTHLY;BYDAY=MO,TU,SU;BYSETPOS=1,-1',
      'FREQ=HOURLY;INTERVAL=5',
      'FREQ=HOURLY;BYMINUTE=10,40',
      'FREQ=MINUTELY;INTERVAL=97',
      'FREQ=MINUTELY;INTERVAL=13;BYHOUR=1,2',
      'FREQ=DAILY;COUNT=900',
      'FREQ=YEARLY;BYMONTH=3,10;BYDAY=-1SU',
      'FREQ=DAILY;UNTIL=20140101T000000Z',
    ),
    fc.constantFrom('', ';BYHOUR=2', ';BYHOUR=0,1,2,3'),
  )
  .filter(([rule, hours]) => hours === '' || !/BYHOUR|HOURLY|MINUTELY/.test(rule))
  .map((parts) => ({ rrule: parts.join(''), dtstart: '2009-02-03T02:30:00' }))
const rules: fc.Arbitrary<ScheduleSource['schedule']> = fc.oneof(
  crons,
  intervals,
  recurrences,
  fc.array(fc.oneof(crons, intervals, recurrences), { minLength: 2, maxLength: 3 }),
)
const calendars = {
  freeze: {
    dates: ['2011-12-30/2012-01-02', '2012-03-11', '2026-03-29', '2026-10-25'],
    blackouts: [{ from: '2026-03-30T00:00:00Z', to: '2026-03-30T12:00:00Z', reason: 'release' }],
  },
}
const sources = fc
  .tuple(
    rules,
    fc.constantFrom(...zones),
    fc.constantFrom('run_after' as const, 'skip' as const),
    fc.constantFrom('first' as const, 'last' as const, 'both' as const),
    fc.constantFrom(null, null, ['freeze'], ['2026-10-20/2026-11-02', '2025-04-05']),
    fc.constantFrom('exclude' as const, 'next_business_day' as const, 'previous_business_day' as const),
    fc.constantFrom(null, '2010-03-01T00:00:00Z'),
  )
  .map(
    ([schedule, timezone, dst_gap, dst_overlap, exclude, on_excluded, starts_at]): ScheduleSource => ({
      schedule,
      timezone,
      anchor: Date.UTC(2008, 0, 1),
      dst_gap,
      dst_overlap,
      exclude,
      on_excluded,
      starts_at,
      calendars,
    }),
  )

function scheduleOf(source: ScheduleSource): Schedule | null {
  try {
    return parseSchedule(source)
  } catch (error) {
    // A few of the drawn rules name only times that the clocks jump over.
    if (error instanceof CarillonError && error.code === 'schedule_never_fires') return null
    throw error
  }
}

/** Instants around which clocks change or something is excluded. */
const moments = [
  '2010-11-07T03:00Z',
  '2011-12-30T10:00Z',
  '2012-03-11T07:00Z',
  '2025-04-06T03:00Z',
  '2025-09-07T04:00Z',
  '2026-03-08T07:00Z',
  '2026-03-29T01:00Z',
  '2026-04-04T15:00Z',
  '2026-10-03T15:30Z',
  '2026-10-25T01:00Z',
  '2026-11-01T06:00Z',
].map((text) => Date.parse(text))
const instants = fc.oneof(
  fc.tuple(fc.constantFrom(...moments), int(-3 * day, 2 * day)).map(([at, by]) => at + by),
  int(Date.UTC(2009, 0, 1), Date.UTC(2040, 0, 1)),
)

describe('next, prev and count of any schedule', () => {
  it('agree with each other', () => {
    fc.assert(
      fc.property(sources, instants, int(0, 4 * day), (source, from, length) => {
        const schedule = scheduleOf(source)
        if (schedule === null) return
        const to = from + length
        const forward: number[] = []
        for (let tick = schedule.next(from - 1); tick !== null && tick <= to; tick = schedule.next(tick))
          forward.push(tick)
        const back: number[] = []
        for (let tick = schedule.prev(to); tick !== null && tick >= from; tick = schedule.prev(tick - 1))
          back.unshift(tick)
        expect(back).toEqual(forward)
        expect(schedule.count(from, to)).toBe(forward.length)
        const middle = Math.floor((from + to) / 2)
        expect(schedule.count(from, middle)).toBe(forward.filter((tick) => tick <= middle).length)
        for (const tick of forward.slice(0, 20)) {
          expect(schedule.next(tick - 1)).toBe(tick)
          expect(schedule.prev(tick)).toBe(tick)
          expect(schedule.count(tick, tick)).toBe(1)
        }
      }),
      { numRuns: 1500 },
    )
  })

  it('count years as the sum of their days', () => {
    fc.assert(
      fc.property(sources, instants, int(100, 2000), (source, from, days) => {
        const schedule = scheduleOf(source)
        if (schedule === null) return
        let sum = 0
        for (let at = 0; at < days; at++) sum += schedule.count(from + at * day, from + (at + 1) * day - 1)
        expect(schedule.count(from, from + days * day - 1)).toBe(sum)
      }),
      { numRuns: 100 },
    )
  })

  it('leave out every excluded date and every blackout', () => {
    fc.assert(
      fc.property(sources, instants, (source, from) => {
        const schedule = scheduleOf({ ...source, exclude: ['freeze'] })
        if (schedule === null) return
        const dark = (tick: number) =>
          tick >= Date.parse('2026-03-30T00:00Z') && tick < Date.parse('2026-03-30T12:00Z')
        const closed = [
          '2011-12-30',
          '2011-12-31',
          '2012-01-01',
          '2012-01-02',
          '2012-03-11',
          '2026-03-29',
          '2026-10-25',
        ]
        let tick = schedule.next(from)
        for (let step = 0; step < 50 && tick !== null; step++) {
          const wall = tick + timelineOf(source.timezone).offsetAt(tick)
          expect(closed).not.toContain(new Date(wall).toISOString().slice(0, 10))
          expect(dark(tick)).toBe(false)
          tick = schedule.next(tick)
        }
      }),
      { numRuns: 300 },
    )
  })
})
