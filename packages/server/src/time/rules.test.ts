import { describe, expect, it } from 'vitest'
import { refusalOf, scheduleOf, ticksAfter } from '../../test/kit/ticks.js'
import { effort } from './effort.js'
import { jitterMs } from './jitter.js'
import { parseSchedule, type ScheduleInput, type ScheduleSource } from './schedule.js'

describe('rules as objects', () => {
  it.each<[ScheduleInput, string, string[]]>([
    [{ cron: '0 9 * * MON' }, 'cron', ['2026-01-05T09:00:00Z', '2026-01-12T09:00:00Z']],
    [{ cron: '0 9 13 * FRI', day_match: 'and' }, 'cron', ['2026-02-13T09:00:00Z', '2026-03-13T09:00:00Z']],
    [{ cron: '0 9 13 * FRI', day_match: 'or' }, 'cron', ['2026-01-02T09:00:00Z', '2026-01-09T09:00:00Z']],
    [{ every: '90m' }, 'interval', ['2026-01-01T01:30:00Z', '2026-01-01T03:00:00Z']],
    [{ every: 3600 }, 'interval', ['2026-01-01T01:00:00Z', '2026-01-01T02:00:00Z']],
    [
      { every: '1d', anchor: '2025-12-31T18:00:00Z' },
      'interval',
      ['2026-01-01T18:00:00Z', '2026-01-02T18:00:00Z'],
    ],
    [
      { every: '1d', anchor: '2026-02-01T18:00:00Z' },
      'interval',
      ['2026-02-02T18:00:00Z', '2026-02-03T18:00:00Z'],
    ],
    [{ at: '2026-12-01T09:00:00Z' }, 'once', ['2026-12-01T09:00:00Z']],
    [
      { rrule: 'FREQ=MONTHLY;BYDAY=-1FR;BYHOUR=9;BYMINUTE=0' },
      'rrule',
      ['2026-01-30T09:00:00Z', '2026-02-27T09:00:00Z'],
    ],
    [['@every 6h'], 'interval', ['2026-01-01T06:00:00Z', '2026-01-01T12:00:00Z']],
    [['0 9 * * *', { cron: '0  9 * * *' }], 'cron', ['2026-01-01T09:00:00Z', '2026-01-02T09:00:00Z']],
    [
      ['0 0 * * *', '0 */12 * * *', { at: '2026-01-01T06:00:00Z' }],
      'union',
      ['2026-01-01T06:00:00Z', '2026-01-01T12:00:00Z', '2026-01-02T00:00:00Z'],
    ],
  ])('%j is a schedule of kind %s', (schedule, kind, ticks) => {
    expect(scheduleOf(schedule).kind).toBe(kind)
    expect(ticksAfter(scheduleOf(schedule), '2026-01-01T00:00Z', ticks.length)).toEqual(ticks)
  })

  it.each<[unknown, string, RegExp, RegExp]>([
    [{ cron: '0 25 * * *' }, '/schedule/cron', /'25' is not an hour/, /./],
    [{ cron: 5 }, '/schedule/cron', /`cron` is not a text/, /one of/],
    [{ cron: '0 9 * * *', day_match: 'xor' }, '/schedule/day_match', /"or" or "and"/, /both/],
    [{ cron: '0 9 * * *', dayMatch: 'and' }, '/schedule/dayMatch', /'dayMatch' is not a field/, /day_match/],
    [{ crom: '0 9 * * *' }, '/schedule', /says no time/, /cron/],
    [{ cron: '0 9 * * *', at: '2026-12-01T09:00:00Z' }, '/schedule', /both `cron` and `at`/, /array/],
    [{ every: 0.5 }, '/schedule/every', /not a whole number of seconds/, /5m/],
    [{ every: 'soon' }, '/schedule/every', /not a duration/, /90s/],
    [{ every: '5m', anchor: '2026-01-01' }, '/schedule/anchor', /no time of day/, /./],
    [{ at: '10000-01-01T00:00:00Z' }, '/schedule/at', /year .* is after 9999/, /./],
    [{ at: '1970-01-01T00:00:00+14:00' }, '/schedule/at', /before 1970 in UTC/, /./],
    [{ at: '9999-12-31T23:00:00-02:00' }, '/schedule/at', /after 9999 in UTC/, /./],
    [['0 9 * * *', { at: 'noon' }], '/schedule/1/at', /'noon' is not an ISO-8601/, /./],
    [['0 9 * * *', '@dayly'], '/schedule/1', /nickname/, /@daily/],
    [[], '/schedule', /0 rules/, /one to 50/],
    [Array.from({ length: 51 }, () => '@daily'), '/schedule', /51 rules/, /one to 50/],
    [[['0 9 * * *']], '/schedule/0', /a text or an object/, /cron/],
    [42, '/schedule', /a text or an object/, /cron/],
    [null, '/schedule', /a text or an object/, /cron/],
    [undefined, '/schedule', /a text or an object/, /cron/],
    ['FREQ=DAILY', '/schedule', /is a recurrence rule/, /as an object/],
  ])('refuses %j at %s', (schedule, pointer, message, hint) => {
    const error = refusalOf(() => scheduleOf(schedule as ScheduleInput))
    expect(error.code).toBe('invalid_schedule')
    expect(error.errors[0]).toMatchObject({
      pointer,
      message: expect.stringMatching(message) as string,
      hint: expect.stringMatching(hint) as string,
    })
  })

  it.each([
    ['dst_gap', 'run_before', /run_after, skip/],
    ['dst_overlap', 'second', /first, last, both/],
    ['on_excluded', 'move', /next_business_day/],
  ])('refuses %s: %s', (name, value, hint) => {
    const error = refusalOf(() => scheduleOf('@daily', { [name]: value }))
    expect(error.errors[0]).toMatchObject({
      pointer: `/${name}`,
      hint: expect.stringMatching(hint) as string,
    })
  })
})

describe('equal schedules', () => {
  const source = (more: Partial<ScheduleSource>): ScheduleSource => ({
    schedule: '0 9 * * 1',
    timezone: 'Europe/Madrid',
    anchor: 0,
    ...more,
  })
  const same = (left: Partial<ScheduleSource>, right: Partial<ScheduleSource>) =>
    parseSchedule(source(left)) === parseSchedule(source(right))

  it('are one object, in whatever words', () => {
    expect(same({}, { anchor: 5, dst_gap: 'run_after', dst_overlap: null, exclude: [] })).toBe(true)
    expect(same({}, { schedule: { cron: '0 9 * * MON' } })).toBe(true)
    expect(same({ schedule: ['@daily', '@hourly'] }, { schedule: ['0 * * * *', '0 0 * * *'] })).toBe(true)
    const dates = { holidays: { dates: ['2026-12-25'] } }
    const again = { holidays: { dates: ['2026-12-25'] } }
    expect(
      same({ exclude: ['holidays'], calendars: dates }, { exclude: ['holidays'], calendars: again }),
    ).toBe(true)
  })

  it('are not those that differ in zone, policy or exclusions', () => {
    expect(same({}, { timezone: 'Europe/Lisbon' })).toBe(false)
    expect(same({}, { dst_gap: 'skip' })).toBe(false)
    expect(same({}, { dst_overlap: 'last' })).toBe(false)
    expect(same({}, { exclude: ['2026-12-25'] })).toBe(false)
    expect(
      same({ exclude: ['2026-12-25'] }, { exclude: ['2026-12-25'], on_excluded: 'next_business_day' }),
    ).toBe(false)
    const one = { holidays: { dates: ['2026-12-25'] } }
    const other = { holidays: { dates: ['2026-12-26'] } }
    expect(same({ exclude: ['holidays'], calendars: one }, { exclude: ['holidays'], calendars: other })).toBe(
      false,
    )
    // A text that looks like an object is not one.
    expect(() => parseSchedule(source({ schedule: JSON.stringify({ cron: '0 9 * * 1' }) }))).toThrow()
  })

  it('answer a question that was asked before without a search', () => {
    const schedule = scheduleOf('17 4 * * *', { timezone: 'Asia/Kathmandu' })
    const tick = schedule.next(Date.UTC(2026, 0, 1)) ?? 0
    const before = effort.steps
    expect(schedule.next(Date.UTC(2026, 0, 1))).toBe(tick)
    expect(schedule.next(tick - 1)).toBe(tick)
    expect(effort.steps).toBe(before)
  })
})

describe('the jitter of a job', () => {
  it('is its own, the same each time, and spread evenly over the range', () => {
    const jobs = Array.from({ length: 10_000 }, (_, index) => `job_${index.toString(36).padStart(26, '0')}`)
    const tenths = new Array<number>(10).fill(0)
    for (const job of jobs) {
      const jitter = jitterMs(job, 60)
      expect(jitterMs(job, 60)).toBe(jitter)
      expect(Number.isInteger(jitter) && jitter >= 0 && jitter < 60_000).toBe(true)
      tenths[Math.floor(jitter / 6000)] = (tenths[Math.floor(jitter / 6000)] ?? 0) + 1
    }
    for (const count of tenths) expect(Math.abs(count - 1000)).toBeLessThan(150)
    expect(jitterMs('job_a', 0)).toBe(0)
    expect(jitterMs('job_7zzzzzzzzzzzzzzzzzzzzzzzzz', 3600)).toBe(
      jitterMs('job_7zzzzzzzzzzzzzzzzzzzzzzzzz', 3600),
    )
  })
})
