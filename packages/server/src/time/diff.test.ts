import { describe, expect, it } from 'vitest'
import { iso } from '../../test/kit/ticks.js'
import { diff } from './diff.js'
import type { ScheduleInput, ScheduleSource } from './source.js'

const from = Date.parse('2026-06-01T00:00:00Z')
const day = 86_400_000

function source(schedule: ScheduleInput, more: Partial<ScheduleSource> = {}): ScheduleSource {
  return { schedule, timezone: 'UTC', anchor: from, ...more }
}

function shown(before: ScheduleSource, after: ScheduleSource, days: number) {
  const { added, dropped, moved, truncated } = diff(before, after, { from, to: from + days * day })
  return {
    added: added.map(iso),
    dropped: dropped.map(iso),
    moved: moved.map((pair) => `${iso(pair.from)} to ${iso(pair.to)}`),
    truncated,
  }
}

describe('the difference of two definitions', () => {
  it('is nothing where they say the same in other words', () => {
    const range = { from, to: from + 3650 * day }
    expect(diff(source('* * * * *'), source('*/1 * * * *'), range)).toEqual({
      added: [],
      dropped: [],
      moved: [],
      truncated: false,
      until: range.to,
    })
  })

  it('has what is added and what is dropped', () => {
    expect(shown(source('0 9 * * *'), source('0 9,18 * * 1'), 2)).toEqual({
      added: ['2026-06-01T18:00:00Z'],
      dropped: ['2026-06-02T09:00:00Z'],
      moved: [],
      truncated: false,
    })
  })

  it('calls a tick moved that is on the same date at another time', () => {
    expect(shown(source('0 9 * * *'), source('0 22 * * *'), 2).moved).toEqual([
      '2026-06-01T09:00:00Z to 2026-06-01T22:00:00Z',
      '2026-06-02T09:00:00Z to 2026-06-02T22:00:00Z',
    ])
  })

  it('takes the date from the zone of each definition', () => {
    const [before, after] = [source('0 1 * * *'), source('0 1 * * *', { timezone: 'Europe/Madrid' })]
    // Of the last date only the new tick is in the range.
    expect(shown(before, after, 1)).toEqual({
      added: ['2026-06-01T23:00:00Z'],
      dropped: ['2026-06-01T01:00:00Z'],
      moved: [],
      truncated: false,
    })
    expect(shown(source('0 9 * * *'), source('0 9 * * *', { timezone: 'Europe/Madrid' }), 1).moved).toEqual([
      '2026-06-01T09:00:00Z to 2026-06-01T07:00:00Z',
    ])
  })

  it('calls a tick moved that is nearer than half the way to the next one', () => {
    expect(shown(source('0 9 * * MON'), source('0 9 * * TUE'), 3).moved).toEqual([
      '2026-06-01T09:00:00Z to 2026-06-02T09:00:00Z',
    ])
    expect(shown(source('0 9 * * MON'), source('0 9 * * FRI'), 6)).toMatchObject({
      added: ['2026-06-05T09:00:00Z'],
      dropped: ['2026-06-01T09:00:00Z'],
      moved: [],
    })
  })

  it('has ticks after the beginning of the range and up to its end', () => {
    const range = { from: from + 9 * 3_600_000, to: from + day + 9 * 3_600_000 }
    const { dropped } = diff(source('0 9 * * *'), source('0 9 1 1 *'), range)
    expect(dropped.map(iso)).toEqual(['2026-06-02T09:00:00Z'])
  })

  it('ends where it has told enough, and says up to where it is complete', () => {
    const range = { from, to: from + 100 * day, limit: 3 }
    const { dropped, truncated, until } = diff(source('0 9 * * *'), source('0 9 1 1 *'), range)
    expect(dropped.map(iso)).toEqual(['2026-06-01T09:00:00Z', '2026-06-02T09:00:00Z', '2026-06-03T09:00:00Z'])
    expect(truncated).toBe(true)
    expect(iso(until + 1)).toBe('2026-06-04T09:00:00Z')
  })

  it('ends after so many ticks that both have', () => {
    const { added, dropped, truncated } = diff(source('* * * * * *'), source(['* * * * * *', '0 9 1 1 *']), {
      from,
      to: from + 3650 * day,
    })
    expect({ added, dropped, truncated }).toEqual({ added: [], dropped: [], truncated: true })
  })
})
