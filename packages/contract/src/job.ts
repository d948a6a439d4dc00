import { type Static, Type } from 'typebox'
import { limits } from './limits.js'
import { stringEnum } from './string-enum.js'

const text = (max: number, description: string) => Type.String({ minLength: 1, maxLength: max, description })

export const HttpTarget = Type.Object(
  {
    type: Type.Literal('http'),
    url: text(limits.url, 'Absolute http or https URL'),
    method: Type.Optional(stringEnum(['POST', 'PUT', 'PATCH', 'GET', 'DELETE'], { default: 'POST' })),
    headers: Type.Optional(
      Type.Unsafe<Record<string, string>>({
        type: 'object',
        description: 'Sent with every delivery. Carillon-* and Idempotency-Key are set by Carillon.',
        // Not a Type.Record: its pattern leaves out names with a line break, whose values would go unchecked.
        additionalProperties: { type: 'string', maxLength: limits.headerValue },
      }),
    ),
  },
  { $id: 'HttpTarget', additionalProperties: false },
)
export type HttpTarget = Static<typeof HttpTarget>

export const TaskTarget = Type.Object(
  { type: Type.Literal('task'), task: text(limits.name, 'Name of a task that a worker has loaded') },
  { $id: 'TaskTarget', additionalProperties: false },
)
export type TaskTarget = Static<typeof TaskTarget>

export type Target = HttpTarget | TaskTarget
/** `type` says which one is meant, so that a mistake is reported against that one and not against all. */
export const Target = Type.Unsafe<Target>({
  $id: 'Target',
  type: 'object',
  oneOf: [HttpTarget, TaskTarget],
  discriminator: { propertyName: 'type' },
})

export const missedWindows = ['SKIP', 'RUN_ONCE', 'RUN_ALL'] as const
export type MissedWindow = (typeof missedWindows)[number]
export const retryBackoffs = ['fixed', 'linear', 'exponential'] as const
export type RetryBackoff = (typeof retryBackoffs)[number]

/** One rule in words; a string says the same in short: cron, "@every 5m", an instant. */
export type ScheduleRule =
  | string
  | { cron: string; day_match?: 'or' | 'and' }
  | { every: string | number; anchor?: string }
  | { at: string }
  | { rrule: string; dtstart?: string }
/** Several rules are one schedule: it has the ticks of all of them. */
export type ScheduleInput = ScheduleRule | ScheduleRule[]

/** What is inside is read by the schedule's own parser, which names the rule, the field and the repair. */
const ScheduleInput = Type.Unsafe<ScheduleInput>({
  type: ['string', 'object', 'array'],
  minLength: 1,
  maxLength: limits.schedule,
  minItems: 1,
  maxItems: limits.rules,
  description:
    'Cron ("0 9 * * 1"), interval ("@every 5m") or instant (ISO-8601); or an object {cron, day_match?}, ' +
    '{every, anchor?}, {at} or {rrule, dtstart?}; or an array of these, whose ticks are united',
})

export const dstGaps = ['run_after', 'skip'] as const
export type DstGap = (typeof dstGaps)[number]
export const dstOverlaps = ['first', 'last', 'both'] as const
export type DstOverlap = (typeof dstOverlaps)[number]
export const excludedPolicies = ['exclude', 'next_business_day', 'previous_business_day'] as const
export type OnExcluded = (typeof excludedPolicies)[number]

const moment = (description: string) => Type.String({ minLength: 1, maxLength: 64, description })

/** What a person sends to register a job. */
export const JobInput = Type.Object(
  {
    name: text(limits.name, 'Unique among the live jobs of a tenant'),
    schedule: ScheduleInput,
    timezone: Type.Optional(
      Type.String({ minLength: 1, maxLength: 64, default: 'UTC', description: 'IANA name' }),
    ),
    dst_gap: Type.Optional(
      stringEnum(dstGaps, { default: 'run_after', description: 'A wall time that the clocks jump over' }),
    ),
    dst_overlap: Type.Optional(
      stringEnum(dstOverlaps, { default: 'first', description: 'A wall time that the clocks show twice' }),
    ),
    exclude: Type.Optional(
      Type.Array(text(limits.name, 'A date, a range "2026-12-24/2027-01-02", or a calendar'), {
        maxItems: limits.exclusions,
      }),
    ),
    on_excluded: Type.Optional(stringEnum(excludedPolicies, { default: 'exclude' })),
    starts_at: Type.Optional(moment('No tick before this instant')),
    ends_at: Type.Optional(moment('No tick at or after this instant')),
    max_runs: Type.Optional(
      Type.Integer({ minimum: 1, maximum: limits.runs, description: 'The job ends after so many runs' }),
    ),
    jitter_seconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: limits.jitterSeconds,
        default: 0,
        description: 'Starts later by a part of this that is the same at every tick of the job',
      }),
    ),
    fire_window_seconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: limits.jitterSeconds,
        default: 0,
        description: 'May start anywhere in this time after its tick; the load is spread over it',
      }),
    ),
    target: Type.Optional(Target),
    payload: Type.Optional(Type.Unknown({ description: 'Any JSON value, given to the target' })),
    idempotency_key_template: Type.Optional(
      text(limits.template, 'Default {{job_id}}:{{scheduled_at_unix}}'),
    ),
    max_retries: Type.Optional(Type.Integer({ minimum: 0, maximum: limits.retries, default: 3 })),
    retry_backoff: Type.Optional(stringEnum(retryBackoffs, { default: 'exponential' })),
    missed_window: Type.Optional(
      stringEnum(missedWindows, {
        default: 'RUN_ONCE',
        description: 'What becomes of ticks missed during an outage',
      }),
    ),
    max_missed: Type.Optional(
      Type.Integer({ minimum: 1, maximum: limits.missed, default: 10, description: 'Cap of RUN_ALL' }),
    ),
    misfire_grace_seconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: limits.graceSeconds,
        description:
          'A tick missed longer ago is not run. Default 3600 for RUN_ALL, and for an instant that has passed when it is registered',
      }),
    ),
    timeout_seconds: Type.Optional(
      Type.Integer({ minimum: 1, maximum: limits.timeoutSeconds, default: 300 }),
    ),
  },
  { $id: 'JobInput', additionalProperties: false },
)
export type JobInput = Static<typeof JobInput>

/** A job's definition with every default filled in: what is stored, versioned and run. */
export interface JobDefinition {
  name: string
  schedule: ScheduleInput
  timezone: string
  dst_gap: DstGap
  dst_overlap: DstOverlap
  exclude: string[]
  on_excluded: OnExcluded
  starts_at: string | null
  ends_at: string | null
  max_runs: number | null
  jitter_seconds: number
  fire_window_seconds: number
  /** The instant that intervals are counted from: when the job was registered. */
  anchor: number
  target: Target
  payload: unknown
  idempotency_key_template: string
  max_retries: number
  retry_backoff: RetryBackoff
  missed_window: MissedWindow
  max_missed: number
  misfire_grace_seconds: number | null
  timeout_seconds: number
}

const instant = (description: string) => Type.String({ format: 'date-time', description })
const maybeInstant = (description: string) => Type.Union([instant(description), Type.Null()])

export const jobStates = ['active', 'paused', 'ended'] as const
export type JobState = (typeof jobStates)[number]

export const Job = Type.Object(
  {
    job_id: Type.String({ pattern: '^job_[0-9a-z]{26}$' }),
    name: Type.String(),
    state: stringEnum(jobStates),
    version: Type.Integer(),
    schedule: ScheduleInput,
    timezone: Type.String(),
    dst_gap: stringEnum(dstGaps),
    dst_overlap: stringEnum(dstOverlaps),
    exclude: Type.Array(Type.String()),
    on_excluded: stringEnum(excludedPolicies),
    starts_at: Type.Union([Type.String(), Type.Null()]),
    ends_at: Type.Union([Type.String(), Type.Null()]),
    max_runs: Type.Union([Type.Integer(), Type.Null()]),
    jitter_seconds: Type.Integer(),
    fire_window_seconds: Type.Integer(),
    next_run_at: maybeInstant('UTC; null when no tick is ahead'),
    target: Target,
    payload: Type.Unknown(),
    idempotency_key_template: Type.String(),
    max_retries: Type.Integer(),
    retry_backoff: stringEnum(retryBackoffs),
    missed_window: stringEnum(missedWindows),
    max_missed: Type.Integer(),
    misfire_grace_seconds: Type.Union([Type.Integer(), Type.Null()]),
    timeout_seconds: Type.Integer(),
    created_at: instant('When it was registered'),
    updated_at: instant('When its definition last changed'),
    ended_at: maybeInstant('When its last tick was decided'),
    warnings: Type.Array(Type.Object({ code: Type.String(), message: Type.String() }), {
      description: 'What may keep this job from running as meant, e.g. no worker serves its task',
    }),
  },
  { $id: 'Job' },
)
export type Job = Static<typeof Job>

export const JobList = Type.Object(
  { data: Type.Array(Job), next_cursor: Type.Union([Type.String(), Type.Null()]) },
  { $id: 'JobList' },
)
export type JobList = Static<typeof JobList>
