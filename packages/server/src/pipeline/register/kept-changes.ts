import type { JobDefinition } from '@carillon/contract'
import type { Schedule } from '../../time/schedule.js'
import { type TickChange, TickChanges } from '../tick-changes.js'
import type { Situation } from './change.js'
import { spreadOf } from './starting.js'

export interface KeptChanges {
  kept: TickChanges
  /** The instant is no tick any more, or the ticks beside it have come closer than where it was moved to. */
  dropped: readonly TickChange[]
}

/** What of the changes of single ticks holds under a schedule. What lies before the cursor is history, and stays. */
export function keptChanges(
  situation: Situation,
  accounted: number,
  schedule: Schedule,
  definition: JobDefinition,
): KeptChanges {
  const { changes } = situation
  const spread = spreadOf(situation, schedule, definition)
  const ticks = changes.all.filter(({ due }) => due <= accounted || schedule.prev(due) === due)
  const startOf = (due: number) => changes.movedTo(due) ?? due + spread
  const kept = ticks.filter(({ due, start_at: startAt }) => {
    if (due <= accounted || startAt === null) return true
    const before = schedule.prev(due - 1)
    const after = schedule.next(due)
    return (
      (before === null || before <= accounted || startOf(before) < startAt) &&
      (after === null || startAt < startOf(after))
    )
  })
  return {
    kept: kept.length === changes.all.length ? changes : new TickChanges(kept),
    dropped: changes.all.filter((change) => !kept.includes(change)),
  }
}
