import { type Static, Type } from 'typebox'
import { JobTags, jobStates } from './job.js'
import { limits } from './limits.js'
import { stringEnum } from './string-enum.js'
import { Tag } from './tag.js'

const maybeInstant = (description: string) =>
  Type.Union([Type.String({ format: 'date-time', description }), Type.Null()])
const count = (description: string) => Type.Integer({ minimum: 0, description })

/** Which jobs are meant: those to which all of this applies. */
export const OperationFilter = Type.Object(
  {
    search: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: limits.name,
        description: 'The name or the description contains this, in any case',
      }),
    ),
    state: Type.Optional(stringEnum(jobStates, { description: 'Only jobs that are so' })),
    target: Type.Optional(
      Type.String({
        pattern: '^(http|task|command)(:.{1,300})?$',
        description: 'http, task, command, or one of them: http:api.example.com, task:send-report',
      }),
    ),
    tags: Type.Optional(
      Type.Array(Tag, {
        minItems: 1,
        maxItems: limits.tags,
        description: 'Only jobs that have all of these',
      }),
    ),
    managed_by: Type.Optional(
      Type.String({ minLength: 1, maxLength: limits.name, description: 'Only jobs that this one manages' }),
    ),
    job_ids: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
        minItems: 1,
        maxItems: limits.operationJobIds,
        description: 'Only these',
      }),
    ),
  },
  { $id: 'OperationFilter', additionalProperties: false },
)
export type OperationFilter = Static<typeof OperationFilter>

export const operationActions = ['pause', 'resume', 'cancel', 'delete', 'trigger', 'tag', 'untag'] as const
export type OperationAction = (typeof operationActions)[number]
export const operationStates = ['running', 'done', 'cancelled', 'failed'] as const

/** One action on many jobs. */
export const OperationInput = Type.Object(
  {
    action: stringEnum(operationActions, { description: 'What is done to each job' }),
    filter: Type.Optional(OperationFilter),
    all: Type.Optional(
      Type.Boolean({ description: 'true: every job is meant. Needed where the filter says nothing' }),
    ),
    reason: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: limits.reason,
        description: 'Of a pause or cancel, for people',
      }),
    ),
    tags: Type.Optional(JobTags),
    until: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        description: 'When paused jobs resume: ISO-8601; without an offset, in the time zone of each job',
      }),
    ),
    dry_run: Type.Optional(
      Type.Boolean({ default: false, description: 'true: only count what matches, and change nothing' }),
    ),
  },
  { $id: 'OperationInput', additionalProperties: false },
)
export type OperationInput = Static<typeof OperationInput>

/** What an operation would be about. */
export const OperationPreview = Type.Object(
  {
    matched: count('Jobs that match now'),
    sample: Type.Array(Type.Object({ job_id: Type.String(), name: Type.String() }), {
      description: 'The first of them, the oldest first',
    }),
  },
  { $id: 'OperationPreview' },
)
export type OperationPreview = Static<typeof OperationPreview>

export const Operation = Type.Object(
  {
    operation_id: Type.String({ pattern: '^op_[0-9a-z]{26}$' }),
    action: stringEnum(operationActions),
    filter: OperationFilter,
    state: stringEnum(operationStates, {
      description: 'failed: it has ended, and could do nothing to any job; see errors',
    }),
    total: count('Jobs that matched when it was asked for'),
    done: count('Jobs to which it was done so far'),
    failed: count('Jobs to which it could not be done'),
    errors: Type.Array(Type.Object({ job_id: Type.String(), code: Type.String(), detail: Type.String() }), {
      description: 'Why not, for the first hundred of these',
    }),
    created_at: Type.String({ format: 'date-time' }),
    finished_at: maybeInstant('When it ended'),
  },
  { $id: 'Operation' },
)
export type Operation = Static<typeof Operation>

export const OperationList = Type.Object(
  { data: Type.Array(Operation), next_cursor: Type.Union([Type.String(), Type.Null()]) },
  { $id: 'OperationList' },
)
export type OperationList = Static<typeof OperationList>
