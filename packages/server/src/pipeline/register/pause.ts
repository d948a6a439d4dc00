import { CarillonError, type PauseInput } from '@carillon/contract'
import type { Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { readInstant } from '../../time/instant.js'
import type { CalendarSet } from '../../time/schedule.js'
import { timelineOf } from '../../time/timeline.js'
import { parkedUntil } from '../parked.js'
import { audit } from '../audit.js'
import { changing, type JobName, type Situation, subjectOf, type Transactional } from './change.js'
import { hasEnded } from './ended.js'
import { type Move, moveCursors, nothingOwed } from './move.js'
import { readable } from './reading.js'
import { takeBack } from './taking-back.js'
import { utcText } from '../../time/iso-text.js'

const pauseStatement = statement<
  { jobs: number[]; now: number; parked_until: number; reason: string | null; untils: (number | null)[] },
  { job: number }
>(new URL('./pause-job.sql', import.meta.url))
const changePauseStatement = statement<
  { jobs: number[]; now: number; reason: string | null; untils: (number | null)[] },
  { job: number }
>(new URL('./change-pause.sql', import.meta.url))

/** A job to be paused, and where its cursor goes; none for one that is paused already. */
export interface PlannedPause {
  situation: Situation
  until: number | null
  move: Move | null
}

/** Nothing of the job starts from here on. What its ticks come to meanwhile is decided when it is resumed. */
export async function pauseJob(database: Transactional, name: JobName, input: PauseInput): Promise<void> {
  await changing(database, name, async (situation, calendars, runner) => {
    await pauseJobs(runner, [planPause(situation, calendars, input)], input)
    const { reason = null, until = null } = input
    await audit(runner, { ...subjectOf(name), detail: { reason, until } })
  })
}

export function planPause(situation: Situation, calendars: CalendarSet, input: PauseInput): PlannedPause {
  const { definition, state } = situation
  const until = untilOf(input.until, situation)
  if (state === 'paused') return { situation, until, move: null }
  const taken = takeBack(situation, readable({ definition, calendars }))
  // The last tick of a job ends it when it is staged: one that is taken back has not come.
  if (state === 'ended' && taken.count === 0) throw hasEnded(situation)
  const move = {
    ...nothingOwed,
    taken,
    accounted: taken.accounted,
    due: null,
    startAt: null,
    reason: 'paused',
    replayState: 'paused',
  } as const
  return { situation, until, move }
}

/** Jobs whose timers are locked, all at once. */
export async function pauseJobs(
  runner: Runner,
  planned: readonly PlannedPause[],
  { reason = null }: { reason?: string | null },
): Promise<void> {
  const moved = planned.flatMap(({ situation, until, move }) =>
    move === null ? [] : { situation, until, move },
  )
  const [first] = moved
  if (first !== undefined) {
    const { now } = first.situation
    await moveCursors(runner, now, moved)
    await runner.run(pauseStatement, { ...pauseOf(moved), now, reason, parked_until: parkedUntil })
  }
  const again = planned.filter(({ move }) => move === null)
  const now = again[0]?.situation.now
  if (now !== undefined) await runner.run(changePauseStatement, { ...pauseOf(again), now, reason })
}

function pauseOf(planned: readonly PlannedPause[]): { jobs: number[]; untils: (number | null)[] } {
  return { jobs: planned.map(({ situation }) => situation.job), untils: planned.map(({ until }) => until) }
}

function untilOf(text: string | null | undefined, { definition, now }: Situation): number | null {
  if (text === undefined || text === null) return null
  const until = read(text, definition.timezone)
  if (until > now) return until
  throw new CarillonError('validation_failed', {
    detail: `The pause would end at ${utcText(until)}, which has passed.`,
    errors: [{ pointer: '/until', message: 'must be an instant ahead' }],
  })
}

function read(text: string, timezone: string): number {
  try {
    return readInstant(text, '/until', timelineOf(timezone))
  } catch (error) {
    if (!(error instanceof CarillonError)) throw error
    throw new CarillonError('validation_failed', { detail: error.message, errors: [...error.errors] })
  }
}
