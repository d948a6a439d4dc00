import { describe, expect, it } from 'vitest'
import { refusalOf } from '../../test/kit/ticks.js'
import { mostPreviewed, preview } from './preview.js'
import type { ScheduleSource } from './source.js'

const madrid = 'Europe/Madrid'

function previewOf(source: Partial<ScheduleSource>, from: string, n: number) {
  const after = Date.parse(from)
  return preview({ schedule: '30 2 * * *', timezone: madrid, anchor: after, ...source }, { from: after, n })
}

function notesOf(source: Partial<ScheduleSource>, from: string, n: number): (string | null)[] {
  return previewOf(source, from, n).ticks.map(({ note }) => note)
}

describe('a preview', () => {
  it('shows each tick in UTC and as the clocks of the zone show it', () => {
    expect(previewOf({}, '2026-10-24T00:00:00Z', 3)).toEqual({
      ticks: [
        { at: '2026-10-24T00:30:00Z', local: '2026-10-24T02:30:00+02:00', note: null },
        {
          at: '2026-10-25T00:30:00Z',
          local: '2026-10-25T02:30:00+02:00',
          note: '02:30 happens twice; runs once (first)',
        },
        { at: '2026-10-26T01:30:00Z', local: '2026-10-26T02:30:00+01:00', note: null },
      ],
      warnings: [],
    })
  })

  it('shows milliseconds where a tick has some', () => {
    const { ticks } = previewOf({ schedule: '2026-12-01T09:00:00.250Z' }, '2026-01-01T00:00:00Z', 1)
    expect(ticks[0]).toMatchObject({
      at: '2026-12-01T09:00:00.250Z',
      local: '2026-12-01T10:00:00.250+01:00',
    })
  })

  it('begins strictly after the instant', () => {
    const [first] = previewOf({}, '2026-10-24T00:30:00Z', 1).ticks
    expect(first?.at).toBe('2026-10-25T00:30:00Z')
  })

  it.each([-1, 0.5, mostPreviewed + 1])('has no %s ticks', (n) => {
    expect(() => previewOf({}, '2026-10-24T00:00:00Z', n)).toThrow(RangeError)
  })

  it('shows up to a thousand ticks', () => {
    expect(previewOf({ schedule: '* * * * *' }, '2026-10-24T12:00:00Z', mostPreviewed).ticks).toHaveLength(
      1000,
    )
  })

  it('refuses what the engine refuses', () => {
    const error = refusalOf(() => previewOf({ schedule: '61 * * * *' }, '2026-10-24T00:00:00Z', 1))
    expect(error.code).toBe('invalid_schedule')
  })
})

describe('the note of a time that is shown twice', () => {
  it('says which of the two runs', () => {
    expect(notesOf({ dst_overlap: 'last' }, '2026-10-24T12:00:00Z', 1)).toEqual([
      '02:30 happens twice; runs once (last)',
    ])
  })

  it('counts both where both run', () => {
    const { ticks } = previewOf({ dst_overlap: 'both' }, '2026-10-24T12:00:00Z', 3)
    expect(ticks).toEqual([
      {
        at: '2026-10-25T00:30:00Z',
        local: '2026-10-25T02:30:00+02:00',
        note: '02:30 happens twice; runs both times (first of two)',
      },
      {
        at: '2026-10-25T01:30:00Z',
        local: '2026-10-25T02:30:00+01:00',
        note: '02:30 happens twice; runs both times (second of two)',
      },
      { at: '2026-10-26T01:30:00Z', local: '2026-10-26T02:30:00+01:00', note: null },
    ])
  })

  it('is there for an hourly rule, which follows the clocks', () => {
    expect(notesOf({ schedule: '0 * * * *' }, '2026-10-24T23:30:00Z', 3)).toEqual([
      '02:00 happens twice; runs both times (first of two)',
      '02:00 happens twice; runs both times (second of two)',
      null,
    ])
  })

  it('is not there for an interval or an instant, also beside a rule about another time', () => {
    const schedule = ['@every 1h', '2026-10-25T00:45:00Z', '0 12 * * *']
    expect(notesOf({ schedule }, '2026-10-24T23:30:00Z', 4)).toEqual([null, null, null, null])
  })
})

describe('the note of a time that the clocks jump over', () => {
  it.each<[string, Partial<ScheduleSource>, string]>([
    ['one time', {}, '02:30 does not exist (clocks jump from 02:00 to 03:00); runs at 03:00'],
    [
      'several times',
      { schedule: '*/10 2 * * *' },
      '02:00, 02:10, 02:20 and 3 more do not exist (clocks jump from 02:00 to 03:00); run once at 03:00',
    ],
    [
      'a single local time',
      { schedule: { at: '2026-03-29T02:15' } },
      '02:15 does not exist (clocks jump from 02:00 to 03:00); runs at 03:00',
    ],
    [
      'a recurrence rule with an end',
      { schedule: { rrule: 'FREQ=DAILY;UNTIL=20260401T000000Z', dtstart: '2026-03-01T02:45' } },
      '02:45 does not exist (clocks jump from 02:00 to 03:00); runs at 03:00',
    ],
  ])('says where it runs instead: %s', (_what, source, note) => {
    expect(notesOf(source, '2026-03-28T12:00:00Z', 1)).toEqual([note])
  })

  it('has dates where a whole day is missing', () => {
    const source = { schedule: '0 9 * * *', timezone: 'Pacific/Apia' }
    expect(notesOf(source, '2011-12-29T20:00:00Z', 2)).toEqual([
      '09:00 on 2011-12-30 does not exist (clocks jump from 00:00 on 2011-12-30 to 00:00 on 2011-12-31); runs at 00:00',
      null,
    ])
  })
})

describe('dropped ticks', () => {
  it('are told at the tick that follows them', () => {
    expect(notesOf({ dst_gap: 'skip' }, '2026-03-28T12:00:00Z', 2)).toEqual([
      'skipped 02:30 on 2026-03-29: the clocks jump over it',
      null,
    ])
    const source = { schedule: '0 9 * * *', exclude: ['2026-12-25', '2026-12-27/2026-12-31'] }
    expect(notesOf(source, '2026-12-24T12:00:00Z', 2)).toEqual([
      'skipped 09:00 on 2026-12-25: excluded (2026-12-25)',
      'skipped 09:00 on 2026-12-27, 09:00 on 2026-12-28, 09:00 on 2026-12-29 and 2 more: excluded (2026-12-27/2026-12-31)',
    ])
  })

  it('are said to be at least so many where they are too many to count', () => {
    const source = { schedule: '* * * * *', exclude: ['2026-12-25'] }
    expect(notesOf(source, '2026-12-24T22:59:00Z', 1)[0]).toContain('and at least 97 more')
  })

  it('explain why nothing comes', () => {
    const source = { schedule: { at: '2026-12-25T09:00' }, exclude: ['2026-12-25'] }
    expect(previewOf(source, '2026-12-24T00:00:00Z', 3)).toEqual({
      ticks: [],
      warnings: [
        'No tick comes after 2026-12-24T00:00:00Z: skipped 09:00 on 2026-12-25: excluded (2026-12-25).',
      ],
    })
  })
})

describe('a moved tick', () => {
  it.each<[NonNullable<ScheduleSource['on_excluded']>, string]>([
    ['next_business_day', '2026-12-28T08:00:00Z'],
    ['previous_business_day', '2026-12-24T08:00:00Z'],
  ])('says where it comes from: %s', (on_excluded, at) => {
    const source = { schedule: '0 9 * * FRI', exclude: ['2026-12-25'], on_excluded }
    expect(previewOf(source, '2026-12-20T00:00:00Z', 1).ticks).toMatchObject([
      { at, note: 'moved here from 2026-12-25, which is excluded' },
    ])
  })
})

describe('a warning', () => {
  it('tells that two day fields widen the choice, and how to narrow it', () => {
    const { warnings } = previewOf({ schedule: ['0 9 * * *', '0 9 13 * FRI'] }, '2026-01-01T00:00:00Z', 1)
    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toContain("'0 9 13 * FRI'")
    expect(warnings[0]).toContain('"+FRI"')
  })

  it.each<[string, ScheduleSource['schedule']]>([
    ['a plus', '0 9 13 * +FRI'],
    ['day_match', { cron: '0 9 13 * FRI', day_match: 'and' }],
    ['one day field', '0 9 ? * FRI'],
  ])('is not there with %s', (_what, schedule) => {
    expect(previewOf({ schedule }, '2026-01-01T00:00:00Z', 1).warnings).toEqual([])
  })
})
