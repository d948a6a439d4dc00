import { quote, refusal } from './refusal.js'

interface FieldKind {
  readonly noun: string
  readonly min: number
  readonly max: number
  /** How many values there are; weekday 7 is weekday 0 again. */
  readonly size: number
  readonly names?: readonly string[]
}

const monthNames = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC']
const weekdayNames = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT']

const second: FieldKind = { noun: 'second', min: 0, max: 59, size: 60 }
const minute: FieldKind = { noun: 'minute', min: 0, max: 59, size: 60 }
const hour: FieldKind = { noun: 'hour', min: 0, max: 23, size: 24 }
const dayOfMonth: FieldKind = { noun: 'day of the month', min: 1, max: 31, size: 31 }
const month: FieldKind = { noun: 'month', min: 1, max: 12, size: 12, names: monthNames }
const weekday: FieldKind = { noun: 'day of the week', min: 0, max: 7, size: 7, names: weekdayNames }

/** What only a day field can say, because it is another day in every month. */
export type SpecialDay =
  /** The last day of the month, or one so many days before it. */
  | { readonly kind: 'last'; readonly back: number }
  /** The working day nearest to a day of the month, or to its last day. Never in another month. */
  | { readonly kind: 'nearest'; readonly day: number }
  | { readonly kind: 'nearestLast'; readonly back: number }
  | { readonly kind: 'nth'; readonly weekday: number; readonly nth: number }
  | { readonly kind: 'lastOf'; readonly weekday: number }

export interface CronField {
  /** Ascending, each once. */
  readonly values: readonly number[]
  readonly special: readonly SpecialDay[]
  /** Written as "*", a step of one or "?": the field restricts nothing. */
  readonly any: boolean
}

/** A cron expression that was read. */
export interface CronFields {
  readonly seconds: CronField
  readonly minutes: CronField
  readonly hours: CronField
  readonly days: CronField
  readonly months: CronField
  readonly weekdays: CronField
  /** Whether a day must fit both day fields, where by the custom of cron one of them is enough. */
  readonly bothDays: boolean
}

interface Item {
  readonly values: readonly number[]
  readonly special?: SpecialDay
  readonly any?: boolean
}

const generalHint =
  'Each field is "*", a number, a range "a-b", a step "*/n" or "a-b/n", or a list of these with commas.'
const dayHint = `${generalHint} Days may also be "L" (last), "L-3", "LW" (last working day) or "15W".`
const weekdayHint = `${generalHint} Weekdays may also be "MON#1" (first Monday) or "FRIL" (last Friday).`

/** Reads one field; knows where in the expression it stands, to say so. */
class FieldReader {
  readonly #kind: FieldKind
  readonly #pointer: string
  /** Position of the item under the eye, counted from 1. */
  #position: number

  constructor(kind: FieldKind, pointer: string, position: number) {
    this.#kind = kind
    this.#pointer = pointer
    this.#position = position
  }

  read(text: string): CronField {
    const values = new Set<number>()
    const special: SpecialDay[] = []
    const parts = text.toUpperCase().split(',')
    let any = false
    for (const part of parts) {
      const item = this.#item(part)
      for (const value of item.values) values.add(value)
      if (item.special !== undefined) special.push(item.special)
      any = item.any === true && parts.length === 1
      this.#position += part.length + 1
    }
    return { values: [...values].sort((left, right) => left - right), special, any }
  }

  #item(item: string): Item {
    const kind = this.#kind
    const isDay = kind === dayOfMonth || kind === weekday
    if (item === '')
      this.#refuse(
        `The ${kind.noun} field has an empty entry`,
        'Remove the comma that has nothing beside it.',
      )
    if (isDay && item === '?') return { values: this.#spread(kind.min, this.#end, 1), any: true }
    const special = kind === dayOfMonth ? this.#specialDay(item) : this.#specialWeekday(item)
    if (special !== null) return { values: [], special }
    const [range = '', step, ...more] = item.split('/')
    if (more.length > 0)
      this.#refuse(`${quote(item)} has more than one slash`, 'Write a step as "*/n" or "a-b/n".')
    const by = step === undefined ? 1 : this.#step(step, item)
    if (range === '*') return { values: this.#spread(kind.min, this.#end, by), any: by === 1 }
    if (range.includes('-')) return { values: this.#range(range, item, by) }
    const value = this.#value(range, item)
    if (step === undefined) return { values: this.#spread(value, value, 1) }
    return { values: this.#spread(value > this.#end ? kind.min : value, this.#end, by) }
  }

  get #end(): number {
    return this.#kind.min + this.#kind.size - 1
  }

  #specialDay(item: string): SpecialDay | null {
    const [, last, back = '0', near] = /^(L)(?:-(\d{1,4}))?(W)?$/.exec(item) ?? []
    if (last !== undefined) {
      if (Number(back) > 30)
        this.#refuse(
          `${quote(item)} is before the month begins`,
          'Use "L-1" to "L-30" to count back from the last day.',
        )
      return near === undefined
        ? { kind: 'last', back: Number(back) }
        : { kind: 'nearestLast', back: Number(back) }
    }
    if (!/^\d+W$/.test(item)) return null
    return { kind: 'nearest', day: this.#value(item.slice(0, -1), item) }
  }

  #specialWeekday(item: string): SpecialDay | null {
    if (this.#kind !== weekday) return null
    const [, day, nth] = /^([^#]+?)(L|#.*)$/.exec(item) ?? []
    if (day === undefined || nth === undefined) return null
    const value = this.#value(day, item) % 7
    if (nth === 'L') return { kind: 'lastOf', weekday: value }
    if (!/^#[1-5]$/.test(nth)) {
      this.#refuse(
        `${quote(item)} names no weekday of a month`,
        'Use "1#1" to "1#5" for the first to fifth Monday, "1L" for the last.',
      )
    }
    return { kind: 'nth', weekday: value, nth: Number(nth.slice(1)) }
  }

  #value(token: string, item: string): number {
    const kind = this.#kind
    const name = kind.names?.indexOf(token) ?? -1
    if (name >= 0) return name + kind.min
    const value = /^\d{1,4}$/.test(token) ? Number(token) : Number.NaN
    if (value >= kind.min && value <= kind.max) return value
    const where = token === item ? '' : ` in ${quote(item)}`
    const names = kind.names === undefined ? '' : `, or ${kind.names[0]} to ${kind.names.at(-1)}`
    const article = kind === hour ? 'an' : 'a'
    // Written out in full: MONDAY, or SEPT.
    const meant = kind.names?.find((short) => token.startsWith(short))
    const hint = kind === dayOfMonth ? dayHint : kind === weekday ? weekdayHint : generalHint
    return this.#refuse(
      `${quote(token)}${where} is not ${article} ${kind.noun} (${kind.min} to ${kind.max}${names})`,
      meant === undefined ? hint : `Did you mean "${meant}"? ${hint}`,
    )
  }

  #step(token: string, item: string): number {
    const { noun, size } = this.#kind
    const step = /^\d{1,4}$/.test(token) ? Number(token) : 0
    if (step >= 1 && step <= size) return step
    return this.#refuse(
      `${quote(token)} in ${quote(item)} is not a step of the ${noun} field`,
      `Use a number from 1 to ${size} after the slash.`,
    )
  }

  /** A range may run over the end of its field: FRI-MON, NOV-FEB, 22-2. */
  #range(range: string, item: string, by: number): number[] {
    const [first = '', last = '', ...more] = range.split('-')
    if (more.length > 0) this.#refuse(`${quote(item)} has more than one dash`, 'Write a range as "a-b".')
    const from = this.#value(first, item)
    const to = this.#value(last, item)
    return this.#spread(from, to < from ? to + this.#kind.size : to, by)
  }

  #spread(from: number, to: number, by: number): number[] {
    const { min, size } = this.#kind
    const values: number[] = []
    for (let value = from; value <= to; value += by) values.push(((value - min) % size) + min)
    return values
  }

  #refuse(message: string, hint: string): never {
    throw refusal('invalid_schedule', this.#pointer, `${message}, at character ${this.#position}.`, hint)
  }
}

/** What to write for "every 5 minutes"; null where no such thing is meant. */
function intervalMeant(source: string): string | null {
  const match = /^every (?:(\d{1,9}) ?)?(s|m|h|d|sec|min|second|minute|hour|day)s?$/i.exec(source.trim())
  if (match === null) return null
  return `An interval is written as "@every ${match[1] ?? '1'}${match[2]?.[0]?.toLowerCase()}".`
}

/** Reads five or six cron fields. Throws invalid_schedule, saying where in the text and what to write instead. */
export function readCronFields(source: string, pointer = '/schedule', andDays = false): CronFields {
  const parts = [...source.matchAll(/[^ ]+/g)].map((match) => ({ text: match[0], position: match.index + 1 }))
  if (parts.length !== 5 && parts.length !== 6) {
    throw refusal(
      'invalid_schedule',
      pointer,
      `${quote(source)} has ${parts.length} ${parts.length === 1 ? 'field' : 'fields'}; a cron expression has 5 or 6.`,
      intervalMeant(source) ??
        (parts.length === 7
          ? 'A year field is not supported: remove it, and set `starts_at` and `ends_at`.'
          : 'Write minute, hour, day of the month, month and day of the week ("0 9 * * 1"), with seconds before them if wanted.'),
    )
  }
  if (parts.length === 5) parts.unshift({ text: '0', position: 1 })
  const field = (index: number, kind: FieldKind, skip = 0) => {
    const { text, position } = parts[index] ?? { text: '', position: 1 }
    return new FieldReader(kind, pointer, position + skip).read(text.slice(skip))
  }
  const plus = parts[5]?.text.startsWith('+') === true
  return {
    seconds: field(0, second),
    minutes: field(1, minute),
    hours: field(2, hour),
    days: field(3, dayOfMonth),
    months: field(4, month),
    weekdays: field(5, weekday, plus ? 1 : 0),
    bothDays: plus || andDays,
  }
}
