import { quote, refusal } from './refusal.js'
import { instantOfLocal, offsetAt } from './zone.js'

const example =
  'Write it as "2026-12-01T09:00:00Z", with an offset ("+01:00"), or without one for the job\'s time zone.'
const pattern =
  /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?(Z|[+-]\d{2}(?::?\d{2})?)?$/i

/** Whether a text is meant as an instant: no cron field begins like a date. */
export function looksLikeInstant(text: string): boolean {
  return /^\d{4,}-\d/.test(text)
}

function refuse(message: string, hint = example): never {
  throw refusal('invalid_schedule', '/schedule', message, hint)
}

function offsetMinutes(offset: string, text: string): number {
  if (offset.toUpperCase() === 'Z') return 0
  const hours = Number(offset.slice(1, 3))
  const minutes = Number(offset.slice(3).replace(':', '') || '0')
  if (hours > 23 || minutes > 59)
    refuse(`The offset ${offset} of ${quote(text)} is not one of hours and minutes.`)
  return (offset.startsWith('-') ? -1 : 1) * (hours * 60 + minutes)
}

/** The instant that `text` names, read in `zone` when it carries no offset. Throws invalid_schedule. */
export function parseInstant(text: string, zone: string): number {
  const match = pattern.exec(text)
  if (match === null) {
    if (/^\d{4}-\d{2}-\d{2}$/.test(text)) refuse(`${quote(text)} has a date but no time of day.`)
    refuse(`${quote(text)} begins like a date but is not an ISO-8601 date and time.`)
  }
  const [year = 0, month = 0, day = 0, hours = 0, minutes = 0, seconds = 0] = match
    .slice(1, 7)
    .map((part?: string) => Number(part ?? 0))
  if (year < 1970) refuse(`The year ${year} of ${quote(text)} is before 1970.`)
  if (month < 1 || month > 12) refuse(`'${match[2]}' in ${quote(text)} is not a month (01 to 12).`)
  const lastDay = new Date(Date.UTC(year, month, 0)).getUTCDate()
  if (day < 1 || day > lastDay) {
    refuse(`'${match[3]}' in ${quote(text)} is not a day of that month (01 to ${lastDay}).`)
  }
  if (hours > 23) refuse(`'${match[4]}' in ${quote(text)} is not an hour (00 to 23).`)
  if (minutes > 59) refuse(`'${match[5]}' in ${quote(text)} is not a minute (00 to 59).`)
  if (seconds > 59) refuse(`'${match[6]}' in ${quote(text)} is not a second (00 to 59).`)
  const milliseconds = Number((match[7] ?? '').padEnd(3, '0').slice(0, 3))
  const local = Date.UTC(year, month - 1, day, hours, minutes, seconds)
  const offset = match[8]
  if (offset !== undefined) return local + milliseconds - offsetMinutes(offset, text) * 60_000
  const instant = instantOfLocal(local, zone)
  // After a jump of the clocks the instant is the jump itself, to which no fraction belongs.
  return instant + offsetAt(instant, zone) === local ? instant + milliseconds : instant
}
