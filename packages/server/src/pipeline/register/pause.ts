import { CarillonError, type PauseInput } from '@carillon/contract'
import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { readInstant } from '../../time/instant.js'
import { timelineOf } from '../../time/timeline.js'
import { parkedUntil } from '../parked.js'
import { audit } from '../audit.js'
import { changing, type JobName, type Situation, subjectOf } from './change.js'
import { hasEnded } from './ended.js'
import { moveCursors, nothingOwed } from './move.js'
import { readable } from './reading.js'
import { takeBack } from './taking-back.js'

const pauseStatement = statement<
  { job: number; now: number; parked_until: number; reason: string | null; until: number | null },
  { job: number }
>(new URL('./pause-job.sql', import.meta.url))
const changePauseStatement = statement<
  { job: number; now: number; reason: string | null; until: number | null },
  { job: number }
>(new URL('./change-pause.sql', import.meta.url))

/** Nothing of the job starts from here on. What its ticks come to meanwhile is decided when it is resumed. */
export async function pauseJob(database: Database, name: JobName, input: PauseInput): Promise<void> {
  await changing(database, name, async (situation, calendars, runner) => {
    const { job, now, definition } = situation
    const pause = { job, now, reason: input.reason ?? null, until: untilOf(input.until, situation) }
    await audit(runner, { ...subjectOf(name), detail: { reason: pause.reason, until: input.until ?? null } })
    if (situation.state === 'paused') {
      await runner.run(changePauseStatement, pause)
      return
    }
    const taken = takeBack(situation, readable({ definition, calendars }))
    // The last tick of a job ends it when it is staged: one that is taken back has not come.
    if (situation.state === 'ended' && taken.count === 0) throw hasEnded(situation)
    const move = {
      ...nothingOwed,
      taken,
      accounted: taken.accounted,
      due: null,
      startAt: null,
      reason: 'paused',
      replayState: 'paused',
    } as const
    await moveCursors(runner, now, [{ situation, move }])
    await runner.run(pauseStatement, { ...pause, parked_until: parkedUntil })
  })
}

function untilOf(text: string | null | undefined, { definition, now }: Situation): number | null {
  if (text === undefined || text === null) return null
  const until = read(text, definition.timezone)
  if (until > now) return until
  throw new CarillonError('validation_failed', {
    detail: `The pause would end at ${new Date(until).toISOString()}, which has passed.`,
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
