import { describe, expect, it } from 'vitest'
import { iso, refusalOf, scheduleOf, ticksAfter } from '../../test/kit/ticks.js'
import { effort, longestSearch } from './effort.js'
import type { DstGap, DstOverlap } from './timeline.js'

interface Case {
  zone: string
  rule: string
  after: string
  dst_gap?: DstGap
  dst_overlap?: DstOverlap
  ticks: string[]
}

describe('a fixed time that the clocks jump over', () => {
  it.each<Case>([
    {
      zone: 'Europe/Madrid',
      rule: '30 2 * * *',
      after: '2026-03-28T12:00Z',
      ticks: ['2026-03-29T01:00:00Z', '2026-03-30T00:30:00Z'],
    },
    {
      zone: 'Europe/Madrid',
      rule: '30 2 * * *',
      dst_gap: 'skip',
      after: '2026-03-28T12:00Z',
      ticks: ['2026-03-30T00:30:00Z'],
    },
    // Several in one gap are one tick, also beside one that the rule names for its end.
    {
      zone: 'America/New_York',
      rule: '*/10 2,3 * * *',
      after: '2026-03-08T06:00Z',
      ticks: ['2026-03-08T07:00:00Z', '2026-03-08T07:10:00Z'],
    },
    {
      zone: 'America/New_York',
      rule: '0,30 2 * * *',
      dst_gap: 'skip',
      after: '2026-03-08T06:00Z',
      ticks: ['2026-03-09T06:00:00Z'],
    },
    {
      zone: 'Australia/Lord_Howe',
      rule: '15 2 * * *',
      after: '2026-10-03T12:00Z',
      ticks: ['2026-10-03T15:30:00Z', '2026-10-04T15:15:00Z'],
    },
    {
      zone: 'America/Santiago',
      rule: '0 0 * * *',
      after: '2025-09-06T12:00Z',
      ticks: ['2025-09-07T04:00:00Z', '2025-09-08T03:00:00Z'],
    },
    {
      zone: 'Africa/Cairo',
      rule: '30 0 * * FRI',
      after: '2024-04-20T00:00Z',
      ticks: ['2024-04-25T22:00:00Z', '2024-05-02T21:30:00Z'],
    },
    {
      zone: 'Africa/Casablanca',
      rule: '30 2 * * *',
      after: '2025-04-05T12:00Z',
      ticks: ['2025-04-06T02:00:00Z', '2025-04-07T01:30:00Z'],
    },
    {
      zone: 'Pacific/Apia',
      rule: '0 9 30 12 *',
      after: '2011-01-01T00:00Z',
      ticks: ['2011-12-30T10:00:00Z', '2012-12-29T19:00:00Z'],
    },
    {
      zone: 'Pacific/Apia',
      rule: '0 9 30 12 *',
      dst_gap: 'skip',
      after: '2011-01-01T00:00Z',
      ticks: ['2012-12-29T19:00:00Z'],
    },
  ])('$rule in $zone ($dst_gap) after $after', ({ zone, rule, after, ticks, dst_gap }) => {
    const schedule = scheduleOf(rule, { timezone: zone, dst_gap })
    expect(ticksAfter(schedule, after, ticks.length)).toEqual(ticks)
  })
})

describe('a fixed time that the clocks show twice', () => {
  it.each<Case>([
    {
      zone: 'Europe/Madrid',
      rule: '30 2 * * *',
      dst_overlap: 'first',
      after: '2026-10-24T12:00Z',
      ticks: ['2026-10-25T00:30:00Z', '2026-10-26T01:30:00Z'],
    },
    {
      zone: 'Europe/Madrid',
      rule: '30 2 * * *',
      dst_overlap: 'last',
      after: '2026-10-24T12:00Z',
      ticks: ['2026-10-25T01:30:00Z', '2026-10-26T01:30:00Z'],
    },
    {
      zone: 'Europe/Madrid',
      rule: '30 2 * * *',
      dst_overlap: 'both',
      after: '2026-10-24T12:00Z',
      ticks: ['2026-10-25T00:30:00Z', '2026-10-25T01:30:00Z', '2026-10-26T01:30:00Z'],
    },
    {
      zone: 'America/New_York',
      rule: '*/20 1 * * *',
      after: '2026-11-01T05:30Z',
      ticks: ['2026-11-01T05:40:00Z', '2026-11-02T06:00:00Z'],
    },
    {
      zone: 'America/New_York',
      rule: '*/20 1 * * *',
      dst_overlap: 'last',
      after: '2026-11-01T04:30Z',
      ticks: ['2026-11-01T06:00:00Z', '2026-11-01T06:20:00Z'],
    },
    // 0-23 names hours; only a star follows the wall.
    {
      zone: 'America/New_York',
      rule: '30 0-23 * * *',
      after: '2026-11-01T05:00Z',
      ticks: ['2026-11-01T05:30:00Z', '2026-11-01T07:30:00Z'],
    },
    {
      zone: 'Australia/Lord_Howe',
      rule: '45 1 * * *',
      dst_overlap: 'both',
      after: '2026-04-04T12:00Z',
      ticks: ['2026-04-04T14:45:00Z', '2026-04-04T15:15:00Z'],
    },
    {
      zone: 'America/Santiago',
      rule: '30 23 * * *',
      dst_overlap: 'last',
      after: '2025-04-05T12:00Z',
      ticks: ['2025-04-06T03:30:00Z', '2025-04-07T03:30:00Z'],
    },
    {
      zone: 'Africa/Casablanca',
      rule: '30 2 * * *',
      after: '2025-02-22T12:00Z',
      ticks: ['2025-02-23T01:30:00Z', '2025-02-24T02:30:00Z'],
    },
    // Laws: a zone changes for good in the middle of a year.
    {
      zone: 'Europe/Volgograd',
      rule: '30 1 * * *',
      dst_overlap: 'both',
      after: '2020-12-26T12:00Z',
      ticks: ['2020-12-26T21:30:00Z', '2020-12-26T22:30:00Z', '2020-12-27T22:30:00Z'],
    },
    {
      zone: 'Asia/Almaty',
      rule: '30 23 * * *',
      dst_overlap: 'last',
      after: '2024-02-28T18:00Z',
      ticks: ['2024-02-29T18:30:00Z', '2024-03-01T18:30:00Z'],
    },
    {
      zone: 'Africa/Juba',
      rule: '0 0 * * *',
      after: '2021-01-30T22:00Z',
      ticks: ['2021-01-31T22:00:00Z', '2021-02-01T22:00:00Z'],
    },
    {
      zone: 'America/Sao_Paulo',
      rule: '0 12 * * SUN',
      after: '2019-02-10T00:00Z',
      ticks: ['2019-02-10T14:00:00Z', '2019-02-17T15:00:00Z'],
    },
    // Until 2011 the clocks of Newfoundland went back at one minute past midnight, to the day before.
    {
      zone: 'America/St_Johns',
      rule: '0 0 * * *',
      dst_overlap: 'both',
      after: '2010-11-06T12:00Z',
      ticks: ['2010-11-07T02:30:00Z', '2010-11-07T03:30:00Z', '2010-11-08T03:30:00Z'],
    },
  ])('$rule in $zone ($dst_overlap) after $after', ({ zone, rule, after, ticks, dst_overlap }) => {
    const schedule = scheduleOf(rule, { timezone: zone, dst_overlap })
    expect(ticksAfter(schedule, after, ticks.length)).toEqual(ticks)
  })
})

describe('a rule for every hour', () => {
  it.each([
    ['Europe/Madrid', '2026-03-29T01:00Z', 60],
    ['Europe/Madrid', '2026-10-25T01:00Z', 60],
    ['America/New_York', '2038-11-07T06:00Z', 60],
    ['Pacific/Apia', '2011-12-30T10:00Z', 60],
    ['Africa/Casablanca', '2025-02-23T02:00Z', 60],
  ])('has no hole and no double in %s at %s', (timezone, change, minutes) => {
    for (const dst_overlap of ['first', 'last', 'both'] as const) {
      for (const rule of ['0 * * * *', '0 */1 * * *', '@hourly']) {
        const schedule = scheduleOf(rule, { timezone, dst_overlap, dst_gap: 'skip' })
        let tick = schedule.next(Date.parse(change) - 5 * 3_600_000) ?? 0
        for (let step = 0; step < 10; step++) {
          const next = schedule.next(tick) ?? 0
          expect((next - tick) / 60_000).toBe(minutes)
          tick = next
        }
        expect(schedule.dropped(Date.parse(change) - 1, Date.parse(change) + 1)).toEqual([])
      }
    }
  })
})

describe('ticks that a policy drops', () => {
  it('are told with the reading that the rule names and the instant at which the clocks jump', () => {
    const schedule = scheduleOf('0,30 2 * * *', { timezone: 'Europe/Madrid', dst_gap: 'skip' })
    const year = schedule.dropped(Date.UTC(2026, 0, 1), Date.UTC(2027, 11, 31))
    expect(year.map(({ at, wall, reason }) => [iso(at), iso(wall), reason])).toEqual([
      ['2026-03-29T01:00:00Z', '2026-03-29T02:00:00Z', 'dst_gap'],
      ['2026-03-29T01:00:00Z', '2026-03-29T02:30:00Z', 'dst_gap'],
      ['2027-03-28T01:00:00Z', '2027-03-28T02:00:00Z', 'dst_gap'],
      ['2027-03-28T01:00:00Z', '2027-03-28T02:30:00Z', 'dst_gap'],
    ])
    const jump = Date.parse('2026-03-29T01:00Z')
    expect(schedule.dropped(jump, jump + 1000)).toEqual([])
    expect(schedule.dropped(jump - 1, jump)).toHaveLength(2)
  })

  it('are a hundred at most', () => {
    const schedule = scheduleOf('* * 2 * * *', { timezone: 'Europe/Madrid', dst_gap: 'skip' })
    expect(schedule.dropped(0, Date.UTC(2100, 0, 1))).toHaveLength(100)
  })

  it('may be all that a rule names, which the search finds out within bounds', () => {
    const schedule = scheduleOf('30 2 * 3 SUNL', { timezone: 'Europe/Madrid', dst_gap: 'skip' })
    const before = effort.steps
    expect(schedule.next(Date.UTC(2026, 0, 1))).toBeNull()
    expect(effort.steps - before).toBeLessThan(longestSearch)
    expect(schedule.count(Date.UTC(2026, 0, 1), Date.UTC(2500, 0, 1))).toBe(0)
  })
})

describe('one local time', () => {
  const madrid = { timezone: 'Europe/Madrid' }
  it('follows the same policies', () => {
    const twice = '2026-10-25T02:30:00'
    const both = ['2026-10-25T00:30:00Z', '2026-10-25T01:30:00Z']
    expect(ticksAfter(scheduleOf(twice, madrid), '2026-01-01T00:00Z', 3)).toEqual(both.slice(0, 1))
    expect(
      ticksAfter(scheduleOf({ at: twice }, { ...madrid, dst_overlap: 'last' }), '2026-01-01T00:00Z', 3),
    ).toEqual(both.slice(1))
    expect(
      ticksAfter(scheduleOf({ at: twice }, { ...madrid, dst_overlap: 'both' }), '2026-01-01T00:00Z', 3),
    ).toEqual(both)
  })

  it('is refused when the clocks jump over it and that means to skip', () => {
    const error = refusalOf(() => scheduleOf({ at: '2026-03-29T02:30:00' }, { ...madrid, dst_gap: 'skip' }))
    expect(error.code).toBe('schedule_never_fires')
    expect(error.errors[0]).toMatchObject({
      pointer: '/schedule/at',
      message: expect.stringContaining("jump over '2026-03-29T02:30:00'") as string,
    })
  })

  it('is dropped beside other rules', () => {
    const schedule = scheduleOf([{ at: '2026-03-29T02:30:00' }, '@daily'], { ...madrid, dst_gap: 'skip' })
    expect(schedule.dropped(0, Date.UTC(2026, 11, 31))).toEqual([
      { at: Date.parse('2026-03-29T01:00Z'), wall: Date.parse('2026-03-29T02:30Z'), reason: 'dst_gap' },
    ])
  })
})

describe('limits of time', () => {
  it('are 1970 and 9999', () => {
    const yearly = scheduleOf('0 0 31 12 *')
    expect(yearly.next(Date.UTC(9999, 11, 1))).toBe(Date.UTC(9999, 11, 31))
    expect(yearly.next(Date.UTC(9999, 11, 31))).toBeNull()
    expect(yearly.prev(Date.UTC(1970, 11, 30))).toBeNull()
    expect(yearly.count(Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY)).toBe(8030)
    expect(yearly.next(Number.NEGATIVE_INFINITY)).toBe(Date.UTC(1970, 11, 31))
    expect(yearly.prev(Number.POSITIVE_INFINITY)).toBe(Date.UTC(9999, 11, 31))
    expect(yearly.next(Number.NaN)).toBeNull()
    // Midnight of New Year's Eve is next year's in UTC.
    const west = scheduleOf('0 20 31 12 *', { timezone: 'America/New_York' })
    expect(west.next(Date.UTC(9999, 0, 2))).toBeNull()
    expect(scheduleOf('@every 1000d').next(Date.UTC(9999, 11, 31))).toBeNull()
  })

  it('are not reached by clocks that count 32 bits of seconds', () => {
    const madrid = scheduleOf('14 4 19 1 *', { timezone: 'Europe/Madrid' })
    expect(ticksAfter(madrid, '2038-01-01T00:00Z', 2)).toEqual([
      '2038-01-19T03:14:00Z',
      '2039-01-19T03:14:00Z',
    ])
  })
})
