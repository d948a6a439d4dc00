import type { Schedule } from '../../time/schedule.js'
import { parkedUntil } from '../parked.js'
import type { QueuedRun, Situation } from './change.js'

/** Staged runs that a change takes back, and where the cursor stands then. */
export interface TakenBack {
  /** The earliest of them: every run of the schedule from there on goes. Null: none. */
  from: number | null
  count: number
  /** The first tick that is not accounted for any more, or still; null while paused and after the end. */
  due: number | null
  startAt: number | null
  accounted: number
}

/** A run of the schedule that was made before its time, and that nobody has taken yet. */
export function isStaged(run: QueuedRun, now: number): boolean {
  return (
    run.holder === null &&
    run.origin === 0 &&
    run.attempt === 1 &&
    run.round === 0 &&
    !run.catch_up &&
    run.available_at > now &&
    run.available_at < parkedUntil
  )
}

/**
 * What can be taken back: the staged runs after the last one that must stay. The cursor steps back over what is taken
 * back, to the tick before, and never over a run that somebody holds. Without a schedule that can be read, it stands
 * right before what was taken.
 */
export function takeBack(situation: Situation, schedule: Schedule | null, isTaken = isStaged): TakenBack {
  const { queued, now, due, start_at: startAt, accounted_through: accounted } = situation
  const ticks = queued.filter(({ origin }) => origin === 0).sort((a, b) => b.due - a.due)
  const kept = ticks.findIndex((run) => !isTaken(run, now))
  const taken = kept < 0 ? ticks : ticks.slice(0, kept)
  const first = taken.at(-1)
  if (first === undefined) return { from: null, count: 0, due, startAt, accounted }
  return {
    from: first.due,
    count: taken.length,
    due: first.due,
    startAt: first.available_at,
    accounted: tickBefore(first.due, situation, schedule, ticks[kept]?.due),
  }
}

export function tickBefore(
  tick: number,
  { effective_from: since }: Pick<Situation, 'effective_from'>,
  schedule: Schedule | null,
  held = since,
): number {
  return schedule === null ? tick - 1 : Math.max(since, held, schedule.prev(tick - 1) ?? since)
}

/** For a delete: what is due is owed a record, even where its start was still ahead. */
export function isStagedAndNotDue(run: QueuedRun, now: number): boolean {
  return isStaged(run, now) && run.due > now
}
