import { CarillonError, limits } from '@carillon/contract'
import { BoundedCache } from './bounded-cache.js'
import { parseCronFields } from './cron-fields.js'
import { CronTicks } from './cron.js'
import { looksLikeInstant, parseInstant } from './instant.js'
import { parsePeriod } from './interval.js'
import { nearest } from './nearest.js'
import { controlCharacter, quote, refusal } from './refusal.js'
import { checkZone } from './zone.js'

export interface Schedule {
  readonly kind: 'cron' | 'interval' | 'once'
  /** First tick strictly after `after`, or null when there is none. */
  next(after: number): number | null
}

export interface ScheduleSource {
  schedule: string
  timezone: string
  /** The instant intervals are counted from: the job's registration. */
  anchor: number
}

const nicknames: Readonly<Record<string, string>> = {
  '@hourly': '0 * * * *',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@weekly': '0 0 * * 0',
  '@monthly': '0 0 1 * *',
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
}

/** The end of what a Date can hold. */
const latestInstant = 8_640_000_000_000_000
/** Where the search for a first tick begins; fixed, so that a rule is accepted or refused the same at all times. */
const searchFrom = Date.UTC(2024, 0, 1)

// Many jobs share few rules, and one croner object holds 80 KB: this bounds them to about 20 MB.
const cronSchedules = new BoundedCache<Schedule>(256)

/**
 * Reads a schedule. Cron rules are interned by text and zone, so equal rules share one object.
 * Throws invalid_schedule, invalid_timezone or schedule_never_fires.
 */
export function parseSchedule(source: ScheduleSource): Schedule {
  checkZone(source.timezone)
  const text = source.schedule.trim()
  checkText(source.schedule)
  if (looksLikeInstant(text)) return onceSchedule(parseInstant(text, source.timezone))
  if (!text.startsWith('@')) return cronSchedule(text, source.timezone)
  const name = text.toLowerCase()
  const duration = /^@every(?: +(.*))?$/.exec(name)
  if (duration !== null) return intervalSchedule(parsePeriod(duration[1] ?? ''), source.anchor)
  const rule = Object.hasOwn(nicknames, name) ? nicknames[name] : undefined
  if (rule === undefined) throw unknownNickname(text)
  return cronSchedule(rule, source.timezone)
}

function checkText(text: string): void {
  const example =
    'Give a cron expression ("0 9 * * 1"), an interval ("@every 5m") or an instant ("2026-12-01T09:00:00Z").'
  const refuse = (message: string, hint: string) => refusal('invalid_schedule', '/schedule', message, hint)
  if (text.length > limits.schedule) {
    throw refuse(`The schedule has ${text.length} characters; at most ${limits.schedule} are taken.`, example)
  }
  if (controlCharacter.test(text)) {
    throw refuse(
      `${quote(text)} holds a control character, such as a tab or a line break.`,
      'Separate fields by spaces.',
    )
  }
  if (text.trim() === '') throw refuse('The schedule is empty.', example)
  if (/^(CRON_)?TZ=/i.test(text.trim())) {
    throw refuse('A schedule holds no time zone.', 'Put the zone into the field `timezone`.')
  }
}

function unknownNickname(text: string): CarillonError {
  const known = [...Object.keys(nicknames), '@every']
  const suggestion = nearest(text.split(' ', 1)[0] ?? text, known)
  const all = `Known: ${known.slice(0, -1).join(' ')} and "@every 5m".`
  const why =
    text.toLowerCase() === '@reboot'
      ? `'@reboot' names no instant: a fleet has no single start.`
      : `${quote(text)} is not a known nickname.`
  return refusal(
    'invalid_schedule',
    '/schedule',
    why,
    suggestion === null ? all : `Did you mean "${suggestion}"? ${all}`,
  )
}

function cronSchedule(text: string, zone: string): Schedule {
  const fields = parseCronFields(text)
  return cronSchedules.getOrMake(`${fields.text} ${zone}`, () => {
    const ticks = readByCroner(text, () => new CronTicks(fields, zone))
    if (ticks.next(searchFrom) === null) {
      throw refusal(
        'schedule_never_fires',
        '/schedule',
        `${quote(text)} never fires: no day fits all of its fields.`,
        'Check the day of the month and the day of the week against the months.',
      )
    }
    return { kind: 'cron', next: (after) => ticks.next(after) }
  })
}

/** The fields were checked before; what croner still refuses is told in its words, as the same catalogue error. */
function readByCroner<T>(text: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^Cron\w*: /, '') : String(error)
    throw new CarillonError('invalid_schedule', {
      detail: `${quote(text)} cannot be read: ${reason}`,
      errors: [
        {
          pointer: '/schedule',
          message: `${quote(text)} cannot be read: ${reason}`,
          hint: 'Correct the field named.',
        },
      ],
      cause: error,
    })
  }
}

function intervalSchedule(period: number, anchor: number): Schedule {
  return {
    kind: 'interval',
    next(after) {
      const steps = Math.max(1, Math.floor((after - anchor) / period) + 1)
      const tick = anchor + steps * period
      return tick <= latestInstant ? tick : null
    },
  }
}

function onceSchedule(instant: number): Schedule {
  return { kind: 'once', next: (after) => (after < instant ? instant : null) }
}

/** How many ticks are compared: more than a year of a daily rule, so both changes of the clocks are among them. */
const comparedTicks = 400

/**
 * Throws schedule_too_frequent, naming two ticks closer than `minIntervalMs`, when there are such among the first
 * 400 ticks after `from`. Rules whose only close pair comes later than that pass.
 */
export function checkFrequency(schedule: Schedule, from: number, minIntervalMs: number): void {
  let previous = schedule.next(from)
  for (let compared = 1; compared < comparedTicks && previous !== null; compared++) {
    const tick = schedule.next(previous)
    if (tick === null) return
    if (tick - previous < minIntervalMs) throw tooFrequent(previous, tick, minIntervalMs)
    if (schedule.kind === 'interval') return
    previous = tick
  }
}

function tooFrequent(first: number, second: number, minIntervalMs: number): CarillonError {
  return refusal(
    'schedule_too_frequent',
    '/schedule',
    `The ticks ${new Date(first).toISOString()} and ${new Date(second).toISOString()} are ${(second - first) / 1000} s apart; ` +
      `at least ${minIntervalMs / 1000} s are required.`,
    'Lengthen the interval, or lower CARILLON_MIN_INTERVAL_SECONDS on the server.',
  )
}
