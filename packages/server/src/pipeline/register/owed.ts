import type { JobDefinition } from '@carillon/contract'
import { decideTick } from '../../time/missed.js'
import { parseSchedule } from '../../time/schedule.js'

/** Ticks that were due, and that nobody had turned into runs yet. */
export interface OwedTicks {
  owed_from: number | null
  owed_to: number | null
  owed_count: number | null
  owed_next: number | null
}

const nothing: OwedTicks = { owed_from: null, owed_to: null, owed_count: null, owed_next: null }

/** What a job that ends now owes a record for: every tick from its cursor up to and including `now`. */
export function owedTicks(due: number | null, definition: JobDefinition | null, now: number): OwedTicks {
  if (due === null || due > now) return nothing
  try {
    if (definition === null) throw new Error('no definition')
    const schedule = parseSchedule(definition)
    const { skip } = decideTick({
      schedule,
      due,
      startAt: due,
      // One later, without tolerance: a tick of this very instant is owed too.
      now: now + 1,
      lateToleranceMs: 0,
      policy: { missedWindow: 'SKIP', maxMissed: 0, graceMs: null },
    })
    if (skip === null) return nothing
    return {
      owed_from: skip.from,
      owed_to: skip.to,
      owed_count: skip.count,
      owed_next: schedule.next(skip.to),
    }
  } catch {
    // A schedule that cannot be read keeps nobody from deleting its job. The cursor's own tick is known.
    return { owed_from: due, owed_to: due, owed_count: 1, owed_next: null }
  }
}
