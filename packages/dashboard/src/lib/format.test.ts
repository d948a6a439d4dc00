import { describe, expect, it } from 'vitest'
import {
  brief,
  count,
  duration,
  instant,
  percentile,
  plural,
  relative,
  scheduleText,
  short,
  targetText,
  utc,
  wall,
} from './format.js'

const second = 1_000
const minute = 60 * second
const hour = 60 * minute

describe('durations', () => {
  it.each([
    [0, '0 ms'],
    [999, '999 ms'],
    [1_234, '1.2 s'],
    [59_999, '59 s'],
    [200 * second, '3 m 20 s'],
    [hour, '1 h'],
    [2 * hour + 5 * minute, '2 h 5 m'],
    [76 * hour, '3 d 4 h'],
    [-1_500, '−1.5 s'],
  ])('%i ms is %s', (ms, words) => expect(duration(ms)).toBe(words))
})

describe('relative times', () => {
  it.each([
    [500, 'now'],
    [4_000, 'in 4 s'],
    [-3 * minute, '3 m ago'],
    [-47 * hour, '47 h ago'],
    [49 * hour, 'in 2 d'],
  ])('%i ms from now is %s', (ms, words) => expect(relative(1e12 + ms, 1e12)).toBe(words))
})

describe('clocks', () => {
  const before = Date.parse('2026-10-25T00:30:00Z')
  const after = Date.parse('2026-10-25T01:30:00Z')

  it('show the same reading twice when they are turned back, and the offset tells them apart', () => {
    expect(wall(before, 'Europe/Madrid')).toMatchObject({
      time: '02:30:00',
      offset: '+02:00',
      weekday: 'Sun',
    })
    expect(wall(after, 'Europe/Madrid')).toMatchObject({ time: '02:30:00', offset: '+01:00' })
    expect(wall(before, 'UTC')).toMatchObject({ date: '2026-10-25', time: '00:30:00', offset: 'Z' })
  })

  it('name the day only where it is another', () => {
    expect(instant(after, 'UTC', before)).toBe('01:30:00')
    expect(instant(after, 'Asia/Tokyo', before + 24 * hour)).toBe('2026-10-25 10:30:00')
  })

  it('fall back to UTC for a zone that the browser does not know', () => {
    expect(wall(before, 'Mars/Olympus')).toMatchObject({ time: '00:30:00', offset: '+00:00' })
  })

  it('write UTC without needless zeros', () => expect(utc(before)).toBe('2026-10-25 00:30:00Z'))
})

it('numbers are grouped, shortened and counted in words', () => {
  expect(count(1_234_567)).toBe('1 234 567')
  expect([9_999, 12_345, 123_456, 2_500_000].map(short)).toEqual(['9 999', '12.3k', '123k', '2.5M'])
  expect([plural(1, 'tick'), plural(2, 'tick'), plural(2, 'entry', 'entries')]).toEqual([
    '1 tick',
    '2 ticks',
    '2 entries',
  ])
})

it('a schedule is one line, in whatever form it was given', () => {
  expect(scheduleText('0 9 * * 1')).toBe('0 9 * * 1')
  expect(scheduleText([{ cron: '0 9 * * *' }, { every: 90 }, { at: '2026-12-01T00:00:00Z' }])).toBe(
    '0 9 * * * + @every 90s + 2026-12-01T00:00:00Z',
  )
  expect(scheduleText({ rrule: 'FREQ=DAILY' })).toBe('FREQ=DAILY')
})

it('a target is one line', () => {
  expect(targetText({ type: 'http', url: 'https://a.test/x' })).toBe('POST https://a.test/x')
  expect(targetText({ type: 'task', task: 'send' })).toBe('send')
  expect(targetText({ type: 'command', argv: ['ls', '-l'] })).toBe('ls -l')
})

it('percentiles are of the numbers that are there', () => {
  expect(percentile([], 0.5)).toBeNull()
  expect(percentile([3, 1, 2], 0.5)).toBe(2)
  expect(
    percentile(
      Array.from({ length: 100 }, (_, index) => index + 1),
      0.95,
    ),
  ).toBe(95)
})

describe('an error in a narrow place', () => {
  it.each([
    ['POST http://a.test:1/charge answered 422: no customer', 'answered 422: no customer'],
    ['GET https://a.test/x did not answer within 5 s', 'did not answer within 5 s'],
    ['POST http://a.test', 'POST http://a.test'],
    ['Error: POST http://a.test answered 500', 'Error: POST http://a.test answered 500'],
    ['', ''],
  ])('%s', (error, shown) => expect(brief(error)).toBe(shown))
})
