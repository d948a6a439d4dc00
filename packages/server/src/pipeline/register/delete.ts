import { audit } from '../audit.js'
import { changing, type JobName, subjectOf, type Transactional } from './change.js'
import { endJobs, planEnd } from './putting-an-end.js'

/** Nothing of the job starts any more. What it owed has a record, and its history stays. */
export async function deleteJob(database: Transactional, name: JobName): Promise<void> {
  await changing(
    database,
    name,
    async (situation, calendars, runner) => {
      const planned = planEnd(situation, calendars, 'deleted')
      if (planned === null) return
      await endJobs(runner, [planned], { end: 'deleted', calendars })
      await audit(runner, { ...subjectOf(name), detail: { name: situation.name } })
    },
    { alsoCancelled: true },
  )
}
