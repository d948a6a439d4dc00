import { cycleYears, dayOf, isLeapYear, monthIndexOf, weekdayOf, yearStart } from './civil.js'
import { MonthDays } from './month-days.js'
import type { ByDay, RecurrenceParts } from './rrule-syntax.js'

/** Fifty years of months. */
const keptMasks = 600

type DayTest = (month: MonthView, dayOfMonth: number) => boolean

interface MonthView {
  readonly year: number
  /** The day number of its first day. */
  readonly begin: number
  readonly length: number
  readonly yearBegin: number
  readonly yearLength: number
}

/**
 * The days on which a rule can fire: those that pass its BY parts and lie in a period of its interval. `start` is the
 * reading of DTSTART, which fills in what the rule leaves open.
 */
export function recurrenceDays(parts: RecurrenceParts, start: number): MonthDays {
  const full = withDefaults(parts, start)
  const tests = [...partTests(full), intervalTest(parts, start)].filter((test) => test !== null)
  const first = periodOf(parts, dayOf(start))
  const maskOf = (index: number, begin: number, length: number) => {
    const year = Math.floor(index / 12)
    const month = index - year * 12 + 1
    if (full.months !== null && !full.months.includes(month)) return 0
    if (parts.frequency === 'YEARLY' && (year - first) % parts.interval !== 0) return 0
    if (parts.frequency === 'MONTHLY' && (index - first) % parts.interval !== 0) return 0
    if (tests.length === 0) return -1 >>> (32 - length)
    const yearBegin = yearStart(year)
    const yearLength = isLeapYear(year) ? 366 : 365
    const view = { year, begin, length, yearBegin, yearLength }
    let mask = 0
    for (let day = 1; day <= length; day++) if (tests.every((test) => test(view, day))) mask |= 1 << (day - 1)
    return mask
  }
  const masks = new Map<number, number>()
  const known = (index: number, begin: number, length: number) => {
    let mask = masks.get(index)
    if (mask === undefined) {
      if (masks.size >= keptMasks) masks.clear()
      mask = maskOf(index, begin, length)
      masks.set(index, mask)
    }
    return mask
  }
  const subDaily = isSubDaily(parts)
  const patience = (cycleYears * (subDaily ? 1 : parts.interval) + 1) * 12
  return new MonthDays(known, patience, subDaily || parts.interval === 1)
}

export function isSubDaily({ frequency }: RecurrenceParts): boolean {
  return frequency === 'HOURLY' || frequency === 'MINUTELY' || frequency === 'SECONDLY'
}

/** A rule that names no day takes it from its start. */
function withDefaults(parts: RecurrenceParts, start: number): RecurrenceParts {
  const { frequency, weeks, yearDays, monthDays, days } = parts
  const day = dayOf(start)
  const weekday: ByDay[] = [{ weekday: weekdayOf(day), nth: null }]
  if (days !== null || yearDays !== null || monthDays !== null) return parts
  if (frequency === 'WEEKLY' || weeks !== null) return { ...parts, days: weekday }
  if (frequency !== 'YEARLY' && frequency !== 'MONTHLY') return parts
  const index = monthIndexOf(day)
  const date = new Date(day * 86_400_000).getUTCDate()
  const months = frequency === 'YEARLY' && parts.months === null ? [(index % 12) + 1] : parts.months
  return { ...parts, months, monthDays: [date] }
}

function partTests(parts: RecurrenceParts): (DayTest | null)[] {
  const { monthDays, yearDays, weeks, days } = parts
  return [
    monthDays === null
      ? null
      : ({ length }, day) => monthDays.includes(day) || monthDays.includes(day - length - 1),
    yearDays === null ? null : yearDayTest(yearDays),
    weeks === null ? null : weekTest(weeks, parts.weekStart),
    days === null ? null : weekdayTest(days, parts.frequency === 'MONTHLY' || parts.months !== null),
  ]
}

function yearDayTest(yearDays: readonly number[]): DayTest {
  return ({ begin, yearBegin, yearLength }, day) => {
    const dayOfYear = begin + day - yearBegin
    return yearDays.includes(dayOfYear) || yearDays.includes(dayOfYear - yearLength - 1)
  }
}

/** Counted weekdays are counted in the month where the rule names months, and in the year otherwise. */
function weekdayTest(days: readonly ByDay[], inMonth: boolean): DayTest {
  return ({ begin, length, yearBegin, yearLength }, dayOfMonth) => {
    const day = begin + dayOfMonth - 1
    const weekday = weekdayOf(day)
    const before = inMonth ? dayOfMonth - 1 : day - yearBegin
    const after = (inMonth ? length : yearLength) - 1 - before
    return days.some(
      (wanted) =>
        wanted.weekday === weekday &&
        (wanted.nth === null ||
          wanted.nth === Math.floor(before / 7) + 1 ||
          wanted.nth === -Math.floor(after / 7) - 1),
    )
  }
}

/** Week 1 of a year is the first with four days in it. Days beside New Year may be in a week of the other year. */
function weekTest(weeks: readonly number[], weekStart: number): DayTest {
  const firstWeek = (year: number) => {
    const begin = yearStart(year)
    const intoWeek = (weekdayOf(begin) - weekStart + 7) % 7
    return intoWeek <= 3 ? begin - intoWeek : begin - intoWeek + 7
  }
  return ({ begin, year }, dayOfMonth) => {
    const day = begin + dayOfMonth - 1
    const weekYear = day < firstWeek(year) ? year - 1 : day >= firstWeek(year + 1) ? year + 1 : year
    const week = Math.floor((day - firstWeek(weekYear)) / 7) + 1
    const count = (firstWeek(weekYear + 1) - firstWeek(weekYear)) / 7
    return weeks.includes(week) || weeks.includes(week - count - 1)
  }
}

/** The number of the year, month, week or day that a day lies in. */
export function periodOf(parts: RecurrenceParts, day: number): number {
  switch (parts.frequency) {
    case 'YEARLY':
      return Math.floor(monthIndexOf(day) / 12)
    case 'MONTHLY':
      return monthIndexOf(day)
    case 'WEEKLY':
      return Math.floor((day + 4 - parts.weekStart) / 7)
    default:
      return day
  }
}

function intervalTest(parts: RecurrenceParts, start: number): DayTest | null {
  if (parts.interval === 1 || (parts.frequency !== 'DAILY' && parts.frequency !== 'WEEKLY')) return null
  const first = periodOf(parts, dayOf(start))
  return ({ begin }, day) => (periodOf(parts, begin + day - 1) - first) % parts.interval === 0
}
