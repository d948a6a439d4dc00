import { dayMs, dayOf, monthIndexOf, monthStart, weekdayOf } from './civil.js'
import { timesWords } from './describe-times.js'
import { listText } from './iso-text.js'
import { dayWords, monthWords, nthWord, periodWords, weekdayWord, weekdayWords } from './number-words.js'
import type { ByDay, Frequency, RecurrenceParts } from './rrule-syntax.js'

const unitWords: Readonly<Record<Frequency, string>> = {
  YEARLY: 'year',
  MONTHLY: 'month',
  WEEKLY: 'week',
  DAILY: 'day',
  HOURLY: 'hour',
  MINUTELY: 'minute',
  SECONDLY: 'second',
}
const subDaily: Partial<Record<Frequency, number>> = { HOURLY: 3_600_000, MINUTELY: 60_000, SECONDLY: 1000 }

/**
 * A recurrence rule in words, where it has a common form; others are shown as they are written. `start` is the reading
 * that it starts at, null for the moment of the registration.
 */
export function recurrenceWords(parts: RecurrenceParts, text: string, start: number | null): string {
  const words = subDaily[parts.frequency] === undefined ? dayRule(parts, start) : clockRule(parts)
  return words === null
    ? `By the recurrence rule ${text.replace(/^RRULE:/i, '')}`
    : `${words}${ending(parts)}`
}

/** Below a day: only rules without filters read well. */
function clockRule(parts: RecurrenceParts): string | null {
  const { seconds, minutes, hours, days, monthDays, yearDays, months, positions } = parts
  const filters = [seconds, minutes, hours, days, monthDays, yearDays, months, positions]
  if (filters.some((filter) => filter !== null)) return null
  return `Every ${periodWords((subDaily[parts.frequency] ?? 0) * parts.interval)}`
}

function dayRule(parts: RecurrenceParts, start: number | null): string | null {
  const { frequency, interval, yearDays, weeks, months } = parts
  if (yearDays !== null || weeks !== null) return null
  const unit = unitWords[frequency]
  const often = interval === 1 ? `Every ${unit}` : `Every ${interval} ${unit}s`
  const days = parts.positions === null ? namedDays(parts, start) : chosenDay(parts)
  if (days === null) return null
  const times = timesOf(parts, start)
  if (times === null) return null
  return [often, days, months === null ? '' : `in ${monthWords(months)}`, times]
    .filter((part) => part !== '')
    .join(' ')
}

/** "on Monday and Friday", "on the 1st", "on the second Tuesday"; empty where every day counts. */
function namedDays(parts: RecurrenceParts, start: number | null): string | null {
  const { frequency, days, monthDays, months } = parts
  if (days !== null && monthDays !== null) return null
  if (days !== null) return `on ${byDayWords(days)}`
  if (monthDays !== null) return `on ${monthDayWords(monthDays)}`
  if (frequency === 'DAILY') return ''
  const day = start === null ? null : dayOf(start)
  if (day === null) return 'on the day of its registration'
  if (frequency === 'WEEKLY') return `on ${weekdayWord(weekdayOf(day))}`
  const index = monthIndexOf(day)
  const ofMonth = `on ${dayWords([day - monthStart(index) + 1])}`
  return frequency === 'MONTHLY' || months !== null
    ? ofMonth
    : `${ofMonth} of ${monthWords([(index % 12) + 1])}`
}

/** BYSETPOS in the form that people use: one of some weekdays of a month, at one time of day. */
function chosenDay(parts: RecurrenceParts): string | null {
  const { frequency, days, monthDays, positions, hours, minutes, seconds } = parts
  const [position] = positions ?? []
  const oneTime = [hours, minutes, seconds].every((values) => (values?.length ?? 1) === 1)
  if (frequency !== 'MONTHLY' || days === null || monthDays !== null || !oneTime) return null
  if (position === undefined || positions?.length !== 1 || days.some(({ nth }) => nth !== null)) return null
  const weekdays = [...new Set(days.map(({ weekday }) => weekday))].sort((left, right) => left - right)
  const noun = weekdays.join() === '1,2,3,4,5' ? 'weekday' : weekdayWords(weekdays, 'or')
  return `on the ${nthWord(position)} ${noun}`
}

function byDayWords(days: readonly ByDay[]): string {
  const plain = days.filter(({ nth }) => nth === null).map(({ weekday }) => weekday)
  const counted = days.flatMap(({ weekday, nth }) =>
    nth === null ? [] : [`the ${nthWord(nth)} ${weekdayWord(weekday)}`],
  )
  return listText([...(plain.length > 0 ? [weekdayWords([...new Set(plain)])] : []), ...counted])
}

function monthDayWords(values: readonly number[]): string {
  const fromStart = values.filter((value) => value > 0)
  const fromEnd = values.filter((value) => value < 0).map((value) => `the ${nthWord(value)} day`)
  return listText([...(fromStart.length > 0 ? [dayWords(fromStart)] : []), ...fromEnd])
}

/** What the rule leaves open it takes from its start. */
function timesOf({ hours, minutes, seconds }: RecurrenceParts, start: number | null): string | null {
  if (start === null && hours === null) {
    return minutes === null && seconds === null ? 'at the time of its registration' : null
  }
  if (start === null && minutes === null) {
    return `in ${hours?.length === 1 ? 'hour' : 'hours'} ${listText((hours ?? []).map(String))}, at the minute of its registration`
  }
  const clock = new Date(start === null ? 0 : start - dayOf(start) * dayMs)
  const { text } = timesWords({
    hours: hours ?? [clock.getUTCHours()],
    minutes: minutes ?? [clock.getUTCMinutes()],
    seconds: seconds ?? [clock.getUTCSeconds()],
  })
  return text.charAt(0).toLowerCase() + text.slice(1)
}

function ending({ count, until }: RecurrenceParts): string {
  if (count !== null) return count === 1 ? ', once' : `, ${count} times`
  if (until === null) return ''
  const date = `${until.slice(0, 4)}-${until.slice(4, 6)}-${until.slice(6, 8)}`
  if (until.length === 8) return `, until ${date}`
  return `, until ${date} ${until.slice(9, 11)}:${until.slice(11, 13)}:${until.slice(13, 15)}${until.slice(15)}`
}
