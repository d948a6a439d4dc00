import type { Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import type { JobDefinition } from '@carillon/contract'
import type { CalendarSet, Schedule } from '../../time/schedule.js'
import { audit } from '../audit.js'
import { changing, type JobName, type Situation, subjectOf, type Transactional } from './change.js'
import { moveCursors, nothingOwed } from './move.js'
import { readable } from './reading.js'
import { noneOf, type Settlement, settle, settledThrough, settleUnreadable } from './settle.js'
import { isStagedAndNotDue, type TakenBack, takeBack } from './taking-back.js'

const replaysStatement = statement<
  { job: number },
  { replay: number; to_ms: number; definition: JobDefinition }
>(new URL('./look-at-replays.sql', import.meta.url))
const deleteStatement = statement<
  { job: number; now: number; replays: number[]; replay_nexts: (number | null)[] },
  { job: number }
>(new URL('./delete-job.sql', import.meta.url))

/** Nothing of the job starts any more. What it owed has a record, and its history stays. */
export async function deleteJob(database: Transactional, name: JobName): Promise<void> {
  await changing(database, name, async (situation, calendars, runner) => {
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
  })
}

/** Every tick from the cursor up to and including now. */
function owedAtTheEnd(situation: Situation, taken: TakenBack, schedule: Schedule | null): Settlement {
  const { state, now, changes } = situation
  if (state === 'ended' && taken.count === 0) return { ...nothingOwed, leftOut: [], next: null }
  if (schedule === null) return settleUnreadable(taken.due, now)
  const first = state === 'paused' ? schedule.next(taken.accounted) : taken.due
  return settle({ schedule, first, through: now, policy: noneOf, changes })
}

async function replaysOf(
  runner: Runner,
  job: number,
  calendars: CalendarSet,
): Promise<{ replay: number; next: number | null }[]> {
  const replays = await runner.run(replaysStatement, { job })
  return replays.map(({ replay, to_ms: last, definition }) => ({
    replay,
    next: readable({ definition, calendars })?.next(last) ?? null,
  }))
}
