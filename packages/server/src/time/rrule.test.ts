import fc from 'fast-check'
import { RRuleTemporal } from 'rrule-temporal'
import { describe, expect, it } from 'vitest'
import { iso, refusalOf, scheduleOf, ticksAfter } from '../../test/kit/ticks.js'
import { effort, longestSearch } from './effort.js'
import { Recurrence } from './rrule.js'
import { readRecurrence } from './rrule-syntax.js'

const day = 86_400_000
const recurrence = (rule: string, start: number) =>
  new Recurrence(readRecurrence(rule, '/rrule'), start, null)

function walls(rule: string, start: string, count: number): string[] {
  const walked = recurrence(rule, Date.parse(`${start}Z`))
  const found: string[] = []
  for (let wall = walked.nextWall(0); wall !== null && found.length < count; wall = walked.nextWall(wall)) {
    found.push(new Date(wall).toISOString().slice(0, 16).replace('T09:00', ''))
  }
  return found
}

describe('recurrence rules', () => {
  it.each<[string, string, string[]]>([
    ['FREQ=DAILY;COUNT=3', '2026-01-01T09:00', ['2026-01-01', '2026-01-02', '2026-01-03']],
    [
      'RRULE:FREQ=DAILY;INTERVAL=10;UNTIL=20260121;',
      '2026-01-01T09:00',
      ['2026-01-01', '2026-01-11', '2026-01-21', '2026-01-31'],
    ],
    [
      'freq=weekly;interval=2;wkst=su;byday=tu,th',
      '2026-09-01T09:00',
      ['2026-09-01', '2026-09-03', '2026-09-15', '2026-09-17'],
    ],
    [
      'FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,SU;WKST=MO',
      '2026-08-04T09:00',
      ['2026-08-04', '2026-08-09', '2026-08-18', '2026-08-23'],
    ],
    [
      'FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,SU;WKST=SU',
      '2026-08-04T09:00',
      ['2026-08-04', '2026-08-16', '2026-08-18', '2026-08-30'],
    ],
    [
      'FREQ=MONTHLY;BYDAY=1FR,-1MO',
      '2026-01-01T09:00',
      ['2026-01-02', '2026-01-26', '2026-02-06', '2026-02-23'],
    ],
    ['FREQ=MONTHLY;BYMONTHDAY=31', '2026-01-01T09:00', ['2026-01-31', '2026-03-31', '2026-05-31']],
    ['FREQ=MONTHLY;BYMONTHDAY=-1', '2026-01-01T09:00', ['2026-01-31', '2026-02-28', '2026-03-31']],
    ['FREQ=MONTHLY', '2026-01-31T09:00', ['2026-01-31', '2026-03-31', '2026-05-31']],
    [
      'FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1',
      '2026-01-01T09:00',
      ['2026-01-30', '2026-02-27', '2026-03-31'],
    ],
    ['FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13', '2026-01-01T09:00', ['2026-02-13', '2026-03-13', '2026-11-13']],
    ['FREQ=YEARLY', '2024-02-29T09:00', ['2024-02-29', '2028-02-29', '2032-02-29']],
    ['FREQ=YEARLY;BYDAY=20MO', '2026-01-01T09:00', ['2026-05-18', '2027-05-17']],
    ['FREQ=YEARLY;BYWEEKNO=20', '2026-01-01T09:00', ['2026-05-14', '2027-05-20']],
    ['FREQ=YEARLY;BYWEEKNO=1,53;BYDAY=MO', '2026-01-01T09:00', ['2026-12-28', '2027-01-04', '2028-01-03']],
    ['FREQ=YEARLY;BYYEARDAY=1,-1', '2026-01-01T09:00', ['2026-01-01', '2026-12-31', '2027-01-01']],
    [
      'FREQ=YEARLY;INTERVAL=4;BYMONTH=11;BYDAY=TU;BYMONTHDAY=2,3,4,5,6,7,8',
      '2024-11-05T09:00',
      ['2024-11-05', '2028-11-07', '2032-11-02'],
    ],
    [
      'FREQ=HOURLY;INTERVAL=3;COUNT=3',
      '2026-01-01T22:15',
      ['2026-01-01T22:15', '2026-01-02T01:15', '2026-01-02T04:15'],
    ],
    [
      'FREQ=MINUTELY;INTERVAL=90;BYHOUR=0,1',
      '2026-01-01T00:00',
      ['2026-01-01T00:00', '2026-01-01T01:30', '2026-01-02T00:00', '2026-01-02T01:30'],
    ],
    [
      'FREQ=SECONDLY;INTERVAL=27;BYMINUTE=0;BYSECOND=0',
      '2026-01-01T00:00',
      ['2026-01-01T00:00', '2026-01-01T03:00', '2026-01-01T06:00'],
    ],
    [
      'FREQ=DAILY;BYHOUR=8,9;BYMINUTE=0,30;BYSETPOS=2,-1',
      '2026-01-01T00:00',
      ['2026-01-01T08:30', '2026-01-01T09:30', '2026-01-02T08:30'],
    ],
  ])('%s from %s', (rule, start, expected) => {
    expect(walls(rule, start, expected.length)).toEqual(expected)
  })

  it('end with COUNT or UNTIL, by the clocks of the zone', () => {
    const madrid = { timezone: 'Europe/Madrid' }
    const counted = scheduleOf({ rrule: 'FREQ=DAILY;COUNT=3', dtstart: '2026-03-28T02:30:00' }, madrid)
    expect(ticksAfter(counted, '2026-01-01T00:00Z', 9)).toEqual([
      '2026-03-28T01:30:00Z',
      '2026-03-29T01:00:00Z',
      '2026-03-30T00:30:00Z',
    ])
    const local = scheduleOf(
      { rrule: 'FREQ=DAILY;UNTIL=20260102T093000', dtstart: '2026-01-01T09:30:00' },
      madrid,
    )
    expect(iso(local.prev(Date.UTC(2030, 0, 1)) ?? 0)).toBe('2026-01-02T08:30:00Z')
    const utc = scheduleOf(
      { rrule: 'FREQ=DAILY;UNTIL=20260102T082959Z', dtstart: '2026-01-01T09:30:00' },
      madrid,
    )
    expect(iso(utc.prev(Date.UTC(2030, 0, 1)) ?? 0)).toBe('2026-01-01T08:30:00Z')
    const date = scheduleOf({ rrule: 'FREQ=DAILY;UNTIL=20260102', dtstart: '2026-01-01T09:30:00' }, madrid)
    expect(date.count(0, Date.UTC(2030, 0, 1))).toBe(2)
  })

  it('begin at dtstart, given as a local time or as an instant, or else when the job was registered', () => {
    const madrid = { timezone: 'Europe/Madrid', anchor: Date.parse('2026-05-04T10:11:12.345Z') }
    const expected = ['2026-05-04T10:11:12Z', '2026-05-05T10:11:12Z']
    for (const dtstart of [
      undefined,
      '2026-05-04T12:11:12',
      '2026-05-04T10:11:12Z',
      '2026-05-04T06:11:12.999-04:00',
    ]) {
      expect(
        ticksAfter(scheduleOf({ rrule: 'FREQ=DAILY', dtstart }, madrid), '2026-05-01T00:00Z', 2),
      ).toEqual(expected)
    }
    // It is a tick only if the rule names it.
    const mondays = scheduleOf({ rrule: 'FREQ=WEEKLY;BYDAY=MO', dtstart: '2026-05-05T09:00:00' })
    expect(ticksAfter(mondays, '2026-05-01T00:00Z', 1)).toEqual(['2026-05-11T09:00:00Z'])
  })

  it('follow the wall below a day, and are fixed times where they name hours', () => {
    const madrid = { timezone: 'Europe/Madrid' }
    const hourly = scheduleOf({ rrule: 'FREQ=HOURLY', dtstart: '2026-01-01T00:30:00' }, madrid)
    expect(ticksAfter(hourly, '2026-10-25T00:00Z', 3)).toEqual([
      '2026-10-25T00:30:00Z',
      '2026-10-25T01:30:00Z',
      '2026-10-25T02:30:00Z',
    ])
    expect(ticksAfter(hourly, '2026-03-29T00:00Z', 2)).toEqual([
      '2026-03-29T00:30:00Z',
      '2026-03-29T01:30:00Z',
    ])
    const named = scheduleOf({ rrule: 'FREQ=HOURLY;BYHOUR=2', dtstart: '2026-01-01T00:30:00' }, madrid)
    expect(ticksAfter(named, '2026-10-25T00:00Z', 2)).toEqual([
      '2026-10-25T00:30:00Z',
      '2026-10-26T01:30:00Z',
    ])
    expect(ticksAfter(named, '2026-03-29T00:00Z', 1)).toEqual(['2026-03-29T01:00:00Z'])
  })
})

describe('refusals of a recurrence rule', () => {
  it.each<[string, RegExp, RegExp]>([
    ['DAILY', /'DAILY' is not a part/, /FREQ=MONTHLY/],
    ['INTERVAL=2', /no FREQ/, /FREQ=/],
    ['FREQ=DALY', /'DALY' is not a frequency/, /Did you mean DAILY/],
    ['FREQ=DAILY;BYDAYS=MO', /'BYDAYS' is not a part/, /Did you mean BYDAY/],
    ['FREQ=DAILY;FREQ=DAILY', /FREQ stands twice/, /once/],
    ['FREQ=DAILY;INTERVAL=0', /'0' is not a value of INTERVAL \(1 to 1000000\)/, /./],
    ['FREQ=DAILY;INTERVAL=1,2', /INTERVAL has more than one value/, /./],
    ['FREQ=DAILY;COUNT=100001', /'100001' is not a value of COUNT \(1 to 100000\)/, /./],
    ['FREQ=DAILY;COUNT=2;UNTIL=20260101', /COUNT and UNTIL/, /one of them/],
    ['FREQ=DAILY;UNTIL=2026-01-01', /not an end for UNTIL/, /20261231/],
    ['FREQ=DAILY;UNTIL=20260230', /'30' in '2026-02-30' is not a day/, /UNTIL/],
    ['FREQ=DAILY;UNTIL=20260228T250000', /not an hour/, /./],
    ['FREQ=DAILY;BYHOUR=24', /'24' is not a value of BYHOUR \(0 to 23\)/, /./],
    ['FREQ=YEARLY;BYMONTHDAY=32', /\(1 to 31, or -31 to -1\)/, /./],
    ['FREQ=WEEKLY;BYDAY=XX', /'XX' in BYDAY is not a weekday/, /SU MO/],
    ['FREQ=WEEKLY;BYDAY=1MO', /counted weekday .* no meaning in a WEEKLY rule/, /MONTHLY or YEARLY/],
    ['FREQ=MONTHLY;BYDAY=0MO', /counts no weekday/, /1MO/],
    ['FREQ=YEARLY;BYWEEKNO=1;BYDAY=1MO', /beside BYWEEKNO/, /BYDAY=MO/],
    ['FREQ=MONTHLY;BYWEEKNO=1', /BYWEEKNO has no meaning in a MONTHLY rule/, /YEARLY/],
    ['FREQ=WEEKLY;BYMONTHDAY=1', /BYMONTHDAY has no meaning in a WEEKLY rule/, /./],
    ['FREQ=DAILY;BYYEARDAY=1', /BYYEARDAY has no meaning in a DAILY rule/, /./],
    ['FREQ=DAILY;BYSETPOS=1', /there is none/, /BYDAY/],
    ['FREQ=DAILY;WKST=8', /WKST is not a weekday/, /./],
    ['DTSTART=20260101T000000;FREQ=DAILY', /'DTSTART' is not a part/, /`dtstart`/],
    ['FREQ=DAILY;EXDATE=20260101', /'EXDATE' is not a part/, /`exclude`/],
  ])('%s', (rrule, message, hint) => {
    const error = refusalOf(() => scheduleOf({ rrule }))
    expect(error.code).toBe('invalid_schedule')
    expect(error.errors[0]).toMatchObject({
      pointer: '/schedule/rrule',
      message: expect.stringMatching(message) as string,
      hint: expect.stringMatching(hint) as string,
    })
  })

  it.each([
    'FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30',
    'FREQ=HOURLY;INTERVAL=2;BYHOUR=1',
    'FREQ=DAILY;INTERVAL=7;BYDAY=MO',
    'FREQ=MONTHLY;BYMONTHDAY=1;BYSETPOS=2',
    'FREQ=SECONDLY;BYSETPOS=2;BYMINUTE=0',
    'FREQ=MINUTELY;INTERVAL=1440;BYHOUR=3;BYMINUTE=7',
    'FREQ=SECONDLY;INTERVAL=1000000;BYMONTH=2;BYMONTHDAY=29;BYHOUR=0;BYMINUTE=0;BYSECOND=1',
    'FREQ=YEARLY;INTERVAL=1000000;BYMONTH=1;BYDAY=MO;BYMONTHDAY=2',
  ])('%s, which never fires, takes a bounded search', (rrule) => {
    const before = effort.steps
    const error = refusalOf(() => scheduleOf({ rrule, dtstart: '2026-01-01T00:00:00' }))
    expect(error.code).toBe('schedule_never_fires')
    expect(error.errors[0]?.pointer).toBe('/schedule')
    expect(effort.steps - before).toBeLessThan(longestSearch)
  })
})

const weekdays = ['SU', 'MO', 'TU', 'WE', 'TH', 'FR', 'SA']
const int = (min: number, max: number) => fc.integer({ min, max })
const list = (value: fc.Arbitrary<number | string>) =>
  fc.uniqueArray(value, { minLength: 1, maxLength: 3 }).map((values) => values.join())
const signed = (max: number) => int(1, max).chain((value) => fc.constantFrom(value, value, -value))
const part = (name: string, value: fc.Arbitrary<string>, chance: number) =>
  fc.oneof(
    { weight: 10 - chance, arbitrary: fc.constant('') },
    { weight: chance, arbitrary: value.map((text) => `;${name}=${text}`) },
  )
const byDay = (counted: boolean) =>
  counted
    ? fc.oneof(
        list(fc.constantFrom(...weekdays)),
        list(fc.tuple(signed(4), fc.constantFrom(...weekdays)).map(([nth, code]) => `${nth}${code}`)),
      )
    : list(fc.constantFrom(...weekdays))

/** Rules about days; those about hours and less are compared with dateutil elsewhere. */
const dayRules = fc
  .constantFrom('YEARLY', 'MONTHLY', 'WEEKLY', 'DAILY')
  .chain((frequency) =>
    fc
      .tuple(
        part('INTERVAL', int(2, 5).map(String), 4),
        part('BYMONTH', list(int(1, 12)), 3),
        part('BYMONTHDAY', list(signed(31)), frequency === 'WEEKLY' ? 0 : 3),
        part('BYDAY', byDay(frequency === 'MONTHLY'), 4),
        part('BYHOUR', list(int(0, 23)), 3),
        part('BYMINUTE', list(int(0, 59)), 2),
        part('COUNT', int(1, 30).map(String), 2),
      )
      .map((parts) => `FREQ=${frequency}${parts.join('')}`),
  )

describe('rrule-temporal, a second oracle', () => {
  it('has the same readings', () => {
    let compared = 0
    fc.assert(
      fc.property(dayRules, int(Date.UTC(1990, 0, 1), Date.UTC(2050, 0, 1)), (rule, begin) => {
        const start = Math.floor(begin / 1000) * 1000
        const ours = recurrence(rule, start)
        const compact = new Date(start).toISOString().slice(0, 19).replaceAll(/[-:]/g, '')
        const theirs = new RRuleTemporal({ rruleString: `DTSTART:${compact}Z\nRRULE:${rule}` })
        const end = start + 1500 * day
        const expected = theirs
          .between(new Date(start - 1000), new Date(end), true)
          .slice(0, 40)
          .map((found) => found.epochMilliseconds)
        const found: number[] = []
        let wall = ours.nextWall(start - 1)
        while (wall !== null && wall <= end && found.length < 40) {
          found.push(wall)
          wall = ours.nextWall(wall)
        }
        expect(found).toEqual(expected)
        compared += found.length
      }),
      { numRuns: 250 },
    )
    expect(compared).toBeGreaterThan(1000)
  })
})

describe('next, previous and count of a recurrence', () => {
  const shorter = fc
    .tuple(
      fc.constantFrom('HOURLY', 'MINUTELY', 'SECONDLY'),
      part('INTERVAL', int(2, 500).map(String), 6),
      part('BYMONTH', list(int(1, 12)), 2),
      part('BYMONTHDAY', list(signed(31)), 2),
      part('BYYEARDAY', list(signed(366)), 1),
      part('BYHOUR', list(int(0, 23)), 3),
      part('BYMINUTE', list(int(0, 59)), 3),
      part('BYSECOND', list(int(0, 59)), 3),
      part('COUNT', int(1, 5000).map(String), 2),
    )
    .map(([frequency, ...parts]) => `FREQ=${frequency}${parts.join('')}`)
  const positioned = fc
    .tuple(
      fc.constantFrom('YEARLY;BYMONTH=3,10', 'MONTHLY', 'WEEKLY', 'DAILY'),
      byDay(false),
      list(int(0, 23)),
      list(signed(3)),
    )
    .map(([frequency, days, hours, at]) => `FREQ=${frequency};BYDAY=${days};BYHOUR=${hours};BYSETPOS=${at}`)

  it('agree with each other', () => {
    fc.assert(
      fc.property(
        fc.oneof(dayRules, shorter, positioned),
        int(Date.UTC(1990, 0, 1), Date.UTC(2050, 0, 1)),
        int(0, 3 * 365 * day),
        fc.oneof(int(0, 2 * day), int(0, 800 * day)),
        (rule, begin, later, length) => {
          const start = Math.floor(begin / 1000) * 1000
          const walked = recurrence(rule, start)
          const from = start + later
          const to = from + length
          const found: number[] = []
          for (
            let wall = walked.nextWall(from - 1);
            wall !== null && wall <= to;
            wall = walked.nextWall(wall)
          ) {
            found.push(wall)
            if (found.length > 300) return
          }
          const back: number[] = []
          for (
            let wall = walked.prevWall(to);
            wall !== null && wall >= from;
            wall = walked.prevWall(wall - 1)
          )
            back.unshift(wall)
          expect(back).toEqual(found)
          expect(walked.countWalls(from, to)).toBe(found.length)
        },
      ),
      { numRuns: 250, interruptAfterTimeLimit: 20_000 },
    )
  })

  it.each([
    'FREQ=MINUTELY;BYMONTHDAY=29,-16,3;BYYEARDAY=72;COUNT=2245',
    'FREQ=HOURLY;INTERVAL=403;BYMONTHDAY=24;BYYEARDAY=67,223,19;COUNT=4301',
    'FREQ=SECONDLY;INTERVAL=301;BYMONTH=3;BYYEARDAY=34;BYHOUR=14,23,8;COUNT=1006',
    'FREQ=HOURLY;BYMONTH=2;BYMONTHDAY=29;BYHOUR=4,3;COUNT=3000',
  ])('does not look for the last of %s in every year to come', (rule) => {
    const counted = recurrence(rule, Date.UTC(2026, 0, 1))
    const before = effort.steps
    counted.prevWall(Date.UTC(2030, 0, 1))
    expect(effort.steps - before).toBeLessThan(longestSearch)
  })

  it('turn a large COUNT into its last reading', () => {
    const start = Date.UTC(2026, 0, 1)
    for (const [rule, seconds] of [
      ['FREQ=SECONDLY;COUNT=100000', 1],
      ['FREQ=MINUTELY;INTERVAL=7;COUNT=100000', 420],
      ['FREQ=DAILY;COUNT=50000', 86_400],
      ['FREQ=HOURLY;INTERVAL=24;COUNT=5000', 86_400],
    ] as const) {
      const count = Number(rule.split('COUNT=')[1])
      const last = start + (count - 1) * seconds * 1000
      const counted = recurrence(rule, start)
      expect(counted.prevWall(Date.UTC(9999, 0, 1))).toBe(last)
      expect(counted.nextWall(last)).toBeNull()
      expect(counted.countWalls(0, Date.UTC(9999, 0, 1))).toBe(count)
    }
  })
})
