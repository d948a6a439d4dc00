import { quote, refusal } from './refusal.js'

interface FieldRule {
  readonly noun: string
  readonly min: number
  readonly max: number
  /** How many values there are; weekday 7 is weekday 0 again. */
  readonly size: number
  readonly names?: readonly string[]
  /** The number of the first name. */
  readonly firstName?: number
}

const monthNames = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC']
const weekdayNames = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT']
const longMonthNames = [
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
const longestMonths = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

const second: FieldRule = { noun: 'second', min: 0, max: 59, size: 60 }
const minute: FieldRule = { noun: 'minute', min: 0, max: 59, size: 60 }
const hour: FieldRule = { noun: 'hour', min: 0, max: 23, size: 24 }
const dayOfMonth: FieldRule = { noun: 'day of the month', min: 1, max: 31, size: 31 }
const month: FieldRule = { noun: 'month', min: 1, max: 12, size: 12, names: monthNames, firstName: 1 }
const weekday: FieldRule = {
  noun: 'day of the week',
  min: 0,
  max: 7,
  size: 7,
  names: weekdayNames,
  firstName: 0,
}

/** A cron rule that was read: its text in one spelling, and the seconds and minutes it names. */
export interface CronFields {
  /** Six fields, numbers instead of names. */
  readonly text: string
  readonly seconds: readonly number[]
  readonly minutes: readonly number[]
}

interface Field {
  readonly text: string
  readonly values: readonly number[]
  /** Every value, written as a star. */
  readonly any: boolean
  /** Names the last day of the month, whichever that is. */
  readonly last: boolean
}

interface Item {
  readonly text: string
  readonly values: readonly number[]
}

function refuse(message: string, hint: string): never {
  throw refusal('invalid_schedule', '/schedule', message, hint)
}

function bounds(rule: FieldRule): string {
  const names = rule.names
  return `${rule.min} to ${rule.max}${names === undefined ? '' : `, or ${names[0]} to ${names.at(-1)}`}`
}

function valueOf(token: string, rule: FieldRule, item: string): number {
  const name = rule.names?.indexOf(token) ?? -1
  if (name >= 0) return name + (rule.firstName ?? 0)
  const value = /^\d{1,4}$/.test(token) ? Number(token) : Number.NaN
  if (value >= rule.min && value <= rule.max) return value
  const where = token === item ? '' : ` in ${quote(item)}`
  return refuse(
    `${quote(token)}${where} is not a ${rule.noun} (${bounds(rule)}).`.replace(' a hour', ' an hour'),
    `Each field is "*", a number, a range "a-b", a step "*/n" or "a-b/n", or a list of these with commas.`,
  )
}

function stepOf(token: string, rule: FieldRule, item: string): number {
  const step = /^\d{1,4}$/.test(token) ? Number(token) : 0
  if (step >= 1 && step <= rule.size) return step
  return refuse(
    `${quote(token)} in ${quote(item)} is not a step of the ${rule.noun} field.`,
    `Use a number from 1 to ${rule.size} after the slash.`,
  )
}

function spread(from: number, to: number, step: number): number[] {
  const values: number[] = []
  for (let value = from; value <= to; value += step) values.push(value)
  return values
}

function rangeOf(range: string, rule: FieldRule, item: string): [number, number] {
  const [first = '', second = '', ...more] = range.split('-')
  if (more.length > 0) refuse(`${quote(item)} has more than one dash.`, 'Write a range as "a-b".')
  const from = valueOf(first, rule, item)
  let to = valueOf(second, rule, item)
  if (rule === weekday && to === 0 && from > 0) to = 7
  if (from > to) {
    refuse(
      `The range ${quote(range)} of the ${rule.noun} field runs backwards.`,
      `Write two ranges with a comma: "${from}-${rule.size - 1 + rule.min},${rule.min}-${to}".`,
    )
  }
  return [from, to]
}

/** What only a day field may say: the last day, the nearest working day, the nth weekday of the month. */
function specialItem(item: string, rule: FieldRule): Item | null {
  if (rule === dayOfMonth) {
    if (item === 'L') return { text: 'L', values: [] }
    if (/^\d+W$/.test(item)) return { text: item, values: [valueOf(item.slice(0, -1), rule, item)] }
  }
  if (rule === weekday) {
    const [, day, nth] = /^([^#]+?)(L|#.*)$/.exec(item) ?? []
    if (day === undefined || nth === undefined) return null
    const value = valueOf(day, rule, item)
    if (nth !== 'L' && !/^#[1-5]$/.test(nth)) {
      refuse(
        `${quote(item)} names no weekday of a month.`,
        'Use "1#1" to "1#5" for the first to fifth Monday.',
      )
    }
    return { text: `${value}${nth}`, values: [value] }
  }
  return null
}

function parseItem(item: string, rule: FieldRule): Item {
  const isDay = rule === dayOfMonth || rule === weekday
  if (item === '')
    refuse(`The ${rule.noun} field has an empty entry.`, 'Remove the comma that has nothing beside it.')
  const special = specialItem(item, rule)
  if (special !== null) return special
  const [range = '', step, ...more] = item.split('/')
  if (more.length > 0) refuse(`${quote(item)} has more than one slash.`, 'Write a step as "*/n" or "a-b/n".')
  const by = step === undefined ? 1 : stepOf(step, rule, item)
  const suffix = by === 1 ? '' : `/${by}`
  if (range === '*' || (isDay && item === '?')) {
    return { text: `*${suffix}`, values: spread(rule.min, rule.min + rule.size - 1, by) }
  }
  if (range.includes('-')) {
    const [from, to] = rangeOf(range, rule, item)
    return { text: `${from}-${to}${suffix}`, values: spread(from, to, by) }
  }
  const value = valueOf(range, rule, item)
  if (step !== undefined) {
    refuse(
      `${quote(item)} has a step without a range.`,
      `Write where it ends: "${value}-${rule.min + rule.size - 1}/${by}".`,
    )
  }
  return { text: String(value), values: [value] }
}

function parseField(text: string, rule: FieldRule): Field {
  const upper = text.toUpperCase()
  if (rule === dayOfMonth && upper === 'LW') return { text: 'LW', values: [], any: false, last: true }
  const items = upper.split(',').map((item) => parseItem(item, rule))
  const values = [...new Set(items.flatMap((item) => item.values))].sort((left, right) => left - right)
  const joined = items.map((item) => item.text).join(',')
  return { text: joined, values, any: joined === '*', last: items.some((item) => item.text === 'L') }
}

/** Why no day ever fits, or null. A weekday beside a day of the month widens the choice, so it always fits. */
function whyNever(days: Field, months: Field, weekdays: Field): string | null {
  if (!weekdays.any || days.last) return null
  const firstDay = days.values[0] ?? 1
  const longest = Math.max(...months.values.map((number) => longestMonths[number - 1] ?? 0))
  if (firstDay <= longest) return null
  const names = months.values.map((number) => longMonthNames[number - 1]).join(', ')
  return `it asks for day ${firstDay}, and ${names} never has more than ${longest} days`
}

/** Reads five or six cron fields. Throws invalid_schedule or schedule_never_fires. */
export function parseCronFields(source: string): CronFields {
  const parts = source.split(' ').filter((part) => part !== '')
  if (parts.length === 5) parts.unshift('0')
  if (parts.length !== 6) {
    refuse(
      `${quote(source)} has ${parts.length} ${parts.length === 1 ? 'field' : 'fields'}; a cron expression has 5 or 6.`,
      parts.length === 7
        ? 'A year field is not supported: remove it.'
        : 'Write minute, hour, day of the month, month and day of the week ("0 9 * * 1"), with seconds before them if wanted.',
    )
  }
  const [s = '', m = '', h = '', dom = '', mon = '', dow = ''] = parts
  const seconds = parseField(s, second)
  const minutes = parseField(m, minute)
  const hours = parseField(h, hour)
  const days = parseField(dom, dayOfMonth)
  const months = parseField(mon, month)
  const weekdays = parseField(dow, weekday)
  const never = whyNever(days, months, weekdays)
  if (never !== null) {
    throw refusal(
      'schedule_never_fires',
      '/schedule',
      `${quote(source)} never fires: ${never}.`,
      'Choose a day that the month has, or "L" for its last day.',
    )
  }
  const text = [seconds, minutes, hours, days, months, weekdays].map((field) => field.text).join(' ')
  return { text, seconds: seconds.values, minutes: minutes.values }
}
