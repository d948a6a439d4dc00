import { statement } from '../../db/statement.js'
import { audit } from '../audit.js'
import { changing, type JobName, subjectOf, type Transactional } from './change.js'
import { moveCursors } from './move.js'
import { owedAtTheEnd, replaysOf } from './putting-an-end.js'
import { readable } from './reading.js'
import { settledThrough } from './settle.js'
import { isStagedAndNotDue, takeBack } from './taking-back.js'

const deleteStatement = statement<
  { job: number; now: number; replays: number[]; replay_nexts: (number | null)[] },
  { job: number }
>(new URL('./delete-job.sql', import.meta.url))

/** Nothing of the job starts any more. What it owed has a record, and its history stays. */
export async function deleteJob(database: Transactional, name: JobName): Promise<void> {
  await changing(
    database,
    name,
    async (situation, calendars, runner) => {
      const { job, now, definition } = situation
      const schedule = readable({ definition, calendars })
      const taken = takeBack(situation, schedule, isStagedAndNotDue)
      const owed = owedAtTheEnd(situation, taken, schedule)
      const move = {
        taken,
        skip: owed.skip,
        skipNext: owed.skipNext,
        replay: null,
        leftOut: owed.leftOut,
        accounted: settledThrough(owed, taken.accounted),
        due: null,
        startAt: null,
        reason: 'deleted',
        replayState: 'running',
      } as const
      const replays = await replaysOf(runner, job, calendars)
      await moveCursors(runner, now, [{ situation, move }])
      await audit(runner, { ...subjectOf(name), detail: { name: situation.name } })
      await runner.run(deleteStatement, {
        job,
        now,
        replays: replays.map(({ replay }) => replay),
        replay_nexts: replays.map(({ next }) => next),
      })
    },
    { alsoCancelled: true },
  )
}
