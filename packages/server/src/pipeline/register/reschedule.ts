import { parseSchedule, type Schedule } from '../../time/schedule.js'
import type { Situation } from './change.js'
import type { Move } from './move.js'
import { readable, type Terms } from './reading.js'
import { allOf, policyOf, runsLeft, type Settlement, settle, settleUnreadable } from './settle.js'
import { changedStartOf, spreadOf } from './starting.js'
import { type KeptChanges, keptChanges } from './kept-changes.js'
import { type TakenBack, takeBack } from './taking-back.js'

export interface Rescheduled {
  move: Move
  /** The new terms hold for ticks after this instant. */
  from: number
  /** No tick is ahead. */
  ends: boolean
  schedule: Schedule
  /** The first tick under the new terms, also of a job that is paused. */
  next: number | null
}

/**
 * From old terms to new ones. What is staged is taken back, and comes again under the new terms. Ticks that were due and
 * not fired are the old terms' to decide: those of a pause by the missed-run policy, those that are a little late run all.
 */
export function reschedule(
  situation: Situation,
  before: Terms,
  after: Terms,
  lateToleranceMs: number,
): Rescheduled {
  const { now, state, runs } = situation
  const paused = state === 'paused'
  const schedule = parseSchedule({ ...after.definition, calendars: after.calendars })
  const old = readable(before)
  const taken = takeBack(situation, old)
  const made = runs - taken.count
  // A tick whose start is ahead under both has not come: the new terms have it.
  const spread = Math.min(
    spreadOf(situation, schedule, after.definition),
    old === null ? 0 : spreadOf(situation, old, before.definition),
  )
  // What was asked of ticks that the new terms have, too, stays.
  const { kept, dropped } = keptChanges(situation, taken.accounted, schedule, after.definition)
  const through = kept.come(now - spread, now)
  const from = Math.max(taken.accounted, through)
  const owed = owedBefore({ situation, before, old, taken, through, made, lateToleranceMs })
  const next = schedule.next(from)
  const ends =
    !paused && (next === null || runsLeft(after.definition, made + (owed.replay?.count ?? 0)) === 0)
  const due = paused || ends ? null : next
  return {
    from,
    ends,
    schedule,
    next,
    move: {
      taken,
      skip: owed.skip,
      skipNext: owed.skipNext,
      replay: owed.replay,
      leftOut: owed.leftOut,
      dropped: stillAhead(dropped, from),
      accounted: from,
      due,
      startAt: changedStartOf(due, situation, schedule, after.definition, kept),
      reason: paused ? 'paused' : 'edited',
      replayState: paused ? 'paused' : 'running',
    },
  }
}

interface OwedBefore {
  situation: Situation
  before: Terms
  old: Schedule | null
  taken: TakenBack
  through: number
  /** Runs that the schedule has made. */
  made: number
  lateToleranceMs: number
}

function owedBefore(given: OwedBefore): Settlement {
  const { situation, before, old, taken, through, made, lateToleranceMs } = given
  if (old === null) return settleUnreadable(taken.due, through)
  const first = earliest(taken.due, old.next(taken.accounted))
  const { changes } = situation
  const startAt =
    first === taken.due ? taken.startAt : changedStartOf(first, situation, old, before.definition, changes)
  const aLittleLate = situation.state !== 'paused' && situation.now - (startAt ?? 0) <= lateToleranceMs
  const policy = (aLittleLate ? allOf : policyOf)(before.definition, made)
  return settle({ schedule: old, first, through, policy, changes })
}

/** Of a tick that has come under the old terms, what was asked holds. */
function stillAhead(dropped: KeptChanges['dropped'], from: number): KeptChanges['dropped'] {
  return dropped.filter(({ due }) => due > from)
}

function earliest(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b)
}
