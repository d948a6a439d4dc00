import { type OperationFilter, limits, type OperationAction } from '@carillon/contract'
import type { Logger } from 'pino'
import { codeOf, isDatabaseUnavailable } from '../../../db/errors.js'
import type { Database, Runner } from '../../../db/pool.js'
import { statement } from '../../../db/statement.js'
import { type ActionArguments, act, chunkSize, errorOf, type JobError } from './actions.js'
import { type Matched, matching } from './filter.js'

interface Claimed {
  operation: number
  tenant: number
  action: OperationAction
  filter: OperationFilter
  arguments: ActionArguments
  cursor_job: number
  through_job: number
  /** Errors that are stored already. */
  kept: number
}

const goingStatement = statement<Record<string, never>, { operation: number }>(
  new URL('./going-operations.sql', import.meta.url),
)
const claimStatement = statement<{ operation: number }, Claimed>(
  new URL('./claim-operation.sql', import.meta.url),
)
const progressStatement = statement<
  { operation: number; cursor_job: number; done: number; failed: number; errors: string; ends: boolean },
  { state: string }
>(new URL('./note-progress.sql', import.meta.url))

export interface OperatingOptions {
  database: Database
  log: Logger
  /** Told after a chunk: ticks may be near, or runs wait. */
  onChanged: (action: OperationAction) => void
  /** A tick that starts later than this was missed. */
  lateToleranceMs: number
  /** Smaller chunks, for tests. */
  chunk?: number
}

type Doing = (runner: Runner, claimed: Claimed, jobs: Matched[]) => Promise<JobError[]>

/**
 * Carries out operations on many jobs, chunk by chunk. A chunk and its progress are one transaction that begins with the
 * lock of the operation: any scheduler goes on where another one stopped or died, and none does a job twice.
 */
export class Operating {
  /** Operations with a job that breaks its chunk: so many of the next jobs go one by one. */
  private readonly careful = new Map<number, number>()

  private readonly most: number

  constructor(private readonly options: OperatingOptions) {
    this.most = options.chunk ?? chunkSize
  }

  /** One chunk of each operation. Answers whether more is left. */
  async runOnce(): Promise<boolean> {
    let more = false
    for (const { operation } of await this.options.database.run(goingStatement, {})) {
      more = (await this.advance(operation)) || more
    }
    return more
  }

  private async advance(operation: number): Promise<boolean> {
    const alone = this.careful.get(operation) ?? 0
    try {
      const left = await this.chunk(operation, alone > 0 ? 1 : this.most, this.doIt)
      if (alone > 1) this.careful.set(operation, alone - 1)
      else this.careful.delete(operation)
      return left
    } catch (error) {
      if (!isAboutTheJobs(error)) throw error
      if (alone > 0) return this.passOver(operation, error)
      this.careful.set(operation, this.most)
      return true
    }
  }

  private readonly doIt: Doing = (runner, { operation, tenant, action, arguments: given }, jobs) => {
    const { lateToleranceMs, log } = this.options
    const onBroken = (job: string, err: unknown) =>
      log.error({ operation, job, err }, 'an operation could not change a job')
    return act(runner, { tenant, action, given, lateToleranceMs, onBroken }, jobs)
  }

  /** Notes the next job as failed, and goes on after it. */
  private passOver(operation: number, cause: unknown): Promise<boolean> {
    return this.chunk(operation, 1, (_runner, _claimed, [job]) => {
      if (job === undefined) return Promise.resolve([])
      const failed = errorOf(job.uuid, cause)
      this.options.log.error({ operation, job: failed.job_id, err: cause }, 'an operation passed over a job')
      return Promise.resolve([failed])
    })
  }

  private async chunk(operation: number, most: number, doing: Doing): Promise<boolean> {
    const { database, log, onChanged } = this.options
    const chunk = await database.transaction(async (runner) => {
      const [claimed] = await runner.run(claimStatement, { operation })
      if (claimed === undefined) return null
      const { tenant, filter, cursor_job: after, through_job: through, action } = claimed
      const jobs = await matching(runner, tenant, filter, { after, through, most })
      const errors = jobs.length === 0 ? [] : await doing(runner, claimed, jobs)
      const ends = jobs.length < most
      await runner.run(progressStatement, {
        operation,
        cursor_job: jobs.at(-1)?.job ?? after,
        done: jobs.length - errors.length,
        failed: errors.length,
        errors: JSON.stringify(errors.slice(0, Math.max(0, limits.operationErrors - claimed.kept))),
        ends,
      })
      return { ends, action, changed: jobs.length > errors.length }
    })
    if (chunk === null) return false
    if (chunk.changed) onChanged(chunk.action)
    if (chunk.ends) log.info({ operation }, 'an operation on many jobs has ended')
    return !chunk.ends
  }
}

/** Not where the database is the trouble, or others were in the way (class 40): then the same chunk is tried again. */
function isAboutTheJobs(error: unknown): boolean {
  return !isDatabaseUnavailable(error) && !/^40/.test(codeOf(error) ?? '')
}
