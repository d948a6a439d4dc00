import { describe as group, expect, it } from 'vitest'
import { describe, describeRules } from './describe.js'
import type { ScheduleInput, ScheduleSource } from './source.js'

function words(schedule: ScheduleInput): string {
  return describeRules({ schedule, timezone: 'Europe/Madrid', anchor: 0 })
}

group('a cron expression in words', () => {
  it.each([
    ['30 2 * * *', 'At 02:30 every day'],
    ['*/5 * * * *', 'Every 5 minutes'],
    ['* * * * *', 'Every minute'],
    ['0 * * * *', 'Every hour'],
    ['15 * * * *', 'Every hour at minute 15'],
    ['5,20 * * * *', 'At minutes 5 and 20 of every hour'],
    ['*/7 * * * *', 'At every 7th minute of every hour'],
    ['0 */2 * * *', 'Every 2 hours'],
    ['30 */6 * 1,7 *', 'Every 6 hours at minute 30 in January and July'],
    ['0 */5 * * *', 'At 00:00, 05:00, 10:00, 15:00 and 20:00 every day'],
    ['0 9-17 * * *', 'Every hour from 09:00 to 17:00 every day'],
    ['* 22-2 * * *', 'Every minute from 22:00 to 02:59 every day'],
    ['*/15 9-17 * * MON-FRI', 'Every 15 minutes from 09:00 to 17:45 from Monday to Friday'],
    ['1-10 */3 * * *', 'At minutes 1 to 10 of every 3rd hour every day'],
    ['*/10 * * * * *', 'Every 10 seconds'],
    ['30 * * * * *', 'Every minute at second 30'],
    ['30 0 9 * * *', 'At 09:00:30 every day'],
    ['*/20 1-8 3,5 * * *', 'Every 20 seconds in minutes 1 to 8 of hours 3 and 5 every day'],
    ['0 9 * * 1', 'At 09:00 on Monday'],
    ['0 9,12 * * FRI-MON', 'At 09:00 and 12:00 from Friday to Monday'],
    ['0 9 * * 0,3', 'At 09:00 on Wednesday and Sunday'],
    ['0 9 * * 0-6', 'At 09:00 every day'],
    ['0 0 * NOV-FEB *', 'At 00:00 every day from November to February'],
    ['*/5 * * 6 *', 'Every 5 minutes in June'],
    ['0 0 1 1 *', 'At 00:00 on the 1st of January'],
    ['0 9 1,15 * *', 'At 09:00 on the 1st and 15th of the month'],
    ['0 9 11-13 * *', 'At 09:00 on the 11th to 13th of the month'],
    ['0 18 LW * *', 'At 18:00 on the last weekday of the month'],
    ['0 9 L-3 * *', 'At 09:00 on the 3rd day before the last of the month'],
    ['0 9 15W * *', 'At 09:00 on the weekday nearest to the 15th of the month'],
    ['0 9 * * MON#1', 'At 09:00 on the first Monday of the month'],
    ['0 9 * JAN FRIL', 'At 09:00 on the last Friday of January'],
    ['0 9 13 * FRI', 'At 09:00 on the 13th of the month or on Friday'],
    ['0 9 13 * +FRI', 'At 09:00 on the 13th of the month, if that is a Friday'],
    ['0 9 1-7 * +1-5', 'At 09:00 on the 1st to 7th of the month, if that is Monday to Friday'],
  ])('%s', (cron, text) => {
    expect(words(cron)).toBe(text)
  })

  it.each([
    ['@hourly', '0 * * * *'],
    ['@daily', '0 0 * * *'],
    ['@midnight', '0 0 * * *'],
    ['@weekly', '0 0 * * 0'],
    ['@monthly', '0 0 1 * *'],
    ['@yearly', '0 0 1 1 *'],
    ['@Annually', '0 0 1 1 *'],
  ])('%s reads as %s', (nickname, cron) => {
    expect(words(nickname)).toBe(words(cron))
  })
})

group('other rules in words', () => {
  it.each<[ScheduleInput, string]>([
    ['@every 90m', 'Every 1 hour 30 minutes, counted from the registration'],
    [{ every: 86_400 }, 'Every day, counted from the registration'],
    [{ every: '5m', anchor: '2026-01-01T00:00:00Z' }, 'Every 5 minutes, counted from 2026-01-01T00:00:00Z'],
    ['2026-12-01T09:00:00Z', 'Once, at 2026-12-01 09:00:00 UTC'],
    [{ at: '2026-12-01T09:00' }, 'Once, at 2026-12-01 09:00'],
    [['0 0 * * MON', '@every 1h'], 'At 00:00 on Monday; and every hour, counted from the registration'],
  ])('%j', (schedule, text) => {
    expect(words(schedule)).toBe(text)
  })

  it.each([
    ['FREQ=DAILY', undefined, 'Every day at the time of its registration'],
    ['FREQ=MONTHLY;BYDAY=2TU', '2026-01-01T09:00', 'Every month on the second Tuesday at 09:00'],
    ['FREQ=YEARLY', '2026-05-04T07:00', 'Every year on the 4th of May at 07:00'],
    ['FREQ=WEEKLY', '2026-05-04T07:00', 'Every week on Monday at 07:00'],
    [
      'FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,WE;BYHOUR=9;COUNT=10',
      '2026-01-01T00:30',
      'Every 2 weeks on Monday and Wednesday at 09:30, 10 times',
    ],
    [
      'RRULE:FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1;UNTIL=20271231',
      '2026-01-01T18:00',
      'Every month on the last weekday at 18:00, until 2027-12-31',
    ],
    ['FREQ=MONTHLY;BYMONTHDAY=1,-1', '2026-01-01T18:00', 'Every month on the 1st and the last day at 18:00'],
    ['FREQ=MINUTELY;INTERVAL=90', undefined, 'Every 1 hour 30 minutes'],
    [
      'RRULE:FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO',
      undefined,
      'By the recurrence rule FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO',
    ],
  ])('%s from %s', (rrule, dtstart, text) => {
    expect(words({ rrule, dtstart })).toBe(text)
  })
})

group('a definition in one line', () => {
  const line = (more: Partial<ScheduleSource>) =>
    describe({ schedule: '30 2 * * *', timezone: 'Europe/Madrid', anchor: 0, ...more })

  it('has the zone and what happens when clocks change', () => {
    expect(line({})).toBe('At 02:30 every day · Europe/Madrid · dst: gap=run_after overlap=first')
    expect(line({ dst_gap: 'skip', dst_overlap: 'both' })).toMatch(/ · dst: gap=skip overlap=both$/)
  })

  it('leaves the clocks out where they have no say', () => {
    expect(line({ timezone: 'UTC' })).toBe('At 02:30 every day · UTC')
    expect(line({ schedule: '@every 1d' })).toBe('Every day, counted from the registration · Europe/Madrid')
  })

  it('has exclusions and bounds', () => {
    const exclude = ['2026-12-25', '2026-12-31']
    expect(line({ timezone: 'UTC', exclude, starts_at: '2026-01-01T00:00:00Z' })).toBe(
      'At 02:30 every day · UTC · not on 2026-12-25, 2026-12-31 · from 2026-01-01T00:00:00Z',
    )
    expect(line({ timezone: 'UTC', exclude, on_excluded: 'next_business_day' })).toBe(
      'At 02:30 every day · UTC · moved from 2026-12-25, 2026-12-31 to the next business day',
    )
  })
})
