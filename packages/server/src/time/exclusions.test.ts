import { describe, expect, it } from 'vitest'
import { iso, refusalOf, scheduleOf, ticksAfter } from '../../test/kit/ticks.js'
import { parseSchedule, type ScheduleSource } from './schedule.js'

const calendars = {
  holidays: { dates: ['2026-12-25', '2026-12-26', '2027-01-01'] },
  freeze: {
    dates: ['2026-12-20/2026-12-24'],
    blackouts: [
      { from: '2026-06-01T12:00:00Z', to: '2026-06-02T12:00:00Z', reason: 'data centre moves' },
      { from: '2026-07-01T00:00:00', to: '2026-07-01T06:00:00', reason: 'audit' },
    ],
  },
}
const madrid = { timezone: 'Europe/Madrid', calendars }
const nine = (day: string) => `${day}T08:00:00Z`

describe('excluded dates', () => {
  it('are those of the zone, not of UTC', () => {
    const schedule = scheduleOf('30 0 * * *', { ...madrid, exclude: ['2026-12-25'] })
    // Half past midnight of the 25th in Madrid is still the 24th in UTC.
    expect(ticksAfter(schedule, '2026-12-23T12:00Z', 2)).toEqual([
      '2026-12-23T23:30:00Z',
      '2026-12-25T23:30:00Z',
    ])
  })

  it('may be ranges with both ends and calendars, together', () => {
    const schedule = scheduleOf('0 9 * * *', {
      ...madrid,
      exclude: ['2026-12-28/2026-12-30', 'holidays', 'freeze'],
    })
    expect(ticksAfter(schedule, '2026-12-18T12:00Z', 4)).toEqual(
      ['2026-12-19', '2026-12-27', '2026-12-31', '2027-01-02'].map(nine),
    )
    expect(schedule.prev(Date.parse('2026-12-26T12:00Z'))).toBe(Date.parse(nine('2026-12-19')))
    expect(schedule.count(Date.UTC(2026, 11, 1), Date.UTC(2026, 11, 31, 23))).toBe(31 - 5 - 2 - 3)
  })

  it('leave out an interval and a single instant, too', () => {
    const every = scheduleOf(
      { every: '12h', anchor: '2026-12-24T00:00:00Z' },
      { ...madrid, exclude: ['holidays'] },
    )
    expect(ticksAfter(every, '2026-12-24T00:00Z', 2)).toEqual([
      '2026-12-24T12:00:00Z',
      '2026-12-27T00:00:00Z',
    ])
    const once = scheduleOf('2026-12-25T09:00:00', { ...madrid, exclude: ['holidays'] })
    expect(once.kind).toBe('once')
    expect(once.next(0)).toBeNull()
  })

  it('may reach to the end of time', () => {
    const schedule = scheduleOf('@daily', { ...madrid, exclude: ['2027-01-01/9999-12-31'] })
    expect(schedule.next(Date.parse('2026-12-31T12:00Z'))).toBeNull()
    expect(iso(schedule.prev(Date.UTC(5000, 0, 1)) ?? 0)).toBe('2026-12-30T23:00:00Z')
  })

  it('cover a day that the clocks leave and enter again', () => {
    // On 2010-11-07 Newfoundland went from 00:01 back to 23:01 of the 6th.
    const options = { timezone: 'America/St_Johns' }
    const first = scheduleOf('*/30 * * * * *', { ...options, exclude: ['2010-11-06'] })
    expect(ticksAfter(first, '2010-11-06T12:00Z', 3)).toEqual([
      '2010-11-07T02:30:00Z',
      '2010-11-07T02:30:30Z',
      '2010-11-07T03:30:00Z',
    ])
    const second = scheduleOf('*/30 * * * * *', { ...options, exclude: ['2010-11-07'] })
    expect(ticksAfter(second, '2010-11-07T02:29:00Z', 3)).toEqual([
      '2010-11-07T02:29:30Z',
      '2010-11-07T02:31:00Z',
      '2010-11-07T02:31:30Z',
    ])
  })

  it('are told as dropped ticks, with what excludes them', () => {
    const schedule = scheduleOf('0 9 * * *', { ...madrid, exclude: ['2026-12-28/2026-12-30', 'holidays'] })
    const dropped = schedule.dropped(Date.parse('2026-12-25T08:00Z'), Date.parse('2026-12-29T08:00Z'))
    expect(dropped.map(({ at, wall, reason, detail }) => [iso(at), iso(wall), reason, detail])).toEqual([
      [nine('2026-12-26'), '2026-12-26T09:00:00Z', 'excluded', 'calendar holidays: 2026-12-26'],
      [nine('2026-12-28'), '2026-12-28T09:00:00Z', 'excluded', '2026-12-28/2026-12-30'],
      [nine('2026-12-29'), '2026-12-29T09:00:00Z', 'excluded', '2026-12-28/2026-12-30'],
    ])
    expect(
      scheduleOf('* * * * *', { exclude: ['2026-12-25'] }).dropped(0, Date.UTC(2027, 0, 1)),
    ).toHaveLength(100)
  })
})

describe('blackouts', () => {
  it('are silent from their beginning up to their end, whatever the clocks show', () => {
    const schedule = scheduleOf('0 */6 * * *', { calendars, exclude: ['freeze'] })
    expect(ticksAfter(schedule, '2026-06-01T06:00Z', 2)).toEqual([
      '2026-06-02T12:00:00Z',
      '2026-06-02T18:00:00Z',
    ])
    expect(schedule.prev(Date.parse('2026-06-02T11:59Z'))).toBe(Date.parse('2026-06-01T06:00Z'))
    expect(schedule.dropped(Date.parse('2026-06-01T11:00Z'), Date.parse('2026-06-01T12:00Z'))).toEqual([
      {
        at: Date.parse('2026-06-01T12:00Z'),
        wall: Date.parse('2026-06-01T12:00Z'),
        reason: 'excluded',
        detail: 'data centre moves',
      },
    ])
  })

  it('without an offset are read in the zone of the job', () => {
    const schedule = scheduleOf('0 * * * *', { ...madrid, exclude: ['freeze'] })
    expect(schedule.next(Date.parse('2026-06-30T21:30Z'))).toBe(Date.parse('2026-07-01T04:00Z'))
  })

  it('drop also what would move', () => {
    const options = { calendars, exclude: ['freeze'], on_excluded: 'next_business_day' as const }
    expect(ticksAfter(scheduleOf('0 12 * * *', options), '2026-05-31T18:00Z', 1)).toEqual([
      '2026-06-02T12:00:00Z',
    ])
  })
})

describe('excluded ticks that move', () => {
  // 2026-12-25 is a Friday; the 26th a Saturday; 2027-01-01 a Friday.
  const next = { ...madrid, exclude: ['holidays'], on_excluded: 'next_business_day' as const }
  const previous = {
    ...madrid,
    exclude: ['holidays', 'freeze'],
    on_excluded: 'previous_business_day' as const,
  }

  it('go to the same time of the next business day, and no other', () => {
    expect(ticksAfter(scheduleOf('0 9 * * FRI', next), '2026-12-18T12:00Z', 3)).toEqual(
      ['2026-12-28', '2027-01-04', '2027-01-08'].map(nine),
    )
  })

  it('or of the one before, over weekends and other exclusions', () => {
    // 20 to 24 December are frozen, the 19th is a Saturday.
    expect(ticksAfter(scheduleOf('0 9 25 * *', previous), '2026-12-01T00:00Z', 2)).toEqual(
      ['2026-12-18', '2027-01-25'].map(nine),
    )
  })

  it('are one with a tick that is there already', () => {
    const schedule = scheduleOf('0 9 * * *', next)
    expect(ticksAfter(schedule, '2026-12-24T12:00Z', 3)).toEqual(
      ['2026-12-27', '2026-12-28', '2026-12-29'].map(nine),
    )
    expect(schedule.count(Date.UTC(2026, 11, 24), Date.UTC(2026, 11, 31))).toBe(5)
  })

  it('keep their time of day when several days land together', () => {
    const schedule = scheduleOf(['0 9 25 12 *', '30 10 26 12 *', '0 9 28 12 *'], next)
    expect(schedule.kind).toBe('union')
    expect(ticksAfter(schedule, '2026-12-24T00:00Z', 3)).toEqual([
      '2026-12-28T08:00:00Z',
      '2026-12-28T09:30:00Z',
      '2027-12-27T08:00:00Z'.replace('27T', '25T'),
    ])
  })

  it('move a single instant and an interval', () => {
    expect(scheduleOf('2026-12-25T09:00:00', next).next(0)).toBe(Date.parse(nine('2026-12-28')))
    const every = scheduleOf({ every: '7d', anchor: '2026-12-11T08:00:00Z' }, next)
    expect(ticksAfter(every, '2026-12-12T00:00Z', 3)).toEqual(
      ['2026-12-18', '2026-12-28', '2027-01-04'].map(nine),
    )
  })

  it('keep a time that the clocks jumped over on the day they come from', () => {
    const options = {
      timezone: 'Europe/Madrid',
      exclude: ['2026-03-29'],
      on_excluded: 'next_business_day' as const,
    }
    expect(ticksAfter(scheduleOf('30 2 * * SUN', options), '2026-03-28T00:00Z', 1)).toEqual([
      '2026-03-30T00:30:00Z',
    ])
  })

  it('stay on a weekend that is not excluded', () => {
    const schedule = scheduleOf('0 9 * * SAT,SUN', next)
    expect(ticksAfter(schedule, '2026-12-20T12:00Z', 3)).toEqual(
      ['2026-12-27', '2026-12-28', '2027-01-02'].map(nine),
    )
  })

  it('are dropped where they are too many, which is told', () => {
    const schedule = scheduleOf('* * * * * *', {
      exclude: ['2026-05-04/2026-05-08'],
      on_excluded: 'next_business_day',
    })
    expect(schedule.count(Date.UTC(2026, 4, 4), Date.UTC(2026, 4, 12) - 1)).toBe(3 * 86_400)
    expect(schedule.dropped(Date.UTC(2026, 4, 4) - 1, Date.UTC(2026, 4, 5))).toHaveLength(100)
  })

  it('are dropped where they land in a blackout, which is told', () => {
    const calendars = {
      c: {
        dates: ['2026-05-04'],
        blackouts: [{ from: '2026-05-05T00:00Z', to: '2026-05-06T00:00Z', reason: 'move' }],
      },
    }
    const schedule = scheduleOf('0 9 4 5 *', { calendars, exclude: ['c'], on_excluded: 'next_business_day' })
    expect(schedule.next(Date.UTC(2026, 0, 1))).toBe(Date.UTC(2027, 4, 4, 9))
    expect(schedule.dropped(Date.UTC(2026, 0, 1), Date.UTC(2027, 0, 1))).toEqual([
      { at: Date.UTC(2026, 4, 5, 9), wall: Date.UTC(2026, 4, 5, 9), reason: 'excluded', detail: 'move' },
    ])
  })
})

describe('bounds', () => {
  const bounds = { starts_at: '2026-05-01T09:00:00Z', ends_at: '2026-05-03T09:00:00Z' }

  it('include the start and not the end', () => {
    const schedule = scheduleOf('0 9 * * *', bounds)
    expect(ticksAfter(schedule, '2026-01-01T00:00Z', 9)).toEqual([
      '2026-05-01T09:00:00Z',
      '2026-05-02T09:00:00Z',
    ])
    expect(schedule.prev(Number.MAX_SAFE_INTEGER)).toBe(Date.UTC(2026, 4, 2, 9))
    expect(schedule.prev(Date.UTC(2026, 4, 1, 8))).toBeNull()
    expect(schedule.count(0, Number.MAX_SAFE_INTEGER)).toBe(2)
  })

  it('without an offset are read in the zone, and hold for what was moved', () => {
    const schedule = scheduleOf('0 9 * * *', {
      ...madrid,
      starts_at: '2026-12-25T00:00:00',
      exclude: ['holidays'],
      on_excluded: 'previous_business_day',
    })
    expect(ticksAfter(schedule, '2026-12-01T00:00Z', 1)).toEqual([nine('2026-12-27')])
  })

  it.each<[Partial<ScheduleSource>, string, RegExp]>([
    [{ starts_at: 'tomorrow' }, '/starts_at', /'tomorrow' is not an ISO-8601/],
    [{ ends_at: '2026-02-30T00:00Z' }, '/ends_at', /'30' .* not a day of that month/],
    [{ starts_at: '2026-02-02T00:00Z', ends_at: '2026-02-02T00:00Z' }, '/ends_at', /is not after/],
  ])('refuse %j', (options, pointer, message) => {
    const error = refusalOf(() => scheduleOf('@daily', options))
    expect(error.code).toBe('invalid_schedule')
    expect(error.errors[0]).toMatchObject({ pointer, message: expect.stringMatching(message) as string })
  })
})

describe('refusals of exclusions', () => {
  const broken = {
    ...calendars,
    bad: { dates: ['2026-13-01'] },
    worse: { dates: [], blackouts: [{ from: '2026-01-02T00:00Z', to: '2026-01-01T00:00Z', reason: 'x' }] },
  }
  it.each<[string[], string, RegExp, RegExp]>([
    [['2026-12-25', 'holiday'], '/exclude/1', /no calendar 'holiday'/, /"holidays"/],
    [['constructor'], '/exclude/0', /no calendar/, /Create a calendar/],
    [
      ['2026-02-30'],
      '/exclude/0',
      /'30' in '2026-02-30' is not a day of that month \(01 to 28\)/,
      /2026-12-25/,
    ],
    [['2026-12-25T00:00'], '/exclude/0', /is not a date/, /range/],
    [['2026-12-25/2026-12-24'], '/exclude/0', /ends before it begins/, /range/],
    [['2026-12-25/2026-12-26/2026-12-27'], '/exclude/0', /more than one slash/, /range/],
    [['1969-12-25'], '/exclude/0', /before 1970/, /./],
    [['bad'], '/exclude/0', /'13' in '2026-13-01' is not a month .* of calendar 'bad'/, /./],
    [['worse'], '/exclude/0', /blackout of calendar 'worse' ends/, /from/],
    [Array.from({ length: 1001 }, () => '2026-12-25'), '/exclude', /1001 entries/, /calendar/],
  ])('name the entry of %j', (exclude, pointer, message, hint) => {
    const error = refusalOf(() => scheduleOf('@daily', { exclude, calendars: broken }))
    expect(error.code).toBe('invalid_schedule')
    expect(error.errors[0]).toMatchObject({
      pointer,
      message: expect.stringMatching(message) as string,
      hint: expect.stringMatching(hint) as string,
    })
  })
})

describe('an instant given by its reading on the wall', () => {
  it('keeps that reading when it moves to another day, although the clocks jumped over it', () => {
    const schedule = parseSchedule({
      schedule: { at: '2026-03-29T02:30' },
      timezone: 'Europe/Madrid',
      anchor: 0,
      exclude: ['2026-03-29'],
      on_excluded: 'next_business_day',
    })
    expect(schedule.next(0)).toBe(Date.parse('2026-03-30T02:30:00+02:00'))
  })
})
