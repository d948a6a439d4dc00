import type { Logger } from 'pino'
import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { codeOf, isAboutARow, isDatabaseUnavailable } from '../../db/errors.js'
import { CarillonError } from '@carillon/contract'
import { jobIdOf } from '../../platform/ids.js'
import { resumeJob } from './resume.js'

const jobsToResumeStatement = statement<
  { after_until: number; after_job: number; most: number },
  { job: number; tenant: number; uuid: string; paused_until: number }
>(new URL('./jobs-to-resume.sql', import.meta.url))

export interface ResumeDueOptions {
  database: Database
  log: Logger
  /** Told after jobs were resumed: their next tick may be near. */
  onChanged: () => void
  /** How many are looked for at once. */
  page?: number
}

/** Resumes jobs whose pause was given an end that has come. Any process may do it: the lock decides who does. */
export class ResumeDue {
  constructor(private readonly options: ResumeDueOptions) {}

  async runOnce(): Promise<undefined> {
    const { database, onChanged, page = 200 } = this.options
    let after = { after_until: 0, after_job: 0 }
    for (;;) {
      const jobs = await database.run(jobsToResumeStatement, { ...after, most: page })
      let resumed = 0
      for (const job of jobs) resumed += (await this.resume(job)) ? 1 : 0
      if (resumed > 0) onChanged()
      const last = jobs.at(-1)
      if (last === undefined || jobs.length < page) return undefined
      after = { after_until: last.paused_until, after_job: last.job }
    }
  }

  /** A job that cannot be resumed must not keep the others waiting. It stays paused, and is tried again. */
  private async resume(job: { tenant: number; uuid: string }): Promise<boolean> {
    try {
      const { tenant, uuid } = job
      return await resumeJob(this.options.database, { tenant, uuid }, { onlyIfOver: true })
    } catch (error) {
      if (!isAboutTheJob(error)) throw error
      if (error instanceof CarillonError && error.code === 'job_not_found') return false
      this.options.log.error({ job: jobIdOf(job.uuid), err: error }, 'a job could not be resumed')
      return false
    }
  }
}

/** Where the database is the trouble, none can be resumed. All else, also a definition that is damaged, is the job's own. */
function isAboutTheJob(error: unknown): boolean {
  if (error instanceof CarillonError || isAboutARow(error)) return true
  return codeOf(error) === undefined && !isDatabaseUnavailable(error)
}
