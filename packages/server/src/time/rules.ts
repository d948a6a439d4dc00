import { limits } from '@carillon/contract'
import { readCron } from './cron-rule.js'
import { looksLikeInstant, readInstant } from './instant.js'
import { parsePeriod, secondsPeriod } from './interval.js'
import { nearest } from './nearest.js'
import { controlCharacter, quote, refusal } from './refusal.js'
import { readRecurrence } from './rrule-syntax.js'
import { cronRule, intervalRule, onceRule, type Place, recurrenceRule, type Rule } from './rule-kinds.js'

const nicknames: Readonly<Record<string, string>> = {
  '@hourly': '0 * * * *',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@weekly': '0 0 * * 0',
  '@monthly': '0 0 1 * *',
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
}
const textHint =
  'Give a cron expression ("0 9 * * 1"), an interval ("@every 5m") or an instant ("2026-12-01T09:00:00Z").'
const objectHint =
  'Give one of {"cron": "0 9 * * 1"}, {"every": "5m"}, {"at": "2026-12-01T09:00:00Z"} or {"rrule": "FREQ=DAILY"}.'

/** The forms of a rule as an object, and what may stand beside each. */
const forms: Readonly<Record<string, readonly string[]>> = {
  cron: ['day_match'],
  every: ['anchor'],
  at: [],
  rrule: ['dtstart'],
}

/** Reads one rule, a text or an object. Throws errors of the catalogue about the field at `pointer`. */
export function readRule(input: unknown, pointer: string, place: Place): Rule {
  if (typeof input === 'string') return readText(input, pointer, place)
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    throw refusal(
      'invalid_schedule',
      pointer,
      'A rule is a text or an object.',
      `${textHint} Or: ${objectHint}`,
    )
  }
  return readObject(new RuleFields(input, pointer), pointer, place)
}

/** An object that is one form of a rule and has no other fields. */
class RuleFields {
  readonly form: string
  readonly #fields: ReadonlyMap<string, unknown>
  readonly #pointer: string

  constructor(input: object, pointer: string) {
    this.#pointer = pointer
    this.#fields = new Map(Object.entries(input).filter(([, value]) => value !== undefined))
    const names = [...this.#fields.keys()]
    const [form, second] = names.filter((name) => Object.hasOwn(forms, name))
    if (form === undefined) throw refusal('invalid_schedule', pointer, 'The rule says no time.', objectHint)
    if (second !== undefined) {
      const message = `The rule has both \`${form}\` and \`${second}\`.`
      throw refusal('invalid_schedule', pointer, message, 'Write two rules in an array.')
    }
    const known = [form, ...(forms[form] ?? [])]
    const unknown = names.find((name) => !known.includes(name))
    if (unknown !== undefined) this.#refuseName(unknown, form, known)
    this.form = form
  }

  get(name: string): unknown {
    return this.#fields.get(name)
  }

  text(name: string): string {
    const value = this.get(name)
    const pointer = `${this.#pointer}/${name}`
    if (typeof value !== 'string') {
      throw refusal('invalid_schedule', pointer, `\`${name}\` is not a text.`, objectHint)
    }
    return checkText(value, pointer)
  }

  optionalText(name: string): string | null {
    return this.#fields.has(name) ? this.text(name).trim() : null
  }

  #refuseName(name: string, form: string, known: readonly string[]): never {
    const suggestion = nearest(name, known)
    throw refusal(
      'invalid_schedule',
      `${this.#pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`,
      `${quote(name)} is not a field of a rule with \`${form}\`.`,
      suggestion === null ? `Known: ${known.join(', ')}.` : `Did you mean \`${suggestion}\`?`,
    )
  }
}

function readObject(fields: RuleFields, pointer: string, place: Place): Rule {
  const at = `${pointer}/${fields.form}`
  if (fields.form === 'cron')
    return cronRule(readCron(fields.text('cron'), at, wantsBothDays(fields, pointer)), at, place)
  if (fields.form === 'at') return onceRule(fields.text('at').trim(), at, place)
  if (fields.form === 'rrule') {
    return recurrenceRule(
      readRecurrence(fields.text('rrule'), at),
      fields.optionalText('dtstart'),
      pointer,
      place,
    )
  }
  const every = fields.get('every')
  const period =
    typeof every === 'number' ? secondsPeriod(every, at) : parsePeriod(fields.text('every').trim(), at)
  const anchor = fields.optionalText('anchor')
  return intervalRule(
    period,
    anchor === null ? null : readInstant(anchor, `${pointer}/anchor`, place.timeline),
    at,
    place,
  )
}

function wantsBothDays(fields: RuleFields, pointer: string): boolean {
  const match = fields.get('day_match')
  if (match === undefined || match === 'or' || match === 'and') return match === 'and'
  throw refusal(
    'invalid_schedule',
    `${pointer}/day_match`,
    '`day_match` says how two day fields work together: "or" or "and".',
    'Use "or" (a day fits one of them, as in cron) or "and" (it fits both).',
  )
}

function checkText(text: string, pointer: string): string {
  const refuse = (message: string, hint: string) => refusal('invalid_schedule', pointer, message, hint)
  if (text.length > limits.schedule) {
    throw refuse(
      `The schedule has ${text.length} characters; at most ${limits.schedule} are taken.`,
      textHint,
    )
  }
  if (controlCharacter.test(text)) {
    throw refuse(
      `${quote(text)} holds a control character, such as a tab or a line break.`,
      'Separate fields by spaces.',
    )
  }
  if (text.trim() === '') throw refuse('The schedule is empty.', textHint)
  if (/^(CRON_)?TZ=/i.test(text.trim())) {
    throw refuse('A schedule holds no time zone.', 'Put the zone into the field `timezone`.')
  }
  return text
}

function readText(source: string, pointer: string, place: Place): Rule {
  const text = checkText(source, pointer).trim()
  if (looksLikeInstant(text)) return onceRule(text, pointer, place)
  if (/^(RRULE:|FREQ=)/i.test(text)) {
    throw refusal(
      'invalid_schedule',
      pointer,
      `${quote(text)} is a recurrence rule.`,
      'Give it as an object: {"rrule": "FREQ=DAILY;BYHOUR=9", "dtstart": "2026-12-01T09:00:00"}.',
    )
  }
  if (!text.startsWith('@')) return cronRule(readCron(source, pointer), pointer, place)
  const name = text.toLowerCase()
  const duration = /^@every(?: +(.*))?$/.exec(name)
  if (duration !== null) return intervalRule(parsePeriod(duration[1] ?? '', pointer), null, pointer, place)
  const rule = Object.hasOwn(nicknames, name) ? nicknames[name] : undefined
  if (rule !== undefined) return cronRule(readCron(rule, pointer), pointer, place)
  const known = [...Object.keys(nicknames), '@every']
  const suggestion = nearest(text.split(' ', 1)[0] ?? text, known)
  const all = `Known: ${known.slice(0, -1).join(' ')} and "@every 5m".`
  throw refusal(
    'invalid_schedule',
    pointer,
    name === '@reboot'
      ? `'@reboot' names no instant: a fleet has no single start.`
      : `${quote(text)} is not a known nickname.`,
    suggestion === null ? all : `Did you mean "${suggestion}"? ${all}`,
  )
}
