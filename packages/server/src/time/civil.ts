/*
 * Instants and walls are integer milliseconds since 1970-01-01T00:00 (of UTC, and of the clocks on the wall). A day
 * is a number of days since then, a month index is year * 12 + month with months from 0.
 */

export const secondMs = 1000
export const minuteMs = 60_000
export const hourMs = 3_600_000
export const dayMs = 86_400_000

/** Ticks lie in the years 1970 to 9999: what four digits of a year can write, and what zone data can say. */
export const earliestInstant = 0
export const latestInstant = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

/** Weekdays and leap years repeat after 400 years. */
export const cycleYears = 400
export const cycleDays = 146_097

/** Days from 1970-01-01 to the first of the month. Plain arithmetic: a Date would take ten times as long. */
export function monthStart(monthIndex: number): number {
  // Years are counted from March, so that the leap day is the last day of a year.
  const shifted = monthIndex - 2
  const year = Math.floor(shifted / 12)
  const month = shifted - year * 12
  const leapDays = Math.floor(year / 4) - Math.floor(year / 100) + Math.floor(year / 400)
  return year * 365 + leapDays + Math.floor((153 * month + 2) / 5) - 719_468
}

export function monthIndexOf(day: number): number {
  const shifted = day + 719_468
  const era = Math.floor(shifted / cycleDays)
  const dayOfEra = shifted - era * cycleDays
  const yearOfEra = Math.floor(
    (dayOfEra -
      Math.floor(dayOfEra / 1460) +
      Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / 146_096)) /
      365,
  )
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100))
  return (era * 400 + yearOfEra) * 12 + Math.floor((5 * dayOfYear + 2) / 153) + 2
}

export function dayNumber(year: number, month: number, dayOfMonth: number): number {
  return monthStart(year * 12 + month - 1) + dayOfMonth - 1
}

export function yearOf(day: number): number {
  return Math.floor(monthIndexOf(day) / 12)
}

export function yearStart(year: number): number {
  return monthStart(year * 12)
}

/** Sunday is 0. */
export function weekdayOf(day: number): number {
  return (((day + 4) % 7) + 7) % 7
}

export function isLeapYear(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
}

export function dayOf(wall: number): number {
  return Math.floor(wall / dayMs)
}

/** The date of a day as people write it: 2026-12-25. */
export function dateText(day: number): string {
  return new Date(day * dayMs).toISOString().slice(0, 10)
}
