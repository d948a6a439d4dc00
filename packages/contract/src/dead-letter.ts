import { type Static, Type } from 'typebox'
import { limits } from './limits.js'
import { RunAttempt } from './run-detail.js'
import { stringEnum } from './string-enum.js'
import type { Target } from './target.js'

const instant = (description: string) => Type.String({ format: 'date-time', description })
const maybe = <Schema extends ReturnType<typeof Type.String>>(schema: Schema) =>
  Type.Union([schema, Type.Null()])
const count = (description: string) => Type.Integer({ minimum: 0, description })

const letterFields = {
  run_id: Type.String({ pattern: '^run_[0-9a-z]{30}$' }),
  job_id: Type.String(),
  job: Type.String({ description: 'The name of the job' }),
  scheduled_at: instant('The tick. A re-drive keeps it, and the idempotency key with it'),
  dead_at: instant('When its last attempt failed'),
  reason: Type.String({ description: 'How the last attempt failed; a stable word' }),
  error: maybe(Type.String({ description: 'What the last attempt failed with' })),
  fingerprint: Type.String({
    description: 'The same for errors that differ only in ids, numbers and addresses',
  }),
  attempts: count('Attempts of the last round'),
  max_attempts: count('Attempts that a round has at most'),
  round: count('How often it was re-driven before'),
  version: Type.Integer({ description: "The job's version that was run" }),
  catch_up: Type.Boolean(),
  payload_changed: Type.Boolean({ description: 'It has a payload of its own, given with a re-drive' }),
}

/** A run that used up its attempts. */
export const DeadLetter = Type.Object(letterFields, { $id: 'DeadLetter' })
export type DeadLetter = Static<typeof DeadLetter>

export const DeadLetterList = Type.Object(
  { data: Type.Array(DeadLetter), next_cursor: Type.Union([Type.String(), Type.Null()]) },
  { $id: 'DeadLetterList' },
)
export type DeadLetterList = Static<typeof DeadLetterList>

export type DeadLetterTarget = Target | null

/** A dead letter with all that is needed to understand it. */
export const DeadLetterDetail = Type.Object(
  {
    ...letterFields,
    pattern: Type.String({ description: 'The error as the fingerprint sees it' }),
    result: Type.Unknown({ description: 'What the target answered last, capped' }),
    payload: Type.Unknown({ description: 'What is delivered: its own payload, or that of its version' }),
    target: Type.Unsafe<DeadLetterTarget>({
      description: 'Where it is delivered; null: the definition is gone',
    }),
    definition: Type.Unknown({ description: "The job's definition in the version that was run" }),
    history: Type.Array(RunAttempt, { description: 'Every attempt of every round, in order' }),
  },
  { $id: 'DeadLetterDetail' },
)
export type DeadLetterDetail = Static<typeof DeadLetterDetail>

/** Dead letters whose errors say the same. */
export const DeadLetterGroup = Type.Object(
  {
    fingerprint: Type.String(),
    pattern: Type.String({ description: 'What the errors have in common' }),
    count: count('How many dead letters'),
    jobs: count('Of how many jobs'),
    first_dead_at: instant('The earliest of them'),
    last_dead_at: instant('The latest of them'),
    reason: Type.String(),
    example: Type.Object(
      { run_id: Type.String(), error: maybe(Type.String()) },
      { description: 'The latest' },
    ),
  },
  { $id: 'DeadLetterGroup' },
)
export type DeadLetterGroup = Static<typeof DeadLetterGroup>

export const DeadLetterGroupList = Type.Object(
  { data: Type.Array(DeadLetterGroup, { description: 'The largest first; at most a hundred' }) },
  { $id: 'DeadLetterGroupList' },
)
export type DeadLetterGroupList = Static<typeof DeadLetterGroupList>

/** How one dead letter is re-driven. Nothing needs to be said. */
export const RedriveInput = Type.Object(
  {
    payload: Type.Optional(
      Type.Unknown({
        description: "Delivered in place of the job's payload, in this run alone; any JSON value",
      }),
    ),
  },
  { $id: 'RedriveInput', additionalProperties: false },
)
export type RedriveInput = Static<typeof RedriveInput>

/** Which dead letters are meant: those to which all of this applies. */
export const deadLetterFilter = {
  job_id: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: 'Only of this job' })),
  fingerprint: Type.Optional(
    Type.String({ pattern: '^[0-9a-f]{16}$', description: 'Only with this error, as the groups name it' }),
  ),
  after: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 64,
      description: 'Dead at this instant or later; with an offset',
    }),
  ),
  before: Type.Optional(
    Type.String({ minLength: 1, maxLength: 64, description: 'Dead before this instant; with an offset' }),
  ),
}
export const DeadLetterFilter = Type.Object(deadLetterFilter, {
  $id: 'DeadLetterFilter',
  additionalProperties: false,
})
export type DeadLetterFilter = Static<typeof DeadLetterFilter>

export const RedriveFilter = Type.Object(
  {
    ...deadLetterFilter,
    per_second: Type.Optional(
      Type.Number({
        minimum: 0.01,
        maximum: limits.redrivePerSecond,
        default: 10,
        description: 'How many go back to the queue each second, at most',
      }),
    ),
    canary: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: limits.redriveCanary,
        default: 0,
        description: 'So many go first, and the rest only if all of these succeed',
      }),
    ),
  },
  { $id: 'RedriveFilter', additionalProperties: false },
)
export type RedriveFilter = Static<typeof RedriveFilter>

export const redriveStates = ['canary', 'watching', 'running', 'done', 'stopped', 'cancelled'] as const

/** A re-drive of many dead letters, and how far it is. */
export const Redrive = Type.Object(
  {
    redrive: Type.Integer({ description: 'Its number' }),
    state: stringEnum(redriveStates, {
      description:
        'canary: the first go back to the queue; watching: their ends are awaited; running: the rest follows; done: all are ' +
        'back in the queue; stopped: see reason',
    }),
    reason: maybe(Type.String({ description: 'canary_failed, where it was stopped' })),
    job_id: maybe(Type.String()),
    fingerprint: maybe(Type.String()),
    after: maybe(Type.String({ format: 'date-time' })),
    before: instant('What died later is not taken'),
    per_second: Type.Number(),
    canary: Type.Integer(),
    canaries: Type.Array(Type.String(), { description: 'The runs that went first' }),
    total: count('Dead letters that matched when it was asked for'),
    moved: count('Back in the queue so far'),
    created_at: instant('When it was asked for'),
    ended_at: maybe(Type.String({ format: 'date-time' })),
  },
  { $id: 'Redrive' },
)
export type Redrive = Static<typeof Redrive>

export const RedriveList = Type.Object({ data: Type.Array(Redrive) }, { $id: 'RedriveList' })
export type RedriveList = Static<typeof RedriveList>

export const Discarded = Type.Object({ discarded: count('How many there were') }, { $id: 'Discarded' })
export type Discarded = Static<typeof Discarded>
