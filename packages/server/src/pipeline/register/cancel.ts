import type { CancelJobInput } from '@carillon/contract'
import { statement } from '../../db/statement.js'
import { audit } from '../audit.js'
import { parkedUntil } from '../parked.js'
import { changing, type JobName, subjectOf, type Transactional } from './change.js'
import { hasEnded } from './ended.js'
import { moveCursors } from './move.js'
import { owedAtTheEnd, replaysOf } from './putting-an-end.js'
import { readable } from './reading.js'
import { settledThrough } from './settle.js'
import { isStagedAndNotDue, takeBack } from './taking-back.js'

const cancelStatement = statement<
  {
    job: number
    now: number
    parked_until: number
    reason: string | null
    replays: number[]
    replay_nexts: (number | null)[]
  },
  { job: number }
>(new URL('./cancel-job.sql', import.meta.url))

/**
 * No tick of the job comes any more, for good. Runs of ticks that have come go on, and so do their retries; the definition
 * and the history stay. One that was cancelled already stays as it is.
 */
export async function cancelJob(
  database: Transactional,
  name: JobName,
  input: CancelJobInput,
): Promise<void> {
  await changing(
    database,
    name,
    async (situation, calendars, runner) => {
      const { job, now, definition, state } = situation
      if (state === 'cancelled') return
      const schedule = readable({ definition, calendars })
      const taken = takeBack(situation, schedule, isStagedAndNotDue)
      if (state === 'ended' && taken.count === 0) throw hasEnded(situation)
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
        reason: 'job_cancelled',
        replayState: 'running',
      } as const
      const replays = await replaysOf(runner, job, calendars)
      await moveCursors(runner, now, [{ situation, move }])
      await audit(runner, { ...subjectOf(name), detail: { reason: input.reason ?? null } })
      await runner.run(cancelStatement, {
        job,
        now,
        parked_until: parkedUntil,
        reason: input.reason ?? null,
        replays: replays.map(({ replay }) => replay),
        replay_nexts: replays.map(({ next }) => next),
      })
    },
    { alsoCancelled: true },
  )
}
