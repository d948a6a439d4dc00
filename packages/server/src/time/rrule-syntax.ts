import { nearest } from './nearest.js'
import { quote, refusal } from './refusal.js'

export const frequencies = ['YEARLY', 'MONTHLY', 'WEEKLY', 'DAILY', 'HOURLY', 'MINUTELY', 'SECONDLY'] as const
export type Frequency = (typeof frequencies)[number]

/** A weekday (Sunday is 0), or with `nth` one of them in a month or year: 1 the first, -1 the last. */
export interface ByDay {
  readonly weekday: number
  readonly nth: number | null
}

/** A recurrence rule of RFC 5545 as it was written; what it leaves open is null. */
export interface RecurrenceParts {
  readonly frequency: Frequency
  readonly interval: number
  readonly count: number | null
  /** The text of UNTIL, already known to have the form of a date or of a date and time. */
  readonly until: string | null
  readonly seconds: readonly number[] | null
  readonly minutes: readonly number[] | null
  readonly hours: readonly number[] | null
  readonly days: readonly ByDay[] | null
  readonly monthDays: readonly number[] | null
  readonly yearDays: readonly number[] | null
  readonly weeks: readonly number[] | null
  readonly months: readonly number[] | null
  readonly positions: readonly number[] | null
  /** Sunday is 0. */
  readonly weekStart: number
}

const weekdayCodes = ['SU', 'MO', 'TU', 'WE', 'TH', 'FR', 'SA']
const partNames = [
  'FREQ',
  'UNTIL',
  'COUNT',
  'INTERVAL',
  'BYSECOND',
  'BYMINUTE',
  'BYHOUR',
  'BYDAY',
  'BYMONTHDAY',
  'BYYEARDAY',
  'BYWEEKNO',
  'BYMONTH',
  'BYSETPOS',
  'WKST',
]
const largestInterval = 1_000_000
/** Finding the last of so many takes a tenth of a second at worst. */
const largestCount = 100_000
const example = 'Write it like "FREQ=MONTHLY;BYDAY=-1FR;BYHOUR=9;BYMINUTE=0".'

/** The parts of a rule by name, with the words for refusing one. */
class PartReader {
  readonly #parts = new Map<string, string>()
  readonly #pointer: string

  constructor(text: string, pointer: string) {
    this.#pointer = pointer
    const body = text
      .trim()
      .toUpperCase()
      .replace(/^RRULE:/, '')
    for (const part of body.replace(/;$/, '').split(';')) {
      const [name = '', value, ...more] = part.split('=')
      if (value === undefined || value === '' || more.length > 0) {
        this.refuse(
          `${quote(part)} is not a part of a recurrence rule: it needs a name, "=" and a value.`,
          example,
        )
      }
      if (!partNames.includes(name)) this.#refuseName(name)
      if (this.#parts.has(name))
        this.refuse(`${name} stands twice.`, 'Write each part once, with a list of values.')
      this.#parts.set(name, value)
    }
  }

  text(name: string): string | null {
    return this.#parts.get(name) ?? null
  }

  /** Whole numbers between two bounds; with `fromEnd`, also the negative ones that count from the end. */
  list(name: string, min: number, max: number, fromEnd = false): number[] | null {
    const text = this.text(name)
    if (text === null) return null
    const values = text.split(',').map((token) => {
      const value = /^[+-]?\d{1,9}$/.test(token) ? Number(token) : Number.NaN
      const size = fromEnd ? Math.abs(value) : value
      if (size >= min && size <= max) return value
      const bounds = fromEnd ? `${min} to ${max}, or -${max} to -${min}` : `${min} to ${max}`
      return this.refuse(`${quote(token)} is not a value of ${name} (${bounds}).`, example)
    })
    return [...new Set(values)].sort((left, right) => left - right)
  }

  number(name: string, max: number): number | null {
    const values = this.list(name, 1, max)
    if (values !== null && values.length > 1)
      this.refuse(`${name} has more than one value.`, `Write ${name}=2, say.`)
    return values?.[0] ?? null
  }

  weekday(name: string, token: string): number {
    const weekday = weekdayCodes.indexOf(token)
    if (weekday >= 0) return weekday
    return this.refuse(
      `${quote(token)} in ${name} is not a weekday.`,
      'Use SU MO TU WE TH FR SA; in a monthly or yearly rule also 1MO (the first) or -1FR (the last).',
    )
  }

  days(): ByDay[] | null {
    const text = this.text('BYDAY')
    if (text === null) return null
    return text.split(',').map((token) => {
      const [, nth, code = token] = /^([+-]?\d{1,2})?([A-Z]{2})$/.exec(token) ?? []
      const weekday = this.weekday('BYDAY', code)
      if (nth === undefined) return { weekday, nth: null }
      if (Number(nth) === 0 || Math.abs(Number(nth)) > 53) {
        this.refuse(
          `${quote(token)} in BYDAY counts no weekday.`,
          'Count from 1 (1MO) or from the end (-1MO), up to 53.',
        )
      }
      return { weekday, nth: Number(nth) }
    })
  }

  frequency(): Frequency {
    const text = this.text('FREQ')
    if (text === null) this.refuse('The recurrence rule has no FREQ.', example)
    const found = frequencies.find((frequency) => frequency === text)
    if (found !== undefined) return found
    const suggestion = nearest(text, frequencies)
    return this.refuse(
      `${quote(text)} is not a frequency.`,
      `${suggestion === null ? '' : `Did you mean ${suggestion}? `}Known: ${frequencies.join(' ')}.`,
    )
  }

  refuse(message: string, hint: string): never {
    throw refusal('invalid_schedule', this.#pointer, message, hint)
  }

  #refuseName(name: string): never {
    const suggestion = nearest(name, partNames)
    const elsewhere = /^(DTSTART|TZID)/.test(name)
      ? 'The start and the zone have fields of their own: `dtstart` beside `rrule`, and `timezone`.'
      : /^(EXDATE|RDATE|EXRULE)/.test(name)
        ? 'Put excluded dates into `exclude`, and further rules into an array of schedules.'
        : `${suggestion === null ? '' : `Did you mean ${suggestion}? `}Known: ${partNames.join(' ')}.`
    this.refuse(`${quote(name)} is not a part of a recurrence rule.`, elsewhere)
  }
}

/** Reads a recurrence rule ("FREQ=…;…"). Throws invalid_schedule. */
export function readRecurrence(text: string, pointer: string): RecurrenceParts {
  const reader = new PartReader(text, pointer)
  const weekStart = reader.text('WKST')
  const parts: RecurrenceParts = {
    frequency: reader.frequency(),
    interval: reader.number('INTERVAL', largestInterval) ?? 1,
    count: reader.number('COUNT', largestCount),
    until: reader.text('UNTIL'),
    seconds: reader.list('BYSECOND', 0, 59),
    minutes: reader.list('BYMINUTE', 0, 59),
    hours: reader.list('BYHOUR', 0, 23),
    days: reader.days(),
    monthDays: reader.list('BYMONTHDAY', 1, 31, true),
    yearDays: reader.list('BYYEARDAY', 1, 366, true),
    weeks: reader.list('BYWEEKNO', 1, 53, true),
    months: reader.list('BYMONTH', 1, 12),
    positions: reader.list('BYSETPOS', 1, 366, true),
    weekStart: weekStart === null ? 1 : reader.weekday('WKST', weekStart),
  }
  checkTogether(parts, reader)
  return parts
}

/** What RFC 5545 forbids in a rule of some frequency, because it would have no meaning. */
function checkTogether(parts: RecurrenceParts, reader: PartReader): void {
  const { frequency, until } = parts
  const refuse = (part: string, allowed: string) =>
    reader.refuse(`${part} has no meaning in a ${frequency} rule.`, `Use it with ${allowed}.`)
  if (parts.count !== null && until !== null)
    reader.refuse('COUNT and UNTIL both say when the rule ends.', 'Keep one of them.')
  if (until !== null && !/^\d{8}(T\d{6}Z?)?$/.test(until))
    reader.refuse(
      `${quote(until)} is not an end for UNTIL.`,
      'Write "20261231", "20261231T235959" or "20261231T235959Z".',
    )
  if (parts.weeks !== null && frequency !== 'YEARLY') refuse('BYWEEKNO', 'FREQ=YEARLY')
  if (parts.monthDays !== null && frequency === 'WEEKLY') refuse('BYMONTHDAY', 'any frequency but WEEKLY')
  if (parts.yearDays !== null && ['DAILY', 'WEEKLY', 'MONTHLY'].includes(frequency))
    refuse('BYYEARDAY', 'FREQ=YEARLY, or with HOURLY and finer')
  if (parts.days?.some((day) => day.nth !== null) === true) {
    if (frequency !== 'MONTHLY' && frequency !== 'YEARLY')
      refuse('A counted weekday (1MO)', 'FREQ=MONTHLY or YEARLY')
    if (parts.weeks !== null)
      reader.refuse(
        'A counted weekday (1MO) has no meaning beside BYWEEKNO.',
        'Name the weekday alone: BYDAY=MO.',
      )
  }
  const others = [parts.seconds, parts.minutes, parts.hours, parts.days, parts.monthDays]
  if (
    parts.positions !== null &&
    [...others, parts.yearDays, parts.weeks, parts.months].every((part) => part === null)
  )
    reader.refuse('BYSETPOS chooses from what other BY parts name, and there is none.', 'Add BYDAY, say.')
}
