import { weekdayOf } from './civil.js'
import type { CronField, CronFields, SpecialDay } from './cron-syntax.js'
import { MonthDays } from './month-days.js'
import { quote, refusal } from './refusal.js'

/*
 * Which days of a month fit depends on its length and on the weekday of its first day alone: 28 shapes of months. A
 * mask has bit 0 for the first day.
 */

const shapes = 28
/** The 29th of February is a given weekday every 28 years, and after 40 where a century has no leap year. */
const patienceMonths = 41 * 12

function shapeOf(length: number, firstWeekday: number): number {
  return (length - 28) * 7 + firstWeekday
}

const monthNames = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
]
/** The lengths that each month can have. */
const monthLengths = [[31], [28, 29], [31], [30], [31], [30], [31], [31], [30], [31], [30], [31]]

/** The days on which a cron expression fires. Throws schedule_never_fires, with the reason, when there is none. */
export function cronDays(fields: CronFields, source: string, pointer: string): MonthDays {
  const masks = Int32Array.from({ length: shapes }, (_, shape) => maskOf(fields, shape))
  checkEverFires(fields, masks, source, pointer)
  const months = fields.months.values.reduce((set, month) => set | (1 << (month - 1)), 0)
  return new MonthDays(
    (index, begin, length) => {
      const named = (months >>> (index - Math.floor(index / 12) * 12)) & 1
      return named === 0 ? 0 : (masks[shapeOf(length, weekdayOf(begin))] ?? 0)
    },
    patienceMonths,
    true,
  )
}

function maskOf({ days, weekdays, bothDays }: CronFields, shape: number): number {
  const length = 28 + Math.floor(shape / 7)
  const first = shape % 7
  const byDay = monthDayMask(days, length, first)
  const byWeekday = weekdayMask(weekdays, length, first)
  // The custom of cron: two day fields that both restrict widen the choice.
  return days.any || weekdays.any || bothDays ? byDay & byWeekday : byDay | byWeekday
}

const bit = (day: number) => 1 << (day - 1)

function monthDayMask(field: CronField, length: number, first: number): number {
  let mask = 0
  for (const day of field.values) if (day <= length) mask |= bit(day)
  for (const special of field.special) {
    const day = specialDay(special, length, first)
    if (day !== null) mask |= bit(day)
  }
  return mask
}

function weekdayMask(field: CronField, length: number, first: number): number {
  let mask = 0
  for (const weekday of field.values) {
    for (let day = firstOf(weekday, first); day <= length; day += 7) mask |= bit(day)
  }
  for (const special of field.special) {
    const day = specialDay(special, length, first)
    if (day !== null) mask |= bit(day)
  }
  return mask
}

/** The first day of the month that is this weekday. */
function firstOf(weekday: number, first: number): number {
  return 1 + ((weekday - first + 7) % 7)
}

function specialDay(special: SpecialDay, length: number, first: number): number | null {
  switch (special.kind) {
    case 'last':
      return within(length - special.back, length)
    case 'nearest':
      return nearestWorkingDay(special.day, length, first)
    case 'nearestLast':
      return nearestWorkingDay(length - special.back, length, first)
    case 'nth':
      return within(firstOf(special.weekday, first) + 7 * (special.nth - 1), length)
    case 'lastOf': {
      const earliest = firstOf(special.weekday, first)
      return earliest + 7 * Math.floor((length - earliest) / 7)
    }
  }
}

function within(day: number, length: number): number | null {
  return day >= 1 && day <= length ? day : null
}

function nearestWorkingDay(day: number, length: number, first: number): number | null {
  if (within(day, length) === null) return null
  const weekday = (first + day - 1) % 7
  if (weekday === 6) return day === 1 ? 3 : day - 1
  if (weekday === 0) return day === length ? day - 2 : day + 1
  return day
}

function checkEverFires(fields: CronFields, masks: Int32Array, source: string, pointer: string): void {
  const lengths = fields.months.values.flatMap((month) => monthLengths[month - 1] ?? [])
  const everFires = lengths.some((length) =>
    [0, 1, 2, 3, 4, 5, 6].some((first) => masks[shapeOf(length, first)] !== 0),
  )
  if (everFires) return
  const names = fields.months.values.map((month) => monthNames[month - 1]).join(', ')
  const longest = Math.max(...lengths)
  const earliest = Math.min(...fields.days.values, ...fields.days.special.map(earliestDay))
  const why =
    earliest > longest
      ? `it asks for day ${earliest}, and ${names} never has more than ${longest} days`
      : fields.weekdays.any
        ? `it counts back further than ${names} has days (${longest})`
        : `no day of ${names} fits both day fields`
  throw refusal(
    'schedule_never_fires',
    pointer,
    `${quote(source)} never fires: ${why}.`,
    'Choose a day that the month has, or "L" for its last day.',
  )
}

function earliestDay(special: SpecialDay): number {
  return special.kind === 'nearest' ? special.day : 1
}
