import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { iso } from '../../test/kit/ticks.js'
import { instantsOf, readingsOf, timelineOf } from './timeline.js'

const minute = 60_000
const hour = 60 * minute

/** Changes of the clocks in a range, as [instant, minutes by which they are put forward]. */
function changes(zone: string, from: string, to: string): [string, number][] {
  const timeline = timelineOf(zone)
  const found: [string, number][] = []
  let segment = timeline.segmentAt(Date.parse(from))
  while (segment.end < Date.parse(to)) {
    segment = timeline.segmentAt(segment.end)
    if (segment.headShift !== 0) found.push([iso(segment.start), segment.headShift / minute])
  }
  return found
}

const readers = new Map<string, Intl.DateTimeFormat>()
function wallByIntl(zone: string, instant: number): number {
  let reader = readers.get(zone)
  if (reader === undefined) {
    const numeric = { year: 'numeric', month: 'numeric', day: 'numeric' } as const
    const clock = { hour: 'numeric', minute: 'numeric', second: 'numeric', hourCycle: 'h23' } as const
    reader = new Intl.DateTimeFormat('en-US', { timeZone: zone, ...numeric, ...clock })
    readers.set(zone, reader)
  }
  const part = Object.fromEntries(
    reader.formatToParts(instant).map(({ type, value }) => [type, Number(value)]),
  )
  const { year = 0, month = 1, day = 1, hour = 0, minute: minutes = 0, second = 0 } = part
  return Date.UTC(year, month - 1, day, hour, minutes, second)
}

describe('the timeline of a zone', () => {
  it.each<[string, string, string, [string, number][]]>([
    ['UTC', '1970-01-01T00:00Z', '2100-01-01T00:00Z', []],
    [
      'Europe/Madrid',
      '2026-01-01T00:00Z',
      '2027-01-01T00:00Z',
      [
        ['2026-03-29T01:00:00Z', 60],
        ['2026-10-25T01:00:00Z', -60],
      ],
    ],
    [
      'America/New_York',
      '2038-01-01T00:00Z',
      '2039-01-01T00:00Z',
      [
        ['2038-03-14T07:00:00Z', 60],
        ['2038-11-07T06:00:00Z', -60],
      ],
    ],
    [
      'Australia/Lord_Howe',
      '2026-01-01T00:00Z',
      '2027-01-01T00:00Z',
      [
        ['2026-04-04T15:00:00Z', -30],
        ['2026-10-03T15:30:00Z', 30],
      ],
    ],
    ['Pacific/Apia', '2011-12-01T00:00Z', '2012-01-15T00:00Z', [['2011-12-30T10:00:00Z', 1440]]],
    [
      'America/Santiago',
      '2025-01-01T00:00Z',
      '2026-01-01T00:00Z',
      [
        ['2025-04-06T03:00:00Z', -60],
        ['2025-09-07T04:00:00Z', 60],
      ],
    ],
    [
      'Africa/Cairo',
      '2024-01-01T00:00Z',
      '2025-01-01T00:00Z',
      [
        ['2024-04-25T22:00:00Z', 60],
        ['2024-10-31T21:00:00Z', -60],
      ],
    ],
    [
      'Africa/Casablanca',
      '2025-01-01T00:00Z',
      '2026-01-01T00:00Z',
      [
        ['2025-02-23T02:00:00Z', -60],
        ['2025-04-06T02:00:00Z', 60],
      ],
    ],
    [
      'Europe/Volgograd',
      '2018-06-01T00:00Z',
      '2022-01-01T00:00Z',
      [
        ['2018-10-27T23:00:00Z', 60],
        ['2020-12-26T22:00:00Z', -60],
      ],
    ],
    ['Asia/Almaty', '2010-01-01T00:00Z', '2026-01-01T00:00Z', [['2024-02-29T18:00:00Z', -60]]],
    [
      'America/Sao_Paulo',
      '2018-06-01T00:00Z',
      '2026-01-01T00:00Z',
      [
        ['2018-11-04T03:00:00Z', 60],
        ['2019-02-17T02:00:00Z', -60],
      ],
    ],
    ['Africa/Juba', '2018-01-01T00:00Z', '2026-01-01T00:00Z', [['2021-01-31T21:00:00Z', -60]]],
    [
      'America/Recife',
      '2000-06-01T00:00Z',
      '2001-06-01T00:00Z',
      [
        ['2000-10-08T03:00:00Z', 60],
        ['2000-10-15T02:00:00Z', -60],
      ],
    ],
    ['Africa/Monrovia', '1970-01-01T00:00Z', '1980-01-01T00:00Z', [['1972-01-07T00:44:30Z', 44.5]]],
  ])('%s from %s to %s', (zone, from, to, expected) => {
    expect(changes(zone, from, to)).toEqual(expected)
  })

  it('tells what Intl tells, at any instant to the year 9999, wherever it is asked before', () => {
    const zones = Intl.supportedValuesOf('timeZone')
    fc.assert(
      fc.property(
        fc.constantFrom(...zones),
        fc.array(fc.integer({ min: 0, max: Date.UTC(9999, 11, 31) }), { minLength: 1, maxLength: 4 }),
        fc.integer({ min: 0, max: Date.UTC(2040, 0, 1) }),
        (zone, far, near) => {
          for (const instant of [...far, near]) {
            const second = Math.floor(instant / 1000) * 1000
            expect(second + timelineOf(zone).offsetAt(second)).toBe(wallByIntl(zone, second))
          }
        },
      ),
      { numRuns: 400 },
    )
  })

  it('has segments that follow each other without a hole', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...Intl.supportedValuesOf('timeZone')),
        fc.integer({ min: 0, max: Date.UTC(2600, 0, 1) }),
        (zone, instant) => {
          const timeline = timelineOf(zone)
          const segment = timeline.segmentAt(instant)
          expect(segment.start).toBeLessThanOrEqual(instant)
          expect(segment.end).toBeGreaterThan(instant)
          const next = timeline.segmentAt(segment.end)
          expect(next.start).toBe(segment.end)
          expect(next.headShift).toBe(next.offset - segment.offset)
          expect(segment.tailShift).toBe(next.headShift)
        },
      ),
      { numRuns: 300 },
    )
  })
})

describe('readings of the wall', () => {
  const madrid = timelineOf('Europe/Madrid')

  it('are shown once, twice or never', () => {
    const wall = (text: string) => Date.parse(`${text}Z`)
    expect(readingsOf(madrid, wall('2026-05-01T12:00'))).toEqual({
      shown: [Date.parse('2026-05-01T10:00Z')],
      gapEnd: null,
    })
    expect(readingsOf(madrid, wall('2026-03-29T02:30'))).toEqual({
      shown: [],
      gapEnd: Date.parse('2026-03-29T01:00Z'),
    })
    const twice = [Date.parse('2026-10-25T00:30Z'), Date.parse('2026-10-25T01:30Z')]
    expect(readingsOf(madrid, wall('2026-10-25T02:30'))).toEqual({ shown: twice, gapEnd: null })
    expect(instantsOf(madrid, wall('2026-10-25T02:30'), { gap: 'skip', overlap: 'first' })).toEqual(
      twice.slice(0, 1),
    )
    expect(instantsOf(madrid, wall('2026-10-25T02:30'), { gap: 'skip', overlap: 'last' })).toEqual(
      twice.slice(1),
    )
    expect(instantsOf(madrid, wall('2026-03-29T02:30'), { gap: 'skip', overlap: 'both' })).toEqual([])
  })

  it('lead back to the instants that show them', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...Intl.supportedValuesOf('timeZone')),
        fc.integer({ min: 2 * 24 * hour, max: Date.UTC(2100, 0, 1) }),
        (zone, instant) => {
          const timeline = timelineOf(zone)
          const { shown, gapEnd } = readingsOf(timeline, instant + timeline.offsetAt(instant))
          expect(shown).toContain(instant)
          expect(gapEnd).toBeNull()
        },
      ),
      { numRuns: 300 },
    )
  })
})
