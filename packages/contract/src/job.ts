import { type Static, Type } from 'typebox'
import { limits } from './limits.js'
import {
  fullRetryFields,
  type RetryFields,
  retryBackoffs,
  retryViewFields,
  shortRetryFields,
} from './retry.js'
import { runStatuses } from './run.js'
import { stringEnum } from './string-enum.js'
import { Target } from './target.js'
import { Tag } from './tag.js'

const text = (max: number, description: string) => Type.String({ minLength: 1, maxLength: max, description })

export const missedWindows = ['SKIP', 'RUN_ONCE', 'RUN_ALL'] as const
export type MissedWindow = (typeof missedWindows)[number]

export const overlapPolicies = ['SKIP', 'ALLOW', 'QUEUE', 'REPLACE'] as const
export type OverlapPolicy = (typeof overlapPolicies)[number]

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
const orNull = (max: number, description: string) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], minLength: 1, maxLength: max, description })

/** How long a run may take to start and to finish before somebody should hear of it. */
export interface Expectation {
  start_within_seconds?: number
  finish_within_seconds?: number
}

const within = (description: string) =>
  Type.Optional(Type.Integer({ minimum: 1, maximum: limits.expectSeconds, description }))

/** Nothing is stopped by it: it says when an alert is raised. */
export const Expect = Type.Object(
  {
    start_within_seconds: within('A run that has not started so long after its time raises an alert'),
    finish_within_seconds: within('An attempt that takes longer raises an alert; timeout_seconds ends it'),
  },
  {
    additionalProperties: false,
    minProperties: 1,
    description: 'What is expected of its runs. Where it is not met, an alert is raised',
  },
)

export const JobTags = Type.Array(Tag, {
  maxItems: limits.tags,
  uniqueItems: true,
  description: 'What it is found by: GET /api/v1/jobs?tag=…',
})

/** What a person sends to register a job. */
export const JobInput = Type.Object(
  {
    name: text(limits.name, 'Unique among the live jobs of a tenant'),
    description: Type.Optional(orNull(limits.description, 'What it is for, in words for people')),
    tags: Type.Optional(JobTags),
    managed_by: Type.Optional(
      orNull(
        limits.managedBy,
        'Who owns the definition, e.g. a repository: a tool that applies definitions removes only its own',
      ),
    ),
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
    ...shortRetryFields,
    ...fullRetryFields,
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
    overlap_policy: Type.Optional(
      stringEnum(overlapPolicies, {
        default: 'SKIP',
        description:
          'A tick that comes while the run before it is going on: SKIP passes over it, ALLOW runs both, QUEUE lets one ' +
          'wait, REPLACE cancels the one going on',
      }),
    ),
    max_concurrent: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: limits.concurrent,
        description: 'With ALLOW: how many runs may go on at once. Default: any number',
      }),
    ),
    priority: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: limits.priority,
        default: 5,
        description:
          'Of several due runs of a tenant the one with the higher priority starts first; each step counts as a minute ' +
          'of waiting, so that none waits for ever',
      }),
    ),
    timeout_seconds: Type.Optional(
      Type.Integer({ minimum: 1, maximum: limits.timeoutSeconds, default: 300 }),
    ),
    expect: Type.Optional(Expect),
  },
  { $id: 'JobInput', additionalProperties: false },
)
export type JobInput = Static<typeof JobInput>

/** A job's definition with every default filled in: what is stored, versioned and run. */
export interface JobDefinition extends RetryFields {
  name: string
  /** Jobs stored before there were these have none of the three. */
  description?: string | null
  tags?: string[]
  managed_by?: string | null
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
  missed_window: MissedWindow
  max_missed: number
  misfire_grace_seconds: number | null
  overlap_policy: OverlapPolicy
  max_concurrent: number | null
  priority: number
  timeout_seconds: number
  expect?: Expectation | null
}

export const jobOrders = ['newest', 'next_run', 'name'] as const
export type JobOrder = (typeof jobOrders)[number]

/** Which jobs a list has, and in which order. */
export interface JobFilter {
  /** A part of the name or of the description, or the beginning of the id. */
  search?: string
  /** All of them. */
  tags?: string[]
  state?: JobState
  /** `http`, `task`, `command`, `http:HOST` or `task:NAME`. */
  target?: string
  managed_by?: string
  order?: JobOrder
}

const instant = (description: string) => Type.String({ format: 'date-time', description })
const maybeInstant = (description: string) => Type.Union([instant(description), Type.Null()])

export const jobStates = ['active', 'paused', 'ended', 'cancelled'] as const
export type JobState = (typeof jobStates)[number]

/** The job was taken all the same: this is for people to read, at its registration and whenever it is shown. */
export const JobWarning = Type.Object({
  code: Type.String(),
  message: Type.String(),
  pointer: Type.Optional(Type.String({ description: 'The field it is about' })),
  hint: Type.Optional(Type.String({ description: 'What to do about it' })),
})
export type JobWarning = Static<typeof JobWarning>

export const Job = Type.Object(
  {
    job_id: Type.String({ pattern: '^job_[0-9a-z]{26}$' }),
    name: Type.String(),
    description: Type.Union([Type.String(), Type.Null()]),
    tags: Type.Array(Type.String()),
    managed_by: Type.Union([Type.String(), Type.Null()]),
    state: stringEnum(jobStates),
    version: Type.Integer({ description: 'Also the ETag of the job' }),
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
    last_run_at: maybeInstant('The newest tick that was run or decided; null before the first'),
    last_run_status: Type.Union([stringEnum(runStatuses), Type.Null()], {
      description: 'What became of it, or how far it is',
    }),
    target: Target,
    payload: Type.Unknown(),
    idempotency_key_template: Type.String(),
    max_retries: Type.Integer(),
    retry_backoff: stringEnum(retryBackoffs),
    ...retryViewFields,
    missed_window: stringEnum(missedWindows),
    max_missed: Type.Integer(),
    misfire_grace_seconds: Type.Union([Type.Integer(), Type.Null()]),
    overlap_policy: stringEnum(overlapPolicies),
    max_concurrent: Type.Union([Type.Integer(), Type.Null()]),
    priority: Type.Integer(),
    timeout_seconds: Type.Integer(),
    expect: Type.Optional(Type.Union([Expect, Type.Null()])),
    paused_at: maybeInstant('Since when it is paused'),
    pause_reason: Type.Union([Type.String(), Type.Null()]),
    paused_until: maybeInstant('When it resumes by itself'),
    created_at: instant('When it was registered'),
    updated_at: instant('When its definition last changed'),
    ended_at: maybeInstant('When its last tick was decided, or it was cancelled'),
    cancelled_at: maybeInstant('When it was cancelled'),
    cancel_reason: Type.Union([Type.String(), Type.Null()]),
    warnings: Type.Array(JobWarning, {
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
