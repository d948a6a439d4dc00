import type { JobDefinition } from '@carillon/contract'
import type { Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import type { CalendarSet, Schedule } from '../../time/schedule.js'
import type { Situation } from './change.js'
import { nothingOwed } from './move.js'
import { readable } from './reading.js'
import { noneOf, type Settlement, settle, settleUnreadable } from './settle.js'
import type { TakenBack } from './taking-back.js'

const replaysStatement = statement<
  { job: number },
  { replay: number; to_ms: number; definition: JobDefinition }
>(new URL('./look-at-replays.sql', import.meta.url))

/** Every tick from the cursor up to and including now. */
export function owedAtTheEnd(situation: Situation, taken: TakenBack, schedule: Schedule | null): Settlement {
  const { state, now, changes } = situation
  if ((state === 'ended' || state === 'cancelled') && taken.count === 0)
    return { ...nothingOwed, leftOut: [], next: null }
  if (schedule === null) return settleUnreadable(taken.due, now)
  const first = state === 'paused' ? schedule.next(taken.accounted) : taken.due
  return settle({ schedule, first, through: now, policy: noneOf, changes })
}

/** What was still to be caught up, each with the tick after it. */
export async function replaysOf(
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
