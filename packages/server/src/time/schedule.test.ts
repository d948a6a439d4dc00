import { CarillonError } from '@carillon/contract'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseSchedule, type Schedule } from './schedule.js'

const anchor = Date.parse('2026-01-01T00:00:00Z')
const read = (schedule: string, timezone = 'UTC') => parseSchedule({ schedule, timezone, anchor })

function ticks(schedule: Schedule, after: string, count: number): string[] {
  const found: string[] = []
  let tick = schedule.next(Date.parse(after))
  while (tick !== null && found.length < count) {
    found.push(new Date(tick).toISOString().replace('.000Z', 'Z'))
    tick = schedule.next(tick)
  }
  return found
}

function refused(action: () => unknown): CarillonError {
  try {
    action()
  } catch (error) {
    if (error instanceof CarillonError) return error
    throw error
  }
  throw new Error('nothing was refused')
}

describe('cron', () => {
  it('fires the weekly report at nine in New York, before and after the clocks change', () => {
    const report = read('0 9 * * 1', 'America/New_York')
    expect(report.kind).toBe('cron')
    expect(ticks(report, '2026-10-20T00:00:00Z', 3)).toEqual([
      '2026-10-26T13:00:00Z',
      '2026-11-02T14:00:00Z',
      '2026-11-09T14:00:00Z',
    ])
  })

  it.each([
    ['*/15 * * * *', ['2026-01-01T00:15:00Z', '2026-01-01T00:30:00Z']],
    ['30 */10 * * * *', ['2026-01-01T00:00:30Z', '2026-01-01T00:10:30Z']],
    ['0 12 L * *', ['2026-01-31T12:00:00Z', '2026-02-28T12:00:00Z']],
    ['0 12 LW * *', ['2026-01-30T12:00:00Z', '2026-02-27T12:00:00Z']],
    ['0 12 15W * *', ['2026-01-15T12:00:00Z', '2026-02-16T12:00:00Z']],
    ['0 12 ? JAN MON#2', ['2026-01-12T12:00:00Z', '2027-01-11T12:00:00Z']],
    ['0 12 * * friL', ['2026-01-30T12:00:00Z', '2026-02-27T12:00:00Z']],
    ['0 0 * * FRI-SUN', ['2026-01-02T00:00:00Z', '2026-01-03T00:00:00Z']],
    ['0 0 13 * 5', ['2026-01-02T00:00:00Z', '2026-01-09T00:00:00Z']],
    ['0 0 29 2 *', ['2028-02-29T00:00:00Z', '2032-02-29T00:00:00Z']],
    ['0 0 1 * */1', ['2026-02-01T00:00:00Z', '2026-03-01T00:00:00Z']],
    ['@hourly', ['2026-01-01T01:00:00Z', '2026-01-01T02:00:00Z']],
    ['@Daily', ['2026-01-02T00:00:00Z', '2026-01-03T00:00:00Z']],
    ['@midnight', ['2026-01-02T00:00:00Z', '2026-01-03T00:00:00Z']],
    ['@weekly', ['2026-01-04T00:00:00Z', '2026-01-11T00:00:00Z']],
    ['@monthly', ['2026-02-01T00:00:00Z', '2026-03-01T00:00:00Z']],
    ['@yearly', ['2027-01-01T00:00:00Z', '2028-01-01T00:00:00Z']],
    [' @annually ', ['2027-01-01T00:00:00Z', '2028-01-01T00:00:00Z']],
  ])('reads %s', (rule, expected) => {
    expect(ticks(read(rule), '2026-01-01T00:00:00Z', 2)).toEqual(expected)
  })

  it('shares one object among equal rules of one zone, however they are spelled', () => {
    expect(read('0  9 * * mon', 'Europe/Madrid')).toBe(read('0 9 * * 1', 'Europe/Madrid'))
    expect(read('0 9 * * 1', 'Europe/Madrid')).not.toBe(read('0 9 * * 1', 'Europe/Lisbon'))
  })

  it('has no tick after the end of time', () => {
    expect(read('* * * * *').next(8_640_000_000_000_000)).toBeNull()
  })
})

describe('interval', () => {
  it.each([
    ['@every 5m', 300_000],
    ['@every 1h30m', 5_400_000],
    ['@every 90s', 90_000],
    ['@every 1d', 86_400_000],
    ['@EVERY  1D2H3M4S', 93_784_000],
  ])('reads %s and counts from the anchor', (rule, period) => {
    const schedule = read(rule)
    expect(schedule.kind).toBe('interval')
    expect(schedule.next(anchor - 10 * period)).toBe(anchor + period)
    expect(schedule.next(anchor)).toBe(anchor + period)
    expect(schedule.next(anchor + period - 1)).toBe(anchor + period)
    expect(schedule.next(anchor + period)).toBe(anchor + 2 * period)
  })

  it('answers with the first multiple after any instant', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1e6 }), fc.integer({ min: 0, max: 1e12 }), (seconds, by) => {
        const tick = read(`@every ${seconds}s`).next(anchor + by) ?? 0
        expect((tick - anchor) % (seconds * 1000)).toBe(0)
        expect(tick - (anchor + by)).toBeGreaterThan(0)
        expect(tick - (anchor + by)).toBeLessThanOrEqual(seconds * 1000)
      }),
    )
  })
})

describe('instant', () => {
  it.each([
    ['2026-12-01T09:00:00Z', 'Europe/Madrid', '2026-12-01T09:00:00.000Z'],
    ['2026-12-01T09:00:00+01:00', 'UTC', '2026-12-01T08:00:00.000Z'],
    ['2026-12-01t09:00:00.123456z', 'UTC', '2026-12-01T09:00:00.123Z'],
    ['2026-12-01T09:00-0530', 'UTC', '2026-12-01T14:30:00.000Z'],
    ['2026-12-01T09:00:00.5', 'Europe/Madrid', '2026-12-01T08:00:00.500Z'],
    ['2026-07-01T09:00', 'America/New_York', '2026-07-01T13:00:00.000Z'],
    ['2026-07-01T09:00', 'Pacific/Kiritimati', '2026-06-30T19:00:00.000Z'],
    // Jumped over: the first instant after the jump, without the fraction.
    ['2026-03-08T02:30:00.250', 'America/New_York', '2026-03-08T07:00:00.000Z'],
    ['2026-10-04T02:15:00', 'Australia/Lord_Howe', '2026-10-03T15:30:00.000Z'],
    ['2011-12-30T12:00:00', 'Pacific/Apia', '2011-12-30T10:00:00.000Z'],
    // Shown twice: the first of both.
    ['2026-11-01T01:30:00', 'America/New_York', '2026-11-01T05:30:00.000Z'],
    ['2026-10-25T02:30:00.007', 'Europe/Madrid', '2026-10-25T00:30:00.007Z'],
  ])('reads %s in %s', (text, zone, expected) => {
    const schedule = read(text, zone)
    const instant = Date.parse(expected)
    expect(schedule.kind).toBe('once')
    expect(new Date(schedule.next(0) ?? 0).toISOString()).toBe(expected)
    expect(schedule.next(instant - 1)).toBe(instant)
    expect(schedule.next(instant)).toBeNull()
  })
})

describe('refusals', () => {
  it.each([
    ['61 * * * *', /'61' is not a minute \(0 to 59\)/, /list/],
    ['* 24 * * *', /'24' is not an hour \(0 to 23\)/, /range/],
    ['* * 0 * *', /'0' is not a day of the month/, /./],
    ['* * * FOO *', /'FOO' is not a month \(1 to 12, or JAN to DEC\)/, /./],
    ['* * * * 8', /'8' is not a day of the week/, /./],
    ['1* * * * *', /'1\*' is not a minute/, /./],
    ['*/0 * * * *', /'0' in '\*\/0' is not a step/, /1 to 60/],
    ['1,,2 * * * *', /empty entry/, /comma/],
    ['0 0 * * 1#6', /names no weekday/, /1#5/],
    ['0 9 * *', /has 4 fields; a cron expression has 5 or 6/, /minute, hour/],
    ['daily', /has 1 field;/, /minute, hour/],
    ['every 5 minutes', /has 3 fields/, /^An interval is written as "@every 5m"\.$/],
    ['every hour', /has 2 fields/, /"@every 1h"/],
    ['0 9 * * Monday', /'MONDAY' is not a day of the week/, /^Did you mean "MON"\?/],
    ['0 9 * sept *', /'SEPT' is not a month/, /^Did you mean "SEP"\?/],
    ['0 0 9 * * 1 2026', /has 7 fields/, /year field is not supported/],
    ['CRON_TZ=UTC 0 9 * * *', /holds no time zone/, /timezone/],
    ['@dayly', /'@dayly' is not a known nickname/, /"@daily"/],
    ['@evry 5m', /nickname/, /"@every"/],
    ['@constructor', /nickname/, /@hourly/],
    ['@reboot', /no single start/, /@every/],
    ['@every', /no duration/, /1h30m/],
    ['@every 5', /has no unit/, /90s/],
    ['@every 500ms', /smallest unit is the second/, /90s/],
    ['@every 5x', /not a duration/, /90s/],
    ['@every 0s', /no time at all/, /90s/],
    ['@every 9999999999d', /longer than/, /90s/],
    ['2026-12-01', /no time of day/, /2026-12-01T09:00:00Z/],
    ['2026-12-01 09:00', /not an ISO-8601/, /T09/],
    ['2026-13-01T09:00Z', /'13' .* not a month/, /./],
    ['2026-02-30T09:00Z', /'30' .* not a day of that month \(01 to 28\)/, /./],
    ['2026-12-01T24:00Z', /not an hour/, /./],
    ['2026-12-01T09:60Z', /not a minute/, /./],
    ['2026-12-01T09:00:60Z', /not a second/, /./],
    ['2026-12-01T09:00+24:00', /offset/, /./],
    ['1969-12-01T09:00Z', /before 1970/, /./],
    ['', /empty/, /@every/],
    ['0\t9 * * 1', /'0\\u\{9\}9 \* \* 1' holds a control character/, /spaces/],
    ['* '.repeat(2000), /4000 characters/, /./],
  ])('refuses %j as invalid_schedule, saying what and how to correct it', (schedule, message, hint) => {
    const error = refused(() => read(schedule))
    expect(error.code).toBe('invalid_schedule')
    expect(error.errors).toHaveLength(1)
    expect(error.errors[0]?.pointer).toBe('/schedule')
    expect(error.errors[0]?.message).toMatch(message)
    expect(error.errors[0]?.hint).toMatch(hint)
  })

  it.each([
    ['0 0 30 2 *', /day 30, and February never has more than 29 days/],
    ['0 0 31 4,JUN *', /day 31, and April, June never has more than 30 days/],
    ['* * * 31W 2 *', /February/],
  ])('refuses %s, which never fires, with the reason', (schedule, message) => {
    const error = refused(() => read(schedule))
    expect(error.code).toBe('schedule_never_fires')
    expect(error.errors[0]).toMatchObject({
      pointer: '/schedule',
      message: expect.stringMatching(message) as string,
    })
  })

  it.each([
    ['Europe/Madird', 'Europe/Madrid'],
    ['America/NewYork', 'America/New_York'],
    ['New York', 'America/New_York'],
    ['Asia/Kolkatta', 'Asia/Kolkata'],
    ['US/Estern', 'US/Eastern'],
    ['UTX', 'UTC'],
  ])('suggests a zone for %s', (timezone, suggestion) => {
    const error = refused(() => read('@daily', timezone))
    expect(error.code).toBe('invalid_timezone')
    expect(error.errors[0]?.pointer).toBe('/timezone')
    expect(error.errors[0]?.message).toContain(timezone)
    expect(error.errors[0]?.hint).toContain(`"${suggestion}"`)
  })

  it.each(['', '+01:00', 'Nowhere/Atall/Ever', 'UTC\n', 'x'.repeat(5000)])(
    'refuses the zone %j',
    (timezone) => {
      expect(refused(() => read('@every 5m', timezone)).code).toBe('invalid_timezone')
    },
  )

  it.each(['UTC', 'GMT', 'US/Eastern', 'Asia/Kolkata', 'Europe/Kyiv', 'europe/madrid'])(
    'takes the zone %s',
    (zone) => {
      expect(read('@daily', zone).next(anchor)).not.toBeNull()
    },
  )

  it('answers any text with a schedule or an error of the catalogue', () => {
    const alphabet = fc.constantFrom(
      ...'0123456789*/-,#LW?@ TZ:.+meveryMON'.split(''),
      '\u0000',
      '\u2028',
      '\ud800',
      'ß',
    )
    const texts = fc.oneof(
      fc.string(),
      fc.string({ unit: 'binary' }),
      fc.string({ unit: alphabet, maxLength: 30 }),
    )
    fc.assert(
      fc.property(texts, texts, (schedule, timezone) => {
        for (const zone of ['Europe/Madrid', timezone]) {
          try {
            read(schedule, zone).next(anchor)
          } catch (error) {
            expect(error).toBeInstanceOf(CarillonError)
          }
        }
      }),
      { numRuns: 1000 },
    )
  })
})
