import { type Static, Type } from 'typebox'
import { stringEnum } from './string-enum.js'
import { tagFilter } from './tag.js'

export const runStatuses = [
  'pending',
  'running',
  'success',
  'failed',
  'dead',
  'stale',
  'skipped',
  'cancelled',
] as const
export type RunStatus = (typeof runStatuses)[number]

const maybeInstant = (description: string) =>
  Type.Union([Type.String({ format: 'date-time', description }), Type.Null()])

/** What became of one tick: the run made for it, or the recorded decision not to make one. */
export const Run = Type.Object(
  {
    run_id: Type.String({ pattern: '^run_[0-9a-z]{30}$' }),
    job_id: Type.String(),
    scheduled_at: Type.String({ format: 'date-time', description: 'The tick. Stable over all attempts' }),
    available_at: maybeInstant('When the present or last attempt could start at the earliest'),
    started_at: maybeInstant('When the present or last attempt started, by the database clock'),
    finished_at: maybeInstant('When the last attempt finished'),
    duration_ms: Type.Union([Type.Integer(), Type.Null()], { description: 'How long the last attempt took' }),
    status: stringEnum(runStatuses),
    attempt: Type.Integer({ description: 'The attempt that is ahead, under way, or was the last' }),
    max_attempts: Type.Union([Type.Integer(), Type.Null()]),
    error: Type.Union([Type.String(), Type.Null()]),
    reason: Type.Union([Type.String(), Type.Null()], {
      description: 'Why it did not run, waits, or ended as it did; a stable word',
    }),
    result: Type.Unknown({ description: 'What the target answered, capped' }),
    catch_up: Type.Boolean({ description: 'Run late because its tick had been missed' }),
    version: Type.Union([Type.Integer(), Type.Null()], { description: "The job's version that was run" }),
    fencing_token: Type.Union([Type.Integer(), Type.Null()]),
    worker: Type.Union([Type.String(), Type.Null()], { description: 'The process that held the run' }),
    skipped_until: maybeInstant('For a row that stands for several ticks: the last of them'),
    skipped_count: Type.Union([Type.Integer(), Type.Null()]),
  },
  { $id: 'Run' },
)
export type Run = Static<typeof Run>

export const RunArray = Type.Array(Run, { $id: 'RunArray' })

/** To which runs of a job a list is narrowed. */
export const runFilter = {
  status: Type.Optional(
    stringEnum(
      runStatuses.filter((status) => status !== 'stale'),
      { description: 'Only runs that are so now' },
    ),
  ),
  after: Type.Optional(Type.String({ maxLength: 64, description: 'Only ticks from this instant on' })),
  before: Type.Optional(Type.String({ maxLength: 64, description: 'Only ticks before this instant' })),
}

export const RunList = Type.Object(
  {
    data: Type.Array(Run),
    next_cursor: Type.Union([Type.String(), Type.Null()], {
      description: 'Where the next page begins; a page may be short, or empty, and yet have one',
    }),
  },
  { $id: 'RunList' },
)
export type RunList = Static<typeof RunList>

/** To which runs of all jobs a list is narrowed. */
export const acrossFilter = {
  status: runFilter.status,
  job_id: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: 'Only of this job' })),
  tag: tagFilter,
  after: Type.Optional(
    Type.String({
      maxLength: 64,
      description:
        'Only runs that ended from this instant on. A run in flight, and a run of a named job, counts by its tick',
    }),
  ),
  before: Type.Optional(
    Type.String({ maxLength: 64, description: 'Only runs that ended before this instant' }),
  ),
}
