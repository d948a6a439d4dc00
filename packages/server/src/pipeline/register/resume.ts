import type { Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { type CalendarSet, parseSchedule } from '../../time/schedule.js'
import { parkedUntil } from '../parked.js'
import { audit } from '../audit.js'
import { changing, type JobName, type Situation, subjectOf, type Transactional } from './change.js'
import { hasEnded } from './ended.js'
import { type Move, moveCursors } from './move.js'
import { policyOf, runsLeft, settle, settledThrough } from './settle.js'
import { changedStartOf, spreadOf } from './starting.js'

const resumeStatement = statement<
  { jobs: number[]; now: number; parked_until: number; ends: boolean[] },
  { job: number }
>(new URL('./resume-job.sql', import.meta.url))

/**
 * Lets a paused job go on. Its missed-run policy decides, once, about every tick of the pause. `onlyIfOver`: not if the
 * pause was given a later end meanwhile. Answers whether it was resumed; a job that is not paused stays as it is.
 */
export function resumeJob(
  database: Transactional,
  name: JobName,
  { onlyIfOver = false } = {},
): Promise<boolean> {
  return changing(database, name, async (situation, calendars, runner) => {
    const { now, state, paused_until: until } = situation
    if (state === 'paused' && onlyIfOver && (until === null || until > now)) return false
    const planned = planResume(situation, calendars)
    if (planned === null) return false
    await resumeJobs(runner, [planned])
    await audit(runner, subjectOf(name))
    return true
  })
}

/** Null for a job that is not paused. */
export function planResume(
  situation: Situation,
  calendars: CalendarSet,
): { situation: Situation; move: Move } | null {
  if (situation.state === 'ended') throw hasEnded(situation)
  return situation.state === 'active' ? null : { situation, move: afterPause(situation, calendars) }
}

/** Jobs whose timers are locked, all at once. */
export async function resumeJobs(
  runner: Runner,
  planned: readonly { situation: Situation; move: Move }[],
): Promise<void> {
  const now = planned[0]?.situation.now
  if (now === undefined) return
  await moveCursors(runner, now, planned)
  await runner.run(resumeStatement, {
    jobs: planned.map(({ situation }) => situation.job),
    now,
    parked_until: parkedUntil,
    ends: planned.map(({ move }) => move.due === null),
  })
}

/** A tick whose start is still ahead was not missed: it is the next one. */
function afterPause(situation: Situation, calendars: CalendarSet): Move {
  const { definition, now, runs, accounted_through: accounted, changes } = situation
  const schedule = parseSchedule({ ...definition, calendars })
  const { next, ...settled } = settle({
    schedule,
    first: schedule.next(accounted),
    through: changes.come(now - spreadOf(situation, schedule, definition), now),
    policy: policyOf(definition, runs),
    changes,
  })
  const due = runsLeft(definition, runs + (settled.replay?.count ?? 0)) === 0 ? null : next
  return {
    taken: { from: null, count: 0 },
    ...settled,
    accounted: settledThrough(settled, accounted),
    due,
    startAt: changedStartOf(due, situation, schedule, definition, changes),
    reason: 'paused',
    replayState: 'running',
  }
}
