import { CarillonError } from '@carillon/contract'
import { describe, expect, it } from 'vitest'
import { effort, longestSearch } from './effort.js'
import { parseSchedule, type ScheduleSource } from './schedule.js'

/** A stream of numbers in [0, 1) that is the same in each run. */
function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

const next = random(20_260_329)
const below = (limit: number) => Math.floor(next() * limit)
const pick = <T>(values: readonly T[]): T => values[below(values.length)] as T
const times = (most: number, make: () => string, between = '') =>
  Array.from({ length: 1 + below(most) }, make).join(between)

const letters = [...'0123456789*/-,#LW?+@ TZ:.=;meveryMONFREQ', '\u0000', '\u2028', '\ud800', 'ß', '٣', '１']
const item = () =>
  pick([
    () => '*',
    () => String(below(70)),
    () => `${below(62)}-${below(62)}`,
    () => `*/${below(62)}`,
    () => `${below(60)}-${below(60)}/${below(9)}`,
    () => `${below(60)}/${below(99)}`,
    () =>
      pick([
        'L',
        'LW',
        'L-3',
        'L-31',
        '15W',
        '31W',
        '?',
        'MON#2',
        '5L',
        '7#5',
        '+FRI',
        'FRI-MON',
        'NOV-FEB',
        'JAN',
      ]),
  ])()
const cron = () => times(7, () => times(3, item, ','), ' ')
const part = () =>
  pick([
    () => `FREQ=${pick(['YEARLY', 'MONTHLY', 'WEEKLY', 'DAILY', 'HOURLY', 'MINUTELY', 'SECONDLY', 'NEVER'])}`,
    () => `INTERVAL=${below(10) === 0 ? below(2_000_000) : below(40)}`,
    () => `COUNT=${below(10) === 0 ? below(2_000_000) : below(40)}`,
    () => `UNTIL=${pick(['20270101', '20270101T000000Z', '99991231', '20260230', 'x'])}`,
    () => `BYMONTH=${times(2, () => String(below(14)), ',')}`,
    () => `BYMONTHDAY=${times(2, () => String(below(66) - 33), ',')}`,
    () => `BYYEARDAY=${times(2, () => String(below(740) - 370), ',')}`,
    () => `BYWEEKNO=${below(110) - 55}`,
    () => `BYDAY=${times(2, () => `${pick(['', '', '1', '-1', '53'])}${pick(['MO', 'SU', 'XX'])}`, ',')}`,
    () => `BYHOUR=${times(2, () => String(below(25)), ',')}`,
    () => `BYMINUTE=${times(2, () => String(below(61)), ',')}`,
    () => `BYSECOND=${times(2, () => String(below(61)), ',')}`,
    () => `BYSETPOS=${times(2, () => String(below(9) - 4), ',')}`,
    () => `WKST=${pick(['MO', 'SU', 'ZZ'])}`,
  ])()
const recurrence = () =>
  `FREQ=${pick(['YEARLY', 'MONTHLY', 'WEEKLY', 'DAILY', 'HOURLY', 'MINUTELY', 'SECONDLY'])};${times(4, part, ';')}`
const noise = () => times(30, () => pick(letters))
const instant = () =>
  `${pick(['1969', '1970', '2026', '9999', '10000'])}-${pick(['01', '02', '13'])}-${pick(['01', '29', '30'])}${pick(['', 'T02:30', 'T25:00', 'T23:59:59.999'])}${pick(['', 'Z', '+14:00', '-25:00'])}`
const texts = [
  cron,
  cron,
  noise,
  instant,
  () => `@${noise()}`,
  () => `@every ${below(99)}${pick(['s', 'm', 'h', 'd', 'x', ''])}`,
]

const zones = ['UTC', 'Europe/Madrid', 'Australia/Lord_Howe', 'Pacific/Apia']

/** Reads a source, asks it for some ticks, and tells the steps that took. */
function stepsOf(source: ScheduleSource): { steps: number; read: boolean } {
  const before = effort.steps
  let read = false
  try {
    const schedule = parseSchedule(source)
    read = true
    const tick = schedule.next(Date.UTC(2026, 2, 28))
    if (tick !== null) schedule.prev(tick - 1)
  } catch (error) {
    if (!(error instanceof CarillonError)) throw error
  }
  return { steps: effort.steps - before, read }
}

describe('whatever is given', () => {
  // Three searches each: for the first tick of all, the next and the previous one.
  const most = 3 * longestSearch

  it('100,000 texts are read or refused by the catalogue, each within bounds', () => {
    let worst = 0
    let accepted = 0
    for (let index = 0; index < 100_000; index++) {
      const schedule = pick(texts)()
      const { steps, read } = stepsOf({
        schedule,
        timezone: pick(zones),
        anchor: 0,
        dst_gap: pick(['run_after', 'skip']),
      })
      worst = Math.max(worst, steps)
      if (read) accepted++
    }
    expect(worst).toBeLessThan(most)
    expect(accepted).toBeGreaterThan(2000)
  }, 120_000)

  it('3,000 recurrence rules are, too', () => {
    let worst = { steps: 0, rrule: '' }
    let accepted = 0
    for (let index = 0; index < 3000; index++) {
      const rrule = recurrence()
      const { steps, read } = stepsOf({
        schedule: { rrule, dtstart: '2026-01-01T00:00:00' },
        timezone: pick(zones),
        anchor: 0,
      })
      if (steps > worst.steps) worst = { steps, rrule }
      if (read) accepted++
    }
    // The end of a COUNT is looked for once, day by day if need be, to the year 9999.
    expect(worst.steps, worst.rrule).toBeLessThan(most + 8000 * 366)
    expect(accepted).toBeGreaterThan(500)
  }, 120_000)

  it('objects of any shape are, too', () => {
    const values = [
      null,
      0,
      -1,
      1.5,
      Number.NaN,
      '',
      'x',
      '0 9 * * *',
      [],
      {},
      true,
      '2026-01-01T00:00:00Z',
      'FREQ=DAILY',
    ]
    const names = [
      'cron',
      'every',
      'at',
      'rrule',
      'anchor',
      'dtstart',
      'day_match',
      '__proto__',
      'constructor',
      'x',
    ]
    for (let index = 0; index < 5000; index++) {
      const rule = Object.fromEntries(Array.from({ length: below(4) }, () => [pick(names), pick(values)]))
      const schedule = pick([
        rule,
        [rule, rule],
        [rule, pick(values)],
        pick(values),
      ]) as ScheduleSource['schedule']
      const exclude = pick([[], ['x'], ['2026-01-01'], ['__proto__'], ['2026-01-01/']])
      stepsOf({
        schedule,
        timezone: 'UTC',
        anchor: 0,
        exclude,
        starts_at: pick([null, 'x', '2026-01-01T00:00Z']),
      })
    }
  })
})
