import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { refusalOf } from '../../test/kit/ticks.js'
import { readCron } from './cron-rule.js'
import { effort } from './effort.js'
import { utcText } from './iso-text.js'

const day = 86_400_000
const read = (text: string, andDays = false) => readCron(text, '/schedule', andDays)
const shown = (wall: number | null) => (wall === null ? null : new Date(wall).toISOString().slice(0, 19))
const at = (text: string) => Date.parse(`${text}Z`)

function walls(text: string, after: string, count: number, andDays = false): (string | null)[] {
  const rule = read(text, andDays)
  const found: (string | null)[] = []
  let wall: number | null = at(after)
  while (wall !== null && found.length < count) {
    wall = rule.nextWall(wall)
    found.push(shown(wall)?.replace(/T00:00:00$/, '') ?? null)
  }
  return found
}

describe('what a cron expression names', () => {
  it.each<[string, string, string[]]>([
    ['0 0 L * *', '2028-01-31T12:00', ['2028-02-29', '2028-03-31', '2028-04-30']],
    ['0 0 L-3 * *', '2026-01-01T00:00', ['2026-01-28', '2026-02-25', '2026-03-28']],
    ['0 0 L-30 * *', '2026-01-01T00:00', ['2026-03-01', '2026-05-01', '2026-07-01']],
    [
      '0 0 LW * *',
      '2026-01-01T00:00',
      ['2026-01-30', '2026-02-27', '2026-03-31', '2026-04-30', '2026-05-29'],
    ],
    ['0 0 L-2W * *', '2026-01-01T00:00', ['2026-01-29', '2026-02-26', '2026-03-30', '2026-04-28']],
    [
      '0 0 15W * *',
      '2026-01-01T00:00',
      ['2026-01-15', '2026-02-16', '2026-03-16', '2026-04-15', '2026-05-15'],
    ],
    ['0 0 1W 8 *', '2026-01-01T00:00', ['2026-08-03', '2027-08-02']],
    [
      '0 0 31W * *',
      '2026-01-01T00:00',
      ['2026-01-30', '2026-03-31', '2026-05-29', '2026-07-31', '2026-08-31'],
    ],
    ['0 0 30W 5 *', '2026-01-01T00:00', ['2026-05-29']],
    ['0 0 * * MON#1', '2026-01-01T00:00', ['2026-01-05', '2026-02-02', '2026-03-02']],
    ['0 0 * * 7#5', '2026-01-01T00:00', ['2026-03-29', '2026-05-31', '2026-08-30']],
    ['0 0 * * friL', '2026-01-01T00:00', ['2026-01-30', '2026-02-27', '2026-03-27']],
    [
      '0 0 * * MON#2,MON#4,SUNL',
      '2026-01-01T00:00',
      ['2026-01-12', '2026-01-25', '2026-01-26', '2026-02-09'],
    ],
    ['0 0 1,15W,L * ?', '2026-02-01T12:00', ['2026-02-16', '2026-02-28', '2026-03-01', '2026-03-16']],
    [
      '0 0 * * FRI-MON',
      '2026-01-01T00:00',
      ['2026-01-02', '2026-01-03', '2026-01-04', '2026-01-05', '2026-01-09'],
    ],
    ['0 0 * * 5-7', '2026-01-01T00:00', ['2026-01-02', '2026-01-03', '2026-01-04', '2026-01-09']],
    ['0 0 * * 7-2', '2026-01-01T00:00', ['2026-01-04', '2026-01-05', '2026-01-06', '2026-01-11']],
    ['0 0 * * 7/3', '2026-01-01T00:00', ['2026-01-03', '2026-01-04', '2026-01-07', '2026-01-10']],
    ['0 0 1 NOV-FEB *', '2026-02-01T00:00', ['2026-11-01', '2026-12-01', '2027-01-01', '2027-02-01']],
    ['0 0 29-3/2 * *', '2026-01-01T00:00', ['2026-01-02', '2026-01-29', '2026-01-31', '2026-02-02']],
    [
      '0 22-2 * * *',
      '2026-01-01T02:30',
      ['2026-01-01T22:00:00', '2026-01-01T23:00:00', '2026-01-02', '2026-01-02T01:00:00'],
    ],
    [
      '5/15 0 * * *',
      '2026-01-01T00:00',
      [
        '2026-01-01T00:05:00',
        '2026-01-01T00:20:00',
        '2026-01-01T00:35:00',
        '2026-01-01T00:50:00',
        '2026-01-02T00:05:00',
      ],
    ],
    [
      '58-2 0 0 * * *',
      '2026-01-01T00:00',
      [
        '2026-01-01T00:00:01',
        '2026-01-01T00:00:02',
        '2026-01-01T00:00:58',
        '2026-01-01T00:00:59',
        '2026-01-02',
      ],
    ],
    ['0 0 13 * FRI', '2026-01-08T00:00', ['2026-01-09', '2026-01-13', '2026-01-16']],
    ['0 0 13 * +FRI', '2026-01-08T00:00', ['2026-02-13', '2026-03-13', '2026-11-13']],
    ['0 0 1-7 * +1', '2026-01-01T00:00', ['2026-01-05', '2026-02-02', '2026-03-02']],
    ['0 0 1-31 * MON', '2026-01-01T00:00', ['2026-01-02', '2026-01-03', '2026-01-04']],
    ['0 0 */10 * MON', '2026-01-01T00:00', ['2026-01-05', '2026-01-11', '2026-01-12']],
    ['0 0 */1 * MON', '2026-01-01T00:00', ['2026-01-05', '2026-01-12']],
    // No leap year in 2100.
    ['0 0 29 2 *', '2096-01-01T00:00', ['2096-02-29', '2104-02-29']],
    ['0 0 29 2 +MON', '2060-01-01T00:00', ['2072-02-29', '2112-02-29']],
  ])('%s after %s', (text, after, expected) => {
    expect(walls(text, after, expected.length)).toEqual(expected)
  })

  it('fits both day fields where that is asked for beside the expression', () => {
    expect(walls('0 0 13 * FRI', '2026-01-08T00:00', 2, true)).toEqual(['2026-02-13', '2026-03-13'])
    expect(read('0 0 13 * +FRI')).toBe(read('0 0 13 * FRI', true))
  })

  it('ends with the year 9999', () => {
    expect(walls('0 0 31 12 *', '9998-06-01T00:00', 3)).toEqual(['9998-12-31', '9999-12-31', null])
    expect(read('0 0 29 2 *').nextWall(at('9996-02-29T00:00'))).toBeNull()
    expect(shown(read('59 59 23 31 12 *').prevWall(at('9999-12-31T23:59:59')))).toBe('9999-12-31T23:59:59')
  })

  it('finds the rarest day in either direction within few steps', () => {
    for (const weekday of ['MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT', 'SUN']) {
      const rule = read(`0 0 29 2 +${weekday}`)
      for (let year = 1970; year < 2400; year += 5) {
        const steps = effort.steps
        const next = rule.nextWall(Date.UTC(year, 0, 1)) ?? 0
        const prev = rule.prevWall(next - 1)
        expect(effort.steps - steps).toBeLessThan(2 * 12 * 41)
        expect(new Date(next).getUTCDate()).toBe(29)
        expect(next - Date.UTC(year, 0, 1)).toBeLessThan(41 * 365.25 * day)
        expect(rule.nextWall(prev ?? 0)).toBe(next)
      }
    }
  })
})

describe('cron expressions without a day', () => {
  it.each([
    ['0 0 30 2 *', /day 30, and February never has more than 29 days/],
    ['0 0 31 4,JUN *', /day 31, and April, June never has more than 30 days/],
    ['0 0 L-29 2 *', /counts back further than February has days \(29\)/],
    ['0 0 30W 2 *', /day 30, and February/],
    ['0 0 30 2 +MON', /day 30, and February/],
    ['0 0 1-7 * +MON#5', /no day of January, .*December fits both day fields/],
    ['0 0 8 * +MON#1', /fits both day fields/],
  ])('%s are refused with the reason', (text, message) => {
    const error = refusalOf(() => read(text))
    expect(error.code).toBe('schedule_never_fires')
    expect(error.message).toMatch(message)
  })

  it('fire all the same where the other day field is enough', () => {
    expect(walls('0 0 30 2 MON', '2026-01-31T00:00', 1)).toEqual(['2026-02-02'])
  })
})

describe('refusals of an expression', () => {
  it.each([
    ['61 * * * *', "'61' is not a minute (0 to 59), at character 1."],
    ['0 9,25 * * *', "'25' is not an hour (0 to 23), at character 5."],
    ['  0  9 32 * *', "'32' is not a day of the month (1 to 31), at character 8."],
    ['0 9 * * MON,FOO', "'FOO' is not a day of the week (0 to 7, or SUN to SAT), at character 13."],
    ['0 9 * * +FOO', "'FOO' is not a day of the week (0 to 7, or SUN to SAT), at character 10."],
    ['0 9 1-2-3 * *', "'1-2-3' has more than one dash, at character 5."],
    ['0 9 L-31 * *', "'L-31' is before the month begins, at character 5."],
    ['0 9 L-x * *', "'L' in 'L-X' is not a day of the month (1 to 31), at character 5."],
    ['0 9 0W * *', "'0' in '0W' is not a day of the month (1 to 31), at character 5."],
    ['0 9 * * L', "'L' is not a day of the week (0 to 7, or SUN to SAT), at character 9."],
    ['0 9 * * MON#0', "'MON#0' names no weekday of a month, at character 9."],
    ['0 9 ?/2 * *', "'?' in '?/2' is not a day of the month (1 to 31), at character 5."],
    ['? 9 * * *', "'?' is not a minute (0 to 59), at character 1."],
    ['0 9 * * 1/8', "'8' in '1/8' is not a step of the day of the week field, at character 9."],
  ])('%j say where and why', (text, message) => {
    const error = refusalOf(() => read(text))
    expect(error.code).toBe('invalid_schedule')
    expect(error.message).toBe(message)
    expect(error.hint).not.toBe('')
  })
})

const number = (min: number, max: number) => fc.integer({ min, max })
const field = (min: number, max: number) =>
  fc.oneof(
    fc.constant('*'),
    number(2, Math.min(max, 20)).map((step) => `*/${step}`),
    fc.uniqueArray(number(min, max), { minLength: 1, maxLength: 4 }).map((values) => values.join()),
    fc.tuple(number(min, max), number(min, max)).map(([from, to]) => `${from}-${to}`),
  )
const days = fc.oneof(
  fc.constantFrom('*', '*', '?', 'L', 'L-2', 'LW', '15W', '1W', '31W', '31', '29,L'),
  field(1, 31),
)
const weekdays = fc.oneof(
  fc.constantFrom('*', '*', '*', '1-5', 'MON#1', '0#5', '5L', '+FRI', '+1-5', 'SAT-MON'),
  field(0, 7),
)
const expressions = fc
  .tuple(field(0, 59), field(0, 59), field(0, 23), days, fc.oneof(fc.constant('*'), field(1, 12)), weekdays)
  .map((fields) => fields.join(' '))
  .filter((text) => {
    try {
      return read(text) !== null
    } catch {
      return false
    }
  })

describe('next, previous and count of readings', () => {
  it('agree with each other', () => {
    fc.assert(
      fc.property(
        expressions,
        number(Date.UTC(1970, 1, 1), Date.UTC(9990, 0, 1)),
        fc.oneof(number(0, 3 * day), number(0, 40 * 365 * day)),
        (text, from, length) => {
          const rule = read(text)
          const next = rule.nextWall(from)
          if (next === null) return
          expect(next).toBeGreaterThan(from)
          expect(rule.prevWall(next)).toBe(next)
          expect(rule.countWalls(next, next)).toBe(1)
          expect(rule.countWalls(from + 1, next)).toBe(1)
          expect(rule.countWalls(from + 1, next - 1)).toBe(0)
          const before = rule.prevWall(next - 1)
          if (before !== null) {
            expect(before).toBeLessThanOrEqual(from)
            expect(rule.nextWall(before)).toBe(next)
          }
          const to = from + length
          const middle = Math.floor((from + to) / 2)
          expect(rule.countWalls(from, to)).toBe(
            rule.countWalls(from, middle) + rule.countWalls(middle + 1, to),
          )
          let counted = 0
          for (let wall = rule.nextWall(from - 1); wall !== null && wall <= to; wall = rule.nextWall(wall)) {
            if (++counted > 2000) return
          }
          expect(rule.countWalls(from, to)).toBe(counted)
        },
      ),
      { numRuns: 500 },
    )
  })

  it('are answered with the days that a calendar has', () => {
    fc.assert(
      fc.property(expressions, number(0, 5000), (text, month) => {
        const rule = read(text)
        const begin = Date.UTC(1970, month, 1)
        const end = Date.UTC(1970, month + 1, 1)
        const found = new Set<number>()
        for (let wall = rule.nextWall(begin - 1); wall !== null && wall < end; ) {
          found.add(new Date(wall).getUTCDate())
          wall = rule.nextWall(Math.floor(wall / day) * day + day - 1)
        }
        const fits = dayTest(text)
        for (let date = begin; date < end; date += day) {
          expect([utcText(date), found.has(new Date(date).getUTCDate())]).toEqual([
            utcText(date),
            fits(new Date(date)),
          ])
        }
      }),
      { numRuns: 200 },
    )
  })
})

/** The rules about days once more, date by date. */
function dayTest(text: string): (date: Date) => boolean {
  const [, , , dom = '', months = '', dow = ''] = text.split(' ')
  const both = dow.startsWith('+')
  const weekdayField = dow.replace('+', '')
  const any = (field: string) => field === '*' || field === '?'
  const inMonth = (date: Date) => numbers(months, 1, 12).has(date.getUTCMonth() + 1)
  const onDay = (date: Date) => dom.split(',').some((item) => fitsDay(item, date))
  const onWeekday = (date: Date) => weekdayField.split(',').some((item) => fitsWeekday(item, date))
  return (date) => {
    if (!inMonth(date)) return false
    if (any(dom)) return onWeekday(date)
    if (any(weekdayField)) return onDay(date)
    return both ? onDay(date) && onWeekday(date) : onDay(date) || onWeekday(date)
  }
}

const lastOf = (date: Date) =>
  new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate()

function fitsDay(item: string, date: Date): boolean {
  const last = lastOf(date)
  const today = date.getUTCDate()
  if (item.startsWith('L-')) return today === last - Number(item.slice(2))
  if (item === 'L') return today === last
  if (!item.endsWith('W')) return numbers(item, 1, 31).has(today)
  const wanted = item === 'LW' ? last : Number(item.slice(0, -1))
  if (wanted > last) return false
  const works = (candidate: number) => {
    const weekday = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), candidate)).getUTCDay()
    return candidate >= 1 && candidate <= last && weekday !== 0 && weekday !== 6
  }
  return today === [0, -1, 1, -2, 2].map((by) => wanted + by).find(works)
}

const names = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT']

function fitsWeekday(item: string, date: Date): boolean {
  const plain = names.reduce((text, name, index) => text.replaceAll(name, String(index)), item)
  const weekday = date.getUTCDay()
  const [wanted = '', nth] = plain.split('#')
  if (nth !== undefined)
    return weekday === Number(wanted) % 7 && Math.ceil(date.getUTCDate() / 7) === Number(nth)
  if (plain.endsWith('L')) return weekday === Number(plain[0]) % 7 && date.getUTCDate() + 7 > lastOf(date)
  const set = numbers(plain === '?' ? '*' : plain, 0, plain.includes('7') ? 7 : 6)
  return set.has(weekday) || (weekday === 0 && set.has(7))
}

function numbers(field: string, min: number, max: number): Set<number> {
  const all = new Set<number>()
  for (const item of field.split(',')) {
    const [range = '', step = '1'] = item.split('/')
    const [low, high] = range === '*' ? [min, max] : range.split('-').map(Number)
    let value = low ?? min
    for (let count = 0; count < 100; count++) {
      if (count % Number(step) === 0) all.add(value)
      if (value === (high ?? low)) break
      value = value === max ? min : value + 1
    }
  }
  return all
}
