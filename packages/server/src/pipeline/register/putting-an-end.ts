import type { JobDefinition } from '@carillon/contract'
import type { Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import type { CalendarSet, Schedule } from '../../time/schedule.js'
import { parkedUntil } from '../parked.js'
import type { Situation } from './change.js'
import { hasEnded } from './ended.js'
import { type MovedJob, moveCursors, nothingOwed } from './move.js'
import { readable } from './reading.js'
import { noneOf, type Settlement, settle, settledThrough, settleUnreadable } from './settle.js'
import { isStagedAndNotDue, type TakenBack, takeBack } from './taking-back.js'

const replaysStatement = statement<
  { jobs: number[] },
  { replay: number; to_ms: number; definition: JobDefinition }
>(new URL('./look-at-replays.sql', import.meta.url))
const endStatement = statement<
  {
    jobs: number[]
    now: number
    deletes: boolean
    parked_until: number
    reason: string | null
    replays: number[]
    replay_nexts: (number | null)[]
  },
  { job: number }
>(new URL('./end-jobs.sql', import.meta.url))

/** In which way a job comes to its end: see end-jobs.sql. */
export type End = 'deleted' | 'job_cancelled'

/** Where the cursor of the job stops. Null for one that was cancelled, and is cancelled again. */
export function planEnd(situation: Situation, calendars: CalendarSet, end: End): MovedJob | null {
  const { definition, state } = situation
  const cancels = end === 'job_cancelled'
  if (cancels && state === 'cancelled') return null
  const schedule = readable({ definition, calendars })
  const taken = takeBack(situation, schedule, isStagedAndNotDue)
  if (cancels && state === 'ended' && taken.count === 0) throw hasEnded(situation)
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
    reason: end,
    replayState: 'running',
  } as const
  return { situation, move }
}

/** Jobs whose timers are locked, all at once. `reason`: for people, why they were cancelled. */
export async function endJobs(
  runner: Runner,
  planned: readonly MovedJob[],
  { end, calendars, reason = null }: { end: End; calendars: CalendarSet; reason?: string | null },
): Promise<void> {
  const now = planned[0]?.situation.now
  if (now === undefined) return
  const jobs = planned.map(({ situation }) => situation.job)
  const replays = await replaysOf(runner, jobs, calendars)
  await moveCursors(runner, now, planned)
  await runner.run(endStatement, {
    jobs,
    now,
    deletes: end === 'deleted',
    parked_until: parkedUntil,
    reason,
    replays: replays.map(({ replay }) => replay),
    replay_nexts: replays.map(({ next }) => next),
  })
}

/** Every tick from the cursor up to and including now. */
function owedAtTheEnd(situation: Situation, taken: TakenBack, schedule: Schedule | null): Settlement {
  const { state, now, changes } = situation
  if ((state === 'ended' || state === 'cancelled') && taken.count === 0)
    return { ...nothingOwed, leftOut: [], next: null }
  if (schedule === null) return settleUnreadable(taken.due, now)
  const first = state === 'paused' ? schedule.next(taken.accounted) : taken.due
  return settle({ schedule, first, through: now, policy: noneOf, changes })
}

/** What was still to be caught up, each with the tick after it. */
async function replaysOf(
  runner: Runner,
  jobs: number[],
  calendars: CalendarSet,
): Promise<{ replay: number; next: number | null }[]> {
  const replays = await runner.run(replaysStatement, { jobs })
  return replays.map(({ replay, to_ms: last, definition }) => ({
    replay,
    next: readable({ definition, calendars })?.next(last) ?? null,
  }))
}
