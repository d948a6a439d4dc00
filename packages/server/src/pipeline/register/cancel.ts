import type { CancelJobInput } from '@carillon/contract'
import { audit } from '../audit.js'
import { changing, type JobName, subjectOf, type Transactional } from './change.js'
import { endJobs, planEnd } from './putting-an-end.js'

/**
 * No tick of the job comes any more, for good. Runs of ticks that have come go on, and so do their retries; the definition
 * and the history stay. One that was cancelled already stays as it is.
 */
export async function cancelJob(
  database: Transactional,
  name: JobName,
  { reason = null }: { reason?: CancelJobInput['reason'] | null },
): Promise<void> {
  await changing(
    database,
    name,
    async (situation, calendars, runner) => {
      const planned = planEnd(situation, calendars, 'job_cancelled')
      if (planned === null) return
      await endJobs(runner, [planned], { end: 'job_cancelled', calendars, reason })
      await audit(runner, { ...subjectOf(name), detail: { reason } })
    },
    { alsoCancelled: true },
  )
}
