import { type Static, Type } from 'typebox'
import { limits } from './limits.js'
import { stringEnum } from './string-enum.js'

const instant = (description: string) => Type.String({ format: 'date-time', description })
const maybeInstant = (description: string) => Type.Union([instant(description), Type.Null()])
const count = (description: string) => Type.Integer({ minimum: 0, description })
const moment = (description: string) =>
  Type.String({
    minLength: 1,
    maxLength: 64,
    description: `${description}: ISO-8601; without an offset, in the time zone of the job`,
  })

/** Asks for runs of ticks that have passed. */
export const BackfillInput = Type.Object(
  {
    from: moment('The first instant whose tick is run'),
    to: moment('The first instant whose tick is not run any more; not after now'),
    per_minute: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: limits.backfillPerMinute,
        default: 60,
        description: 'Runs a minute at most. They run one after another in any case',
      }),
    ),
    dry_run: Type.Optional(Type.Boolean({ default: false, description: 'Only count' })),
    only_missing: Type.Optional(
      Type.Boolean({
        default: true,
        description: 'Leaves out ticks that ended in success, and those that are on their way already',
      }),
    ),
    reason: Type.Optional(
      Type.String({ minLength: 1, maxLength: limits.reason, description: 'For people who look at it' }),
    ),
  },
  { $id: 'BackfillInput', additionalProperties: false },
)
export type BackfillInput = Static<typeof BackfillInput>

/** What a backfill would come to. */
export const BackfillPlan = Type.Object(
  {
    ticks: count('Ticks that would be run'),
    first: maybeInstant('The first of them'),
    last: maybeInstant('The last of them'),
    excluded_done: count('Ticks of the range that are left out: they succeeded, or are on their way'),
    estimated_seconds: count('How long it would take at its pace, if no run takes longer'),
  },
  { $id: 'BackfillPlan' },
)
export type BackfillPlan = Static<typeof BackfillPlan>

export const Backfill = Type.Object(
  {
    backfill_id: Type.String({ pattern: '^bf_[0-9a-z]{13}$' }),
    job_id: Type.String(),
    from: instant('As it was asked for'),
    to: instant('As it was asked for'),
    state: stringEnum(['running', 'paused', 'done', 'cancelled'], {
      description: 'paused: its job is. done: every run of it has ended',
    }),
    total: count('Ticks to run'),
    started: count('Ticks whose runs were made so far'),
    done: count('Runs that have ended, however'),
    failed: count('Runs that ended, and not in success'),
    per_minute: Type.Integer({ minimum: 1 }),
    only_missing: Type.Boolean(),
    reason: Type.Union([Type.String(), Type.Null()]),
    created_at: instant('When it was asked for'),
    eta_seconds: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
      description: 'About how long it takes yet; null while it is paused',
    }),
  },
  { $id: 'Backfill' },
)
export type Backfill = Static<typeof Backfill>

export const BackfillList = Type.Object(
  { data: Type.Array(Backfill), next_cursor: Type.Union([Type.String(), Type.Null()]) },
  { $id: 'BackfillList' },
)
export type BackfillList = Static<typeof BackfillList>
