import {
  CarillonError,
  checkRetryRequest,
  type JobDefinition,
  type JobInput,
  type JobPatch,
  retryFieldsOf,
} from '@carillon/contract'
import { ageText } from '../ages.js'
import { type CalendarSet, checkFrequency, parseSchedule, type ScheduleSource } from '../../time/schedule.js'
import { checkTemplate } from '../../time/template.js'
import { spreadMs } from '../spread.js'
import { utcText } from '../../time/iso-text.js'

/** A definition with its first tick: all that is needed to store a job. */
export interface NewJob {
  definition: JobDefinition
  oneOff: boolean
  /** Every tick up to here is none of this job's. */
  from: number
  due: number
  /** Where its id adds nothing to it (firstStart). */
  startAt: number
}

/** When a new job starts for the first time. The instant of a one-off is meant as it is. */
export function firstStart({ definition, oneOff, startAt }: NewJob, jobId: string): number {
  return oneOff ? startAt : startAt + spreadMs(jobId, definition)
}

const defaultTemplate = '{{job_id}}:{{scheduled_at_unix}}'
const defaultGraceMs = 3_600_000

export interface Registration {
  now: number
  minIntervalMs: number
  calendars: CalendarSet
}

/** Fills in the defaults, checks what the schema cannot say, and finds the first tick after `now`. */
export function defineJob(input: JobInput, registration: Registration): NewJob {
  const { now, minIntervalMs, calendars } = registration
  checkRetryRequest(input)
  const definition = withDefaults(input, now)
  checkDefinition(definition)
  const schedule = parseSchedule(sourceOf(definition, calendars))
  if (schedule.kind === 'once') return oneOff(definition, schedule.next(Number.NEGATIVE_INFINITY), now)
  const due = schedule.next(now)
  if (due === null) throw new CarillonError('schedule_never_fires', { errors: [neverFires] })
  checkFrequency(schedule, now, minIntervalMs)
  return { definition, oneOff: false, from: now, due, startAt: due }
}

/** Named one by one: to copy all fields of a definition costs more than to read a schedule that is known. */
function sourceOf(definition: JobDefinition, calendars: CalendarSet): ScheduleSource {
  const { schedule, timezone, anchor, dst_gap, dst_overlap, exclude, on_excluded, starts_at, ends_at } =
    definition
  return {
    schedule,
    timezone,
    anchor,
    dst_gap,
    dst_overlap,
    exclude,
    on_excluded,
    starts_at,
    ends_at,
    calendars,
  }
}

/** What neither the schema nor the schedule's parser can say. */
export function checkDefinition(definition: JobDefinition): void {
  checkTemplate(definition.idempotency_key_template)
  checkOverlap(definition)
}

/**
 * The definition with the given fields in place of its own, each as a whole; null stands for the default. Intervals are
 * counted from the registration for as long as the job lives.
 */
export function patchDefinition(definition: JobDefinition, patch: JobPatch): JobDefinition {
  checkRetryRequest(patch)
  const { anchor, ...fields } = definition
  const merged = Object.entries({ ...fields, ...patch }).filter(
    ([, value]) => value !== null && value !== undefined,
  )
  return withDefaults(Object.fromEntries(merged) as unknown as JobInput, anchor)
}

/** Another definition in the place of a present one, with the defaults for what it does not say. */
export function replaceDefinition({ anchor }: JobDefinition, input: JobInput): JobDefinition {
  checkRetryRequest(input)
  return withDefaults(input, anchor)
}

/** A limit that the policy would not look at is surely a mistake. */
function checkOverlap({ overlap_policy: policy, max_concurrent: most }: JobDefinition): void {
  if (most === null || policy === 'ALLOW') return
  throw new CarillonError('validation_failed', {
    detail: `max_concurrent goes with overlap_policy ALLOW; with ${policy} one run goes on at a time.`,
    errors: [{ pointer: '/max_concurrent', message: `has no meaning with overlap_policy ${policy}` }],
  })
}

export const neverFires = { pointer: '/schedule', message: 'names no instant after now' }

function withDefaults(input: JobInput, anchor: number): JobDefinition {
  const { max_retries, retry_backoff, retry, on_lost } = retryFieldsOf(input)
  return {
    name: input.name,
    description: input.description ?? null,
    tags: input.tags ?? [],
    managed_by: input.managed_by ?? null,
    schedule: input.schedule,
    timezone: input.timezone ?? 'UTC',
    dst_gap: input.dst_gap ?? 'run_after',
    dst_overlap: input.dst_overlap ?? 'first',
    exclude: input.exclude ?? [],
    on_excluded: input.on_excluded ?? 'exclude',
    starts_at: input.starts_at ?? null,
    ends_at: input.ends_at ?? null,
    max_runs: input.max_runs ?? null,
    jitter_seconds: input.jitter_seconds ?? 0,
    fire_window_seconds: input.fire_window_seconds ?? 0,
    anchor,
    target: input.target ?? { type: 'task', task: input.name },
    payload: input.payload ?? null,
    idempotency_key_template: input.idempotency_key_template ?? defaultTemplate,
    max_retries,
    retry_backoff,
    retry,
    on_lost,
    missed_window: input.missed_window ?? 'RUN_ONCE',
    max_missed: input.max_missed ?? 10,
    misfire_grace_seconds: input.misfire_grace_seconds ?? null,
    overlap_policy: input.overlap_policy ?? 'SKIP',
    max_concurrent: input.max_concurrent ?? null,
    priority: input.priority ?? 5,
    timeout_seconds: input.timeout_seconds ?? 300,
    expect: input.expect ?? null,
  }
}

/** An instant that has passed within its grace fires at once; an older one is surely a mistake. */
function oneOff(definition: JobDefinition, at: number | null, now: number): NewJob {
  if (at === null) throw new CarillonError('schedule_never_fires', { errors: [neverFires] })
  const graceMs =
    definition.misfire_grace_seconds === null ? defaultGraceMs : definition.misfire_grace_seconds * 1000
  if (at < now - graceMs) {
    const ago = ageText(now - at)
    throw new CarillonError('schedule_in_past', {
      detail: `${utcText(at)} was ${ago} ago; the grace is ${graceMs / 1000} s.`,
      errors: [{ pointer: '/schedule', message: `lies ${ago} in the past` }],
    })
  }
  return { definition, oneOff: true, from: Math.min(at - 1, now), due: at, startAt: Math.max(at, now) }
}
