import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { refusalOf, scheduleOf } from '../../test/kit/ticks.js'
import { effort, longestSearch } from './effort.js'
import { checkFrequency, type ScheduleInput, type ScheduleSource } from './schedule.js'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour
const anchor = Date.parse('2026-01-01T00:00:00Z')

describe('checkFrequency', () => {
  it.each([
    ['* * * * * *', 60_000, '2026-01-01T00:00:01Z', '2026-01-01T00:00:02Z'],
    ['@every 30s', 60_000, '2026-01-01T00:00:30Z', '2026-01-01T00:01:00Z'],
    ['0,59 */2 * * *', 3_540_001, '2026-01-01T02:00:00Z', '2026-01-01T02:59:00Z'],
    ['59 23 * * 5', 604_800_001, '2026-01-02T23:59:00Z', '2026-01-09T23:59:00Z'],
    ['0 0 1 * *', 30 * 86_400_000, '2026-02-01T00:00:00Z', '2026-03-01T00:00:00Z'],
  ])('refuses %s under a minimum of %d ms, naming both ticks', (rule, minimum, first, second) => {
    const error = refusalOf(() => checkFrequency(scheduleOf(rule), anchor, minimum))
    expect(error.code).toBe('schedule_too_frequent')
    expect(error.errors[0]?.message).toContain(first)
    expect(error.errors[0]?.message).toContain(second)
  })

  it.each([
    ['* * * * *', 60_000],
    ['@every 1m', 60_000],
    ['2026-12-01T09:00:00Z', 86_400_000],
    ['0 9 * * 1', 604_800_000],
  ])('takes %s under a minimum of %d ms', (rule, minimum) => {
    expect(() => checkFrequency(scheduleOf(rule), anchor, minimum)).not.toThrow()
  })
})

describe('checkFrequency of an interval', () => {
  it('needs no look at its ticks', () => {
    effort.steps = 0
    checkFrequency(scheduleOf('@every 61s'), anchor, minute)
    expect(effort.steps).toBe(0)
  })

  it('finds the ones that days off bring closer together', () => {
    const moved = scheduleOf({ every: '7h' }, { exclude: ['2026-01-10'], on_excluded: 'next_business_day' })
    expect(refusalOf(() => checkFrequency(moved, anchor, 7 * hour)).code).toBe('schedule_too_frequent')
  })
})

describe('checkFrequency of a rule whose close ticks are rare', () => {
  it.each<[ScheduleInput, Partial<ScheduleSource>, number, string, string]>([
    // The last second of December and the first of January: once a year.
    [{ cron: '0,59 0,59 0,23 1,31 1,12 *' }, {}, 2000, '2026-12-31T23:59:59Z', '2027-01-01T00:00:00Z'],
    // The 29th of February beside the 1st of March, next in 2028.
    ['0 0,23 29,1 2,3 *', {}, 2 * hour, '2028-02-29T23:00:00Z', '2028-03-01T00:00:00Z'],
    // Hours are an hour apart but for the day on which one of them is missing.
    [
      '30 1,3 * * *',
      { timezone: 'Europe/Madrid' },
      90 * minute,
      '2026-03-29T00:30:00Z',
      '2026-03-29T01:30:00Z',
    ],
    [
      '15 2,3 * * *',
      { timezone: 'Europe/Madrid' },
      30 * minute,
      '2026-03-29T01:00:00Z',
      '2026-03-29T01:15:00Z',
    ],
    // Both readings of an overlap: 02:55 is followed by 02:05 once more.
    [
      '5,55 2 * * *',
      { timezone: 'Europe/Madrid', dst_overlap: 'both' },
      20 * minute,
      '2026-10-25T00:55:00Z',
      '2026-10-25T01:05:00Z',
    ],
    // Half past the hour comes twice within half an hour on Lord Howe Island.
    ['30 * * * *', { timezone: 'Australia/Lord_Howe' }, hour, '2026-04-04T14:30:00Z', '2026-04-04T15:00:00Z'],
    // Not next spring, but when the last Sunday of March is the 25th.
    [
      '30 1,3 25 3 *',
      { timezone: 'Europe/Madrid' },
      90 * minute,
      '2029-03-25T00:30:00Z',
      '2029-03-25T01:30:00Z',
    ],
  ])('%j %j under a minimum of %d ms', (schedule, options, minimum, first, second) => {
    const before = effort.steps
    const error = refusalOf(() => checkFrequency(scheduleOf(schedule, options), anchor, minimum))
    expect(error.code).toBe('schedule_too_frequent')
    expect(error.message).toContain(`${first} and ${second}`)
    expect(effort.steps - before).toBeLessThan(longestSearch)
  })

  it('takes the same rules where that does not happen', () => {
    expect(() => checkFrequency(scheduleOf('30 1,3 * * *'), anchor, 90 * minute)).not.toThrow()
    expect(() =>
      checkFrequency(scheduleOf('5,55 2 * * *', { timezone: 'Europe/Madrid' }), anchor, 20 * minute),
    ).not.toThrow()
    const summer = { timezone: 'Europe/Madrid', starts_at: '2026-04-01T00:00Z', ends_at: '2026-10-01T00:00Z' }
    expect(() => checkFrequency(scheduleOf('30 1,3 * * *', summer), anchor, 90 * minute)).not.toThrow()
    const without = { timezone: 'Europe/Madrid', exclude: ['2026-03-29'], ends_at: '2027-01-01T00:00Z' }
    expect(() => checkFrequency(scheduleOf('30 1,3 * * *', without), anchor, 90 * minute)).not.toThrow()
  })
})

describe('checkFrequency of several rules', () => {
  it('finds where they come close', () => {
    const union = scheduleOf(['0 9 * * *', '@every 7h'])
    const error = refusalOf(() => checkFrequency(union, anchor, 90 * minute))
    expect(error.message).toContain('2026-01-03T08:00:00Z and 2026-01-03T09:00:00Z')
  })

  it('finds ticks that come close by moving', () => {
    const moving = scheduleOf(['0 9 * * FRI', '30 9 * * MON'], {
      exclude: ['2026-12-25'],
      on_excluded: 'next_business_day',
    })
    expect(refusalOf(() => checkFrequency(moving, anchor, hour)).message).toContain(
      '2026-12-28T09:00:00Z and 2026-12-28T09:30:00Z',
    )
  })

  it('finds a recurrence rule that is too frequent', () => {
    const recurring = scheduleOf({
      rrule: 'FREQ=MONTHLY;BYHOUR=9;BYMINUTE=0,1',
      dtstart: '2026-01-05T09:00:00',
    })
    expect(refusalOf(() => checkFrequency(recurring, anchor, 2 * minute)).message).toContain(
      '2026-01-05T09:00:00Z and 2026-01-05T09:01:00Z',
    )
  })
})

describe('checkFrequency of any cron rule', () => {
  it('refuses exactly those with two close ticks in four years', () => {
    const number = (max: number) => fc.integer({ min: 0, max })
    const field = (max: number) =>
      fc.uniqueArray(number(max), { minLength: 1, maxLength: 2 }).map((values) => values.join())
    const rules = fc
      .tuple(
        field(59),
        field(23),
        fc.constantFrom('*', '1', 'L', '1,31'),
        fc.constantFrom('*', '3', '10,11'),
        fc.constantFrom('*', '*', '0', 'SUN#1'),
      )
      .map((fields) => fields.join(' '))
    const options = fc.record({
      timezone: fc.constantFrom('UTC', 'Europe/Madrid', 'Australia/Lord_Howe'),
      dst_overlap: fc.constantFrom('first' as const, 'last' as const, 'both' as const),
    })
    fc.assert(
      fc.property(rules, options, fc.integer({ min: minute, max: 26 * hour }), (rule, option, minimum) => {
        const schedule = scheduleOf(rule, option)
        let close = false
        let previous = schedule.next(anchor)
        while (previous !== null && previous < anchor + 4 * 366 * day && !close) {
          const tick = schedule.next(previous)
          if (tick === null) break
          close = tick - previous < minimum
          previous = tick
        }
        if (close)
          expect(refusalOf(() => checkFrequency(schedule, anchor, minimum)).code).toBe(
            'schedule_too_frequent',
          )
        // What is refused though four years have no such pair must name a later one.
        else {
          try {
            checkFrequency(schedule, anchor, minimum)
          } catch (error) {
            const [first = '', second = ''] = String(error).match(/\d{4}-[\d:.T-]+Z/g) ?? []
            expect(Date.parse(first)).toBeGreaterThan(anchor + 3 * 366 * day)
            expect(schedule.next(Date.parse(first))).toBe(Date.parse(second))
            expect(Date.parse(second) - Date.parse(first)).toBeLessThan(minimum)
          }
        }
      }),
      { numRuns: 200 },
    )
  })
})
