import { type Static, Type } from 'typebox'
import { JobInput } from './job.js'
import { limits } from './limits.js'
import { Problem } from './problem.js'
import { stringEnum } from './string-enum.js'

export const conflictPolicies = ['fail', 'skip'] as const
export type OnConflict = (typeof conflictPolicies)[number]

/** What is asked of all jobs of a bulk call. */
export const bulkOptions = {
  atomic: Type.Optional(
    Type.Boolean({ default: false, description: 'All jobs are created, or none where one is refused' }),
  ),
  on_conflict: Type.Optional(
    stringEnum(conflictPolicies, {
      default: 'fail',
      description: 'A job whose name a live job has: it failed, or it is passed over',
    }),
  ),
}

/** Many jobs in one call. */
export const BulkInput = Type.Object(
  {
    jobs: Type.Array(JobInput, { minItems: 1, maxItems: limits.bulkJobs }),
    ...bulkOptions,
  },
  { $id: 'BulkInput', additionalProperties: false },
)
export type BulkInput = Static<typeof BulkInput>

export const bulkStatuses = ['created', 'failed', 'skipped'] as const
export type BulkStatus = (typeof bulkStatuses)[number]

export const BulkResult = Type.Object(
  {
    index: Type.Integer({ description: 'Where it stands in `jobs`' }),
    status: stringEnum(bulkStatuses, {
      description: 'skipped: not created, and nothing is wrong with it',
    }),
    name: Type.Union([Type.String(), Type.Null()]),
    job_id: Type.Optional(Type.String()),
    next_run_at: Type.Optional(Type.String({ format: 'date-time' })),
    error: Type.Optional(Problem),
  },
  { $id: 'BulkResult' },
)
export type BulkResult = Static<typeof BulkResult>

export const BulkAnswer = Type.Object(
  {
    created: Type.Integer(),
    failed: Type.Integer(),
    skipped: Type.Integer(),
    results: Type.Array(BulkResult, { description: 'One for each job, in the order of the call' }),
  },
  { $id: 'BulkAnswer' },
)
export type BulkAnswer = Static<typeof BulkAnswer>
