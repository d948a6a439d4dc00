// @ts-check
// Does a wall reading match a recurrence rule of RFC 5545? The common parts of it, read from the RFC: each wall time is
// judged by itself, by how far it lies from DTSTART, and nothing is expanded.
import { DAY, HOUR, MINUTE } from './wall-clock.mjs'

const weekdays = ['SU', 'MO', 'TU', 'WE', 'TH', 'FR', 'SA']

/** @typedef {import('./cron-matcher.mjs').WallParts} WallParts */
/** @typedef {import('./cron-matcher.mjs').Question} Question */

/**
 * @param {string} rrule FREQ, INTERVAL, BYMONTH, BYMONTHDAY, BYDAY, BYHOUR, BYMINUTE, UNTIL (local)
 * @param {string} dtstart local time
 * @returns {import('./cron-matcher.mjs').CronMatcher}
 */
export function rruleMatcher(rrule, dtstart) {
  const given = new Map(rrule.split(';').map((part) => /** @type {[string, string]} */ (part.split('='))))
  const numbers = (/** @type {string} */ name) => given.get(name)?.split(',').map(Number)
  const start = Date.parse(`${dtstart}Z`)
  const until = given.has('UNTIL') ? localTime(String(given.get('UNTIL'))) : Infinity
  const frequency = String(given.get('FREQ'))
  const interval = Number(given.get('INTERVAL') ?? 1)
  const started = new Date(start)
  const bySmallUnits = frequency === 'HOURLY' || frequency === 'MINUTELY'

  const hours = numbers('BYHOUR') ?? (bySmallUnits ? null : [started.getUTCHours()])
  const minutes = numbers('BYMINUTE') ?? (frequency === 'MINUTELY' ? null : [started.getUTCMinutes()])
  const months = numbers('BYMONTH') ?? null
  const onDay = dayQuestion(given, frequency, started)
  return {
    matches: (parts) =>
      parts.wall >= start &&
      parts.wall <= until &&
      parts.second === 0 &&
      (minutes?.includes(parts.minute) ?? true) &&
      (hours?.includes(parts.hour) ?? true) &&
      (months?.includes(parts.month) ?? true) &&
      onDay(parts) &&
      periodsBetween(frequency, start, parts.wall) % interval === 0,
    everyHour: bySmallUnits && !given.has('BYHOUR'),
    hasSeconds: false,
  }
}

/**
 * @param {Map<string, string>} given
 * @param {string} frequency
 * @param {Date} started
 * @returns {Question}
 */
function dayQuestion(given, frequency, started) {
  /** @type {Question[]} */
  const questions = []
  const monthDays = given.get('BYMONTHDAY')?.split(',').map(Number)
  if (monthDays) {
    questions.push(({ day, lastDay }) => monthDays.some((n) => day === (n > 0 ? n : lastDay + 1 + n)))
  }
  const byDay = given.get('BYDAY')?.split(',').map(weekdayEntry)
  if (byDay) questions.push((parts) => byDay.some((entry) => entry(parts)))
  if (questions.length === 0 && frequency === 'WEEKLY') {
    questions.push(({ weekday }) => weekday === started.getUTCDay())
  }
  if (questions.length === 0 && (frequency === 'MONTHLY' || frequency === 'YEARLY')) {
    questions.push(({ day }) => day === started.getUTCDate())
    if (frequency === 'YEARLY' && !given.has('BYMONTH')) {
      questions.push(({ month }) => month === started.getUTCMonth() + 1)
    }
  }
  return (parts) => questions.every((question) => question(parts))
}

/** `TU`, `2TU` (the second of the month), `-1FR` (the last). @param {string} entry @returns {Question} */
function weekdayEntry(entry) {
  const weekday = weekdays.indexOf(entry.slice(-2))
  const nth = Number(entry.slice(0, -2))
  return (parts) => {
    if (parts.weekday !== weekday) return false
    if (nth > 0) return Math.ceil(parts.day / 7) === nth
    return nth === 0 || Math.ceil((parts.lastDay - parts.day + 1) / 7) === -nth
  }
}

/**
 * How many periods of the rule lie between two wall times.
 * @param {string} frequency
 * @param {number} start
 * @param {number} wall
 */
function periodsBetween(frequency, start, wall) {
  const [a, b] = [new Date(start), new Date(wall)]
  const years = b.getUTCFullYear() - a.getUTCFullYear()
  if (frequency === 'YEARLY') return years
  if (frequency === 'MONTHLY') return 12 * years + b.getUTCMonth() - a.getUTCMonth()
  // The first of January 1970 was a Thursday; weeks begin on Monday.
  if (frequency === 'WEEKLY') return whole(wall + 3 * DAY, 7 * DAY) - whole(start + 3 * DAY, 7 * DAY)
  const unit = frequency === 'DAILY' ? DAY : frequency === 'HOURLY' ? HOUR : MINUTE
  return whole(wall, unit) - whole(start, unit)
}

/**
 * @param {number} wall
 * @param {number} unit
 */
const whole = (wall, unit) => Math.floor(wall / unit)

/** @param {string} text 20261231T235959 */
function localTime(text) {
  const [, year, month, day, hour, minute, second] =
    /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)/.exec(text) ?? []
  return Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`)
}
