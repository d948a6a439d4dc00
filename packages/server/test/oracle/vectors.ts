// What others publish about their rules: the examples of manuals and the cases of test suites, as facts. Where Carillon
// answers otherwise, the row says what it answers and why.

export interface Vector {
  rule: string
  zone?: string
  after: string
  /** The ticks that follow, as published. */
  theirs: string[]
  /** The ticks that follow in Carillon, where they are others. */
  ours?: string[]
  why?: string
}

const newYork = 'America/New_York'
const lordHowe = 'Australia/Lord_Howe'
const athens = 'Europe/Athens'
const gapRuns = 'a time inside a gap runs at its end by default (dst_gap: run_after), nobody loses a day'
const gapOnce = 'the times inside a gap are one tick, at its end; they are not moved one by one'
const overlapOnce = 'a fixed time that is shown twice runs once by default (dst_overlap: first)'
const hourlyGap = 'an hourly rule adds nothing in a gap: the next hour is as far away as always'
const steppedDays = 'a stepped day field is a restricted one, so either day field is enough'

export const published: Record<string, Vector[]> = {
  'crontab(5) of Vixie cron': [
    {
      rule: '30 4 1,15 * 5',
      after: '2026-01-01T00:00Z',
      theirs: ['2026-01-01T04:30Z', '2026-01-02T04:30Z', '2026-01-09T04:30Z', '2026-01-15T04:30Z'],
    },
    {
      rule: '23 0-23/2 * * *',
      after: '2026-01-01T00:00Z',
      theirs: ['2026-01-01T00:23Z', '2026-01-01T02:23Z', '2026-01-01T04:23Z'],
    },
    { rule: '5 4 * * sun', after: '2026-01-01T00:00Z', theirs: ['2026-01-04T04:05Z', '2026-01-11T04:05Z'] },
    { rule: '0 22 * * 1-5', after: '2026-01-02T22:00Z', theirs: ['2026-01-05T22:00Z'] },
    { rule: '15 14 1 * *', after: '2026-01-01T14:15Z', theirs: ['2026-02-01T14:15Z'] },
    {
      rule: '0 4 */2 * SUN',
      after: '2012-07-14T04:00Z',
      theirs: ['2012-07-15T04:00Z', '2012-07-29T04:00Z'],
      ours: ['2012-07-15T04:00Z', '2012-07-17T04:00Z'],
      why: steppedDays,
    },
  ],
  'the tutorial of Quartz': [
    { rule: '0 15 10 ? * *', after: '2026-01-01T00:00Z', theirs: ['2026-01-01T10:15Z'] },
    {
      rule: '0 0/5 14,18 * * ?',
      after: '2026-01-01T14:50Z',
      theirs: ['2026-01-01T14:55Z', '2026-01-01T18:00Z'],
    },
    {
      rule: '0 10,44 14 ? 3 WED',
      after: '2026-01-01T00:00Z',
      theirs: ['2026-03-04T14:10Z', '2026-03-04T14:44Z'],
    },
    { rule: '0 15 10 L * ?', after: '2028-01-31T10:15Z', theirs: ['2028-02-29T10:15Z', '2028-03-31T10:15Z'] },
    {
      rule: '0 15 10 L-2 * ?',
      after: '2026-01-30T00:00Z',
      theirs: ['2026-02-26T10:15Z', '2026-03-29T10:15Z'],
    },
    {
      rule: '0 15 10 ? * FRI#3',
      after: '2026-01-01T00:00Z',
      theirs: ['2026-01-16T10:15Z', '2026-02-20T10:15Z'],
    },
    {
      rule: '0 0 12 1/5 * ?',
      after: '2026-01-26T12:00Z',
      theirs: ['2026-01-31T12:00Z', '2026-02-01T12:00Z'],
    },
    {
      rule: '0 0 12 15W * ?',
      after: '2026-08-01T00:00Z',
      theirs: ['2026-08-14T12:00Z', '2026-09-15T12:00Z'],
    },
    { rule: '0 0 12 1W * ?', after: '2026-08-01T00:00Z', theirs: ['2026-08-03T12:00Z', '2026-09-01T12:00Z'] },
    { rule: '0 0 12 LW * ?', after: '2026-05-01T00:00Z', theirs: ['2026-05-29T12:00Z', '2026-06-30T12:00Z'] },
    {
      rule: '0 15 10 ? * 6L',
      after: '2026-01-01T00:00Z',
      theirs: ['2026-01-30T10:15Z'],
      ours: ['2026-01-31T10:15Z'],
      why: 'weekdays count as in cron (0 and 7 are Sunday, 6 is Saturday), not from 1 as in Quartz; names are the same',
    },
  ],
  'robfig/cron': [
    {
      rule: '0 5/15 * * * *',
      after: '2012-07-09T15:05Z',
      theirs: ['2012-07-09T15:20Z', '2012-07-09T15:35Z'],
    },
    { rule: '15/35 20-35/15 1/2 * * *', after: '2012-07-09T23:35:51Z', theirs: ['2012-07-10T01:20:15Z'] },
    { rule: '0 0 0 9 Apr-Oct ?', after: '2012-07-09T23:35Z', theirs: ['2012-08-09T00:00Z'] },
    {
      rule: '0 0 0 29 Feb ?',
      after: '2012-07-09T23:35Z',
      theirs: ['2016-02-29T00:00Z', '2020-02-29T00:00Z'],
    },
    { rule: '0 * * 1,15 * Sun', after: '2012-06-14T23:59Z', theirs: ['2012-06-15T00:00Z'] },
    {
      rule: '0 0 0 */5 Oct Mon',
      after: '2012-07-09T23:35Z',
      theirs: ['2012-10-01T00:00Z', '2013-10-21T00:00Z'],
      ours: ['2012-10-01T00:00Z', '2012-10-06T00:00Z'],
      why: steppedDays,
    },
    {
      rule: '0 0 * * * ?',
      zone: newYork,
      after: '2012-03-11T00:00-05:00',
      theirs: ['2012-03-11T01:00-05:00', '2012-03-11T03:00-04:00', '2012-03-11T04:00-04:00'],
    },
    {
      rule: '0 0 * * * ?',
      zone: newYork,
      after: '2012-11-04T00:00-04:00',
      theirs: ['2012-11-04T01:00-04:00', '2012-11-04T01:00-05:00', '2012-11-04T02:00-05:00'],
    },
    {
      rule: '0 0 1 * * ?',
      zone: newYork,
      after: '2012-03-11T00:00-05:00',
      theirs: ['2012-03-11T01:00-05:00', '2012-03-12T01:00-04:00'],
    },
    {
      rule: '0 0 2 * * ?',
      zone: newYork,
      after: '2012-03-11T00:00-05:00',
      theirs: ['2012-03-12T02:00-04:00'],
      ours: ['2012-03-11T03:00-04:00', '2012-03-12T02:00-04:00'],
      why: gapRuns,
    },
    {
      rule: '0 0 1 * * ?',
      zone: newYork,
      after: '2012-11-04T00:00-04:00',
      theirs: ['2012-11-04T01:00-04:00', '2012-11-04T01:00-05:00'],
      ours: ['2012-11-04T01:00-04:00', '2012-11-05T01:00-05:00'],
      why: overlapOnce,
    },
    {
      rule: '0 0 2 * * ?',
      zone: newYork,
      after: '2012-11-04T00:00-04:00',
      theirs: ['2012-11-04T02:00-05:00', '2012-11-05T02:00-05:00'],
    },
  ],
  Cronos: [
    {
      rule: '0 */30 * * * *',
      zone: newYork,
      after: '2016-03-13T01:30-05:00',
      theirs: ['2016-03-13T03:00-04:00', '2016-03-13T03:30-04:00'],
    },
    {
      rule: '0 1-58 */2 * * *',
      zone: newYork,
      after: '2016-03-13T01:58-05:00',
      theirs: ['2016-03-13T03:00-04:00', '2016-03-13T04:01-04:00'],
    },
    {
      rule: '0 0,30 2 * * *',
      zone: newYork,
      after: '2016-03-12T02:30-05:00',
      theirs: ['2016-03-13T03:00-04:00'],
    },
    {
      rule: '0 30 0-23/2 * * *',
      zone: newYork,
      after: '2016-03-13T00:30-05:00',
      theirs: ['2016-03-13T03:00-04:00'],
    },
    {
      rule: '0 30 * * 3 SUN#2',
      zone: newYork,
      after: '2016-03-13T01:59-05:00',
      theirs: ['2016-03-13T03:00-04:00'],
      ours: ['2016-03-13T03:30-04:00'],
      why: hourlyGap,
    },
    {
      rule: '30 0 L * *',
      zone: 'Asia/Amman',
      after: '2017-03-30T23:59:59.999+02:00',
      theirs: ['2017-03-31T01:00+03:00'],
    },
    {
      rule: '30 0 LW * *',
      zone: 'Asia/Amman',
      after: '2018-03-29T23:59+02:00',
      theirs: ['2018-03-30T01:00+03:00'],
    },
    {
      rule: '30 0 L * *',
      zone: 'Asia/Amman',
      after: '2014-10-31T00:00+03:00',
      theirs: ['2014-10-31T00:30+03:00', '2014-11-30T00:30+02:00'],
    },
    {
      rule: '30 23 * * *',
      zone: 'America/Santiago',
      after: '2017-05-13T23:59:59.999-03:00',
      theirs: ['2017-05-14T23:30-04:00'],
    },
    {
      rule: '0 1-58 */2 * * *',
      zone: lordHowe,
      after: '2017-10-01T01:59+10:30',
      theirs: ['2017-10-01T02:30+11:00'],
    },
    {
      rule: '0 30 * * * *',
      zone: lordHowe,
      after: '2017-04-02T01:00+11:00',
      theirs: ['2017-04-02T01:30+11:00', '2017-04-02T01:30+10:30', '2017-04-02T02:30+10:30'],
    },
    {
      rule: '0 0 2-3 * * *',
      zone: lordHowe,
      after: '2017-04-02T00:30+11:00',
      theirs: ['2017-04-02T02:00+10:30'],
    },
    {
      rule: '0 0,30 1 * * *',
      zone: lordHowe,
      after: '2017-04-02T01:15+11:00',
      theirs: ['2017-04-02T01:30+11:00', '2017-04-03T01:00+10:30'],
    },
    {
      rule: '0 */30 1 * * *',
      zone: newYork,
      after: '2016-11-06T01:00-04:00',
      theirs: ['2016-11-06T01:30-04:00', '2016-11-06T01:00-05:00'],
      ours: ['2016-11-06T01:30-04:00', '2016-11-07T01:00-05:00'],
      why: 'only an hour field of every hour makes a rule follow the wall; a step in the minutes of one hour does not',
    },
    {
      rule: '0 0 13 * 5',
      after: '2026-01-01T00:00Z',
      theirs: ['2026-02-13T00:00Z', '2026-03-13T00:00Z'],
      ours: ['2026-01-02T00:00Z', '2026-01-09T00:00Z'],
      why: "two restricted day fields follow cron's OR; a plus before the weekday asks for both",
    },
    { rule: '0 0 13 * +5', after: '2026-01-01T00:00Z', theirs: ['2026-02-13T00:00Z', '2026-03-13T00:00Z'] },
    {
      rule: '0 23-1 * * *',
      after: '2026-01-01T00:30Z',
      theirs: ['2026-01-01T01:00Z', '2026-01-01T23:00Z', '2026-01-02T00:00Z'],
    },
    {
      rule: '0 0 1 DEC-FEB *',
      after: '2026-02-01T00:00Z',
      theirs: ['2026-12-01T00:00Z', '2027-01-01T00:00Z'],
    },
  ],
  'cron-parser': [
    {
      rule: '0 * * * *',
      zone: athens,
      after: '2016-03-27T02:00:01+02:00',
      theirs: ['2016-03-27T04:00+03:00', '2016-03-27T05:00+03:00'],
    },
    {
      rule: '0 3 * * *',
      zone: athens,
      after: '2016-03-27T02:00:01+02:00',
      theirs: ['2016-03-27T04:00+03:00', '2016-03-28T03:00+03:00'],
    },
    {
      rule: '*/20 3 * * *',
      zone: athens,
      after: '2016-03-27T02:00:01+02:00',
      theirs: ['2016-03-27T04:00+03:00', '2016-03-27T04:20+03:00', '2016-03-27T04:40+03:00'],
      ours: ['2016-03-27T04:00+03:00', '2016-03-28T03:00+03:00'],
      why: gapOnce,
    },
    {
      rule: '0 * * * *',
      zone: athens,
      after: '2016-10-30T02:00:01+03:00',
      theirs: ['2016-10-30T03:00+03:00', '2016-10-30T03:00+02:00', '2016-10-30T04:00+02:00'],
    },
    {
      rule: '*/20 3 * * *',
      zone: athens,
      after: '2016-10-30T02:00:01+03:00',
      theirs: [
        '2016-10-30T03:00+03:00',
        '2016-10-30T03:20+03:00',
        '2016-10-30T03:40+03:00',
        '2016-10-31T03:00+02:00',
      ],
    },
  ],
  croner: [
    {
      rule: '0 30 1 * * *',
      zone: newYork,
      after: '2025-11-02T04:00Z',
      theirs: ['2025-11-02T05:30Z', '2025-11-03T06:30Z'],
    },
    {
      rule: '0 30 1 * * *',
      zone: 'Europe/London',
      after: '2025-10-26T00:31Z',
      theirs: ['2025-10-27T01:30Z'],
    },
    {
      rule: '0 30 2 * * *',
      zone: newYork,
      after: '2025-03-09T06:00Z',
      theirs: ['2025-03-09T07:30Z'],
      ours: ['2025-03-09T07:00Z'],
      why: 'a time inside a gap runs at the first instant after it, not as long after it as it lay inside',
    },
    {
      rule: '* * * * *',
      zone: 'America/Los_Angeles',
      after: '2025-11-02T08:58Z',
      theirs: ['2025-11-02T08:59Z', '2025-11-02T10:00Z'],
      ours: ['2025-11-02T08:59Z', '2025-11-02T09:00Z'],
      why: 'every minute is every minute: no hour without a tick when clocks go back',
    },
  ],
  'Open Cron Pattern Specification': [
    { rule: '0 12 1 * MON', after: '2025-09-30T12:00Z', theirs: ['2025-10-01T12:00Z', '2025-10-06T12:00Z'] },
    { rule: '0 12 1-31 * MON', after: '2025-10-06T12:00Z', theirs: ['2025-10-07T12:00Z'] },
    { rule: '0 12 1 * +MON', after: '2025-08-31T00:00Z', theirs: ['2025-09-01T12:00Z', '2025-12-01T12:00Z'] },
    {
      rule: '5-59/15 9 * * *',
      after: '2025-03-10T09:05Z',
      theirs: ['2025-03-10T09:20Z', '2025-03-10T09:35Z'],
    },
    { rule: '30 8 * jan Mon', after: '2025-01-01T00:00Z', theirs: ['2025-01-06T08:30Z'] },
    { rule: '0 0 L * *', after: '2025-02-01T00:00Z', theirs: ['2025-02-28T00:00Z'] },
    { rule: '0 0 * * TUE#3', after: '2025-06-01T00:00Z', theirs: ['2025-06-17T00:00Z'] },
    { rule: '0 12 15W * *', after: '2025-06-01T00:00Z', theirs: ['2025-06-16T12:00Z'] },
    { rule: '0 12 1W * *', after: '2025-02-01T00:00Z', theirs: ['2025-02-03T12:00Z'] },
    { rule: '30 15 10 * * *', after: '2025-03-10T10:15:29Z', theirs: ['2025-03-10T10:15:30Z'] },
    { rule: '@weekly', after: '2025-10-01T00:00Z', theirs: ['2025-10-05T00:00Z'] },
    {
      rule: '30 2 * * *',
      zone: newYork,
      after: '2023-03-12T00:00-05:00',
      theirs: ['2023-03-13T02:30-04:00'],
      ours: ['2023-03-12T03:00-04:00'],
      why: gapRuns,
    },
  ],
}

/** Expressions that others refuse or take, and what Carillon does. */
export const readings: [
  rule: string,
  theirs: 'takes' | 'refuses',
  ours: 'takes' | 'refuses',
  why?: string,
][] = [
  ['60 0 * * *', 'refuses', 'refuses'],
  ['0 0 /30 * *', 'refuses', 'refuses'],
  ['*/0 * * * *', 'refuses', 'refuses'],
  ['0 12 1-15W * *', 'refuses', 'refuses'],
  ['0 12 +1 * MON', 'refuses', 'refuses'],
  ['? 12 * * *', 'refuses', 'refuses'],
  ['@daily 0 0 * * *', 'refuses', 'refuses'],
  ['15 10 * * *', 'takes', 'takes'],
  ['30 15 10 * * *', 'takes', 'takes'],
  [
    '0 0 10-5 * *',
    'refuses',
    'takes',
    'a range that runs over the end is clear: from the 10th on, and up to the 5th',
  ],
  ['0 0/15 * * *', 'refuses', 'takes', 'a step from a number is clear: from there to the end of the field'],
  ['@Daily', 'refuses', 'takes', 'nobody means anything else by it'],
  [
    '* * 31 2 *',
    'takes',
    'refuses',
    'a job that can never run is refused when it is registered, with the reason',
  ],
  [
    '0 15 10 * * * 2025',
    'takes',
    'refuses',
    'a year is a bound of the job (starts_at, ends_at), not a field',
  ],
  ['@reboot', 'takes', 'refuses', 'a fleet has no single start'],
]
