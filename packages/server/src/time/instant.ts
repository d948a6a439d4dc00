import { dayNumber, earliestInstant, latestInstant } from './civil.js'
import { quote, refusal } from './refusal.js'
import { instantsOf, type Timeline } from './timeline.js'

const example =
  'Write it as "2026-12-01T09:00:00Z", with an offset ("+01:00"), or without one for the job\'s time zone.'
const pattern =
  /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?(Z|[+-]\d{2}(?::?\d{2})?)?$/i

/** Whether a text is meant as an instant: no cron field begins like a date. */
export function looksLikeInstant(text: string): boolean {
  return /^\d{4,}-\d/.test(text)
}

/** A date and time of day: an instant where it has an offset, or else a reading on the wall. */
export type Moment = { readonly instant: number } | { readonly wall: number }

/** Reads an ISO-8601 date and time. Throws invalid_schedule about the field at `pointer`. */
export function readMoment(text: string, pointer: string): Moment {
  const refuse = (message: string): never => {
    throw refusal('invalid_schedule', pointer, message, example)
  }
  const match = pattern.exec(text)
  if (match === null) {
    if (/^\d{4}-\d{2}-\d{2}$/.test(text)) refuse(`${quote(text)} has a date but no time of day.`)
    if (/^\d{5,}-\d{2}-\d{2}T/i.test(text)) refuse(`The year of ${quote(text)} is after 9999.`)
    return refuse(
      looksLikeInstant(text)
        ? `${quote(text)} begins like a date but is not an ISO-8601 date and time.`
        : `${quote(text)} is not an ISO-8601 date and time.`,
    )
  }
  const [year = 0, month = 0, day = 0, hours = 0, minutes = 0, seconds = 0] = match
    .slice(1, 7)
    .map((part?: string) => Number(part ?? 0))
  const wrongDate = whyNoDate(year, month, day, match)
  if (wrongDate !== null) refuse(`${wrongDate.replace('TEXT', quote(text))}.`)
  if (hours > 23) refuse(`'${match[4]}' in ${quote(text)} is not an hour (00 to 23).`)
  if (minutes > 59) refuse(`'${match[5]}' in ${quote(text)} is not a minute (00 to 59).`)
  if (seconds > 59) refuse(`'${match[6]}' in ${quote(text)} is not a second (00 to 59).`)
  const milliseconds = Number((match[7] ?? '').padEnd(3, '0').slice(0, 3))
  const wall = Date.UTC(year, month - 1, day, hours, minutes, seconds, milliseconds)
  const offset = match[8]
  if (offset === undefined) return { wall }
  const ahead = offsetMinutes(offset)
  if (ahead === null) return refuse(`The offset ${offset} of ${quote(text)} is not one of hours and minutes.`)
  return { instant: inYears(wall - ahead * 60_000, text, pointer) }
}

/** The instant of a moment that marks a border: the first of two, and the end of a gap. */
export function readInstant(text: string, pointer: string, timeline: Timeline): number {
  const moment = readMoment(text, pointer)
  if ('instant' in moment) return moment.instant
  const [instant = 0] = instantsOf(timeline, moment.wall, { gap: 'run_after', overlap: 'first' })
  return inYears(instant, text, pointer)
}

/** Throws unless an instant lies in the years that ticks have. */
export function inYears(instant: number, text: string, pointer: string): number {
  if (instant >= earliestInstant && instant <= latestInstant) return instant
  const side = instant < earliestInstant ? 'before 1970' : 'after 9999'
  throw refusal('invalid_schedule', pointer, `${quote(text)} is ${side} in UTC.`, example)
}

function whyNoDate(year: number, month: number, day: number, texts: readonly string[]): string | null {
  if (year < 1970) return `The year ${year} of TEXT is before 1970`
  if (month < 1 || month > 12) return `'${texts[2]}' in TEXT is not a month (01 to 12)`
  const lastDay = new Date(Date.UTC(year, month, 0)).getUTCDate()
  if (day < 1 || day > lastDay) return `'${texts[3]}' in TEXT is not a day of that month (01 to ${lastDay})`
  return null
}

/** The day number of "2026-12-25", or what is wrong with it. */
export function readDate(text: string): number | string {
  const match = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text)
  if (match === null) return `${quote(text)} is not a date like "2026-12-25"`
  const [year = 0, month = 0, day = 0] = match.slice(1).map(Number)
  return whyNoDate(year, month, day, match)?.replace('TEXT', quote(text)) ?? dayNumber(year, month, day)
}

function offsetMinutes(offset: string): number | null {
  if (offset.toUpperCase() === 'Z') return 0
  const hours = Number(offset.slice(1, 3))
  const minutes = Number(offset.slice(3).replace(':', '') || '0')
  if (hours > 23 || minutes > 59) return null
  return (offset.startsWith('-') ? -1 : 1) * (hours * 60 + minutes)
}
