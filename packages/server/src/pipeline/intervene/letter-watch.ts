import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { jobIdOf, type RunIdentity, runIdOf } from '../../platform/ids.js'
import { utcText } from '../../time/iso-text.js'

const unannouncedStatement = statement<
  { most: number },
  RunIdentity & {
    uuid: string
    tenant: number
    name: string
    reason: string
    error: string | null
    dead_at: number
  }
>(new URL('./unannounced-letters.sql', import.meta.url))
const relievedStatement = statement<Record<string, never>, { tenant: number | null; fingerprint: string }>(
  new URL('./relieved-jobs.sql', import.meta.url),
)

/** What the events are told of. The alert stage keeps them; whoever composes hands it across. */
export interface LetterEvent {
  tenant: number
  kind: 'dead_letter'
  fingerprint: string
  subject: string
  detail: Record<string, unknown>
  job: number
}

export interface LetterWatchOptions {
  database: Database
  raise: (event: LetterEvent) => void
  resolve: (fingerprint: string, tenant: number | null) => void
}

const mostPerPass = 100
const longestError = 500

/**
 * Says that a job has dead letters, once, until it has none. It compares tables, so that nothing depends on who wrote the
 * letter, or on a process that lived long enough to tell.
 */
export class LetterWatch {
  constructor(private readonly options: LetterWatchOptions) {}

  async runOnce(): Promise<undefined> {
    const { database, raise, resolve } = this.options
    for (const job of await database.run(unannouncedStatement, { most: mostPerPass })) {
      const jobId = jobIdOf(job.uuid)
      raise({
        tenant: job.tenant,
        kind: 'dead_letter',
        fingerprint: `dead_letter:${job.uuid}`,
        subject: `${job.name} has dead letters`,
        job: job.job,
        detail: {
          job_id: jobId,
          run_id: runIdOf(job),
          reason: job.reason,
          error: job.error?.slice(0, longestError) ?? null,
          dead_at: utcText(job.dead_at),
          todo: `carillon dead-letters list --job ${jobId}`,
        },
      })
    }
    for (const { fingerprint, tenant } of await database.run(relievedStatement, {}))
      resolve(fingerprint, tenant)
  }
}
