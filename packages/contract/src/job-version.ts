import { type Static, Type } from 'typebox'
import { Job } from './job.js'
import { limits } from './limits.js'

const reason = Type.String({
  minLength: 1,
  maxLength: limits.reason,
  description: 'For people who look at the job',
})

export const CancelJobInput = Type.Object(
  { reason: Type.Optional(reason) },
  { $id: 'CancelJobInput', additionalProperties: false },
)
export type CancelJobInput = Static<typeof CancelJobInput>

export const RollbackInput = Type.Object(
  {
    version: Type.Integer({
      minimum: 1,
      maximum: 2 ** 31 - 1,
      description: 'Its definition becomes that of a new version',
    }),
    reason: Type.Optional(reason),
  },
  { $id: 'RollbackInput', additionalProperties: false },
)
export type RollbackInput = Static<typeof RollbackInput>

/** What of a job is no part of its definition. */
const beside = [
  ...(['job_id', 'state', 'version', 'next_run_at', 'last_run_at', 'last_run_status', 'paused_at'] as const),
  ...(['pause_reason', 'paused_until', 'created_at', 'updated_at', 'ended_at', 'cancelled_at'] as const),
  ...(['cancel_reason', 'warnings'] as const),
]
export type JobDefinitionView = Omit<Job, (typeof beside)[number]>
export const JobDefinitionView = Type.Unsafe<JobDefinitionView>(Type.Omit(Job, [...beside]))

export const JobVersion = Type.Object(
  {
    version: Type.Integer(),
    created_at: Type.String({ format: 'date-time' }),
    current: Type.Boolean(),
    reason: Type.Union([Type.String(), Type.Null()], { description: 'Why it was made, where that was said' }),
    changed: Type.Array(Type.String(), {
      description: 'The fields in which it differs from the version before; empty for the first',
    }),
    definition: JobDefinitionView,
  },
  { $id: 'JobVersion' },
)
export type JobVersion = Static<typeof JobVersion>

export const JobVersionList = Type.Object(
  { data: Type.Array(JobVersion), next_cursor: Type.Union([Type.String(), Type.Null()]) },
  { $id: 'JobVersionList' },
)
export type JobVersionList = Static<typeof JobVersionList>
