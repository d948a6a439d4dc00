import { type JobWarning, limits } from '@carillon/contract'
import { BoundedCache } from './bounded-cache.js'
import { nearest } from './nearest.js'
import { controlCharacter, quote, refusal } from './refusal.js'
import { type WallClock, wallClockAt } from './zone.js'

export interface TemplateValues {
  jobId: string
  scheduledAt: number
  timezone: string
}

interface Variable {
  /** The longest text it becomes. */
  readonly length: number
  /** Whether it differs from tick to tick. */
  readonly ofTime: boolean
  render(values: TemplateValues, local: () => WallClock): string
}

const day = 86_400_000
const digits = (value: number, count: number) => String(value).padStart(count, '0')
const dateOf = (clock: WallClock) =>
  `${digits(clock.year, 4)}-${digits(clock.month, 2)}-${digits(clock.day, 2)}`

/** ISO-8601: weeks begin on Monday, and a week belongs to the year that has its Thursday. */
function weekOf(clock: WallClock): string {
  const date = Date.UTC(clock.year, clock.month - 1, clock.day)
  const daysSinceMonday = (new Date(date).getUTCDay() + 6) % 7
  const thursday = date + (3 - daysSinceMonday) * day
  const year = new Date(thursday).getUTCFullYear()
  const week = Math.floor((thursday - Date.UTC(year, 0, 1)) / (7 * day)) + 1
  return `${digits(year, 4)}-W${digits(week, 2)}`
}

const variables: Readonly<Record<string, Variable>> = {
  job_id: { length: 30, ofTime: false, render: (values) => values.jobId },
  scheduled_at_unix: {
    length: 12,
    ofTime: true,
    render: (values) => String(Math.floor(values.scheduledAt / 1000)),
  },
  date: { length: 10, ofTime: true, render: (_, local) => dateOf(local()) },
  week: { length: 8, ofTime: true, render: (_, local) => weekOf(local()) },
  month: { length: 7, ofTime: true, render: (_, local) => dateOf(local()).slice(0, 7) },
  year: { length: 4, ofTime: true, render: (_, local) => dateOf(local()).slice(0, 4) },
  hour: { length: 13, ofTime: true, render: (_, local) => `${dateOf(local())}T${digits(local().hour, 2)}` },
}
const names = Object.keys(variables)
const ofTime = names.filter((name) => variables[name]?.ofTime)
const all = `Variables: ${names.map((name) => `{{${name}}}`).join(' ')}.`

type Segment = string | Variable
const parsed = new BoundedCache<readonly Segment[]>(256)

/** Throws invalid_template unless every variable is known and the key always fits its limit. */
export function checkTemplate(template: string): void {
  parsed.getOrMake(template, () => parse(template))
}

/**
 * A template without a variable of time names every run of the job by one key: a receiver that remembers keys would do
 * the first and take all others for repetitions. Legal, because somebody may want just that; worth a word.
 */
export function warnOfTemplate(template: string): JobWarning | null {
  const segments = parsed.getOrMake(template, () => parse(template))
  if (segments.some((segment) => typeof segment !== 'string' && segment.ofTime)) return null
  return {
    code: 'template_without_time',
    pointer: '/idempotency_key_template',
    message: `${quote(template)} has no variable of time: every run of this job has the same idempotency key.`,
    hint: `A receiver that remembers keys does only the first. Add one of ${ofTime.map((name) => `{{${name}}}`).join(' ')}.`,
  }
}

/** The idempotency key of one tick; dates are those of the job's zone. */
export function renderTemplate(template: string, values: TemplateValues): string {
  const segments = parsed.getOrMake(template, () => parse(template))
  let clock: WallClock | undefined
  const local = () => (clock ??= wallClockAt(values.scheduledAt, values.timezone))
  return segments
    .map((segment) => (typeof segment === 'string' ? segment : segment.render(values, local)))
    .join('')
}

function refuse(message: string, hint: string): never {
  throw refusal('invalid_template', '/idempotency_key_template', message, hint)
}

function checkText(template: string): void {
  if (template.trim() === '') refuse('The template is empty.', all)
  if (template.length > limits.template) {
    refuse(`The template has ${template.length} characters.`, `Use at most ${limits.template}.`)
  }
  if (controlCharacter.test(template) || /[^\u0020-\u007e]/.test(template)) {
    refuse(
      `${quote(template)} holds a character that an HTTP header cannot carry.`,
      'Use letters without accents, digits and punctuation: the key is sent as the header Idempotency-Key.',
    )
  }
}

function parse(template: string): readonly Segment[] {
  checkText(template)
  const segments: Segment[] = []
  let length = 0
  // Odd pieces are the insides of {{…}}.
  for (const [index, piece] of template.split(/\{\{([^{}]*)\}\}/).entries()) {
    if (index % 2 === 1) {
      const variable = variableOf(piece.trim())
      segments.push(variable)
      length += variable.length
      continue
    }
    const brace = /[{}]/.exec(piece)
    if (brace !== null) {
      refuse(
        `${quote(template)} has a '${brace[0]}' without its partner.`,
        `Write a variable as {{date}}. ${all}`,
      )
    }
    segments.push(piece)
    length += piece.length
  }
  if (length > limits.idempotencyKey) {
    refuse(
      `${quote(template)} becomes a key of up to ${length} characters; at most ${limits.idempotencyKey} are taken.`,
      'Use fewer variables or less text.',
    )
  }
  return segments
}

function variableOf(name: string): Variable {
  const variable = Object.hasOwn(variables, name) ? variables[name] : undefined
  if (variable !== undefined) return variable
  const suggestion = nearest(name, names)
  return refuse(
    `${quote(name)} is not a variable of the template.`,
    suggestion === null ? all : `Did you mean {{${suggestion}}}? ${all}`,
  )
}
