import { codeOf, isUniqueViolation } from '../../db/errors.js'
import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { type TickParams, tickParams } from './fire-statement.js'
import type { PlannedTick } from './plan.js'

/**
 * fired: in the queue, in the running place or in the waiting one. overlap: both were taken.
 * refused: the partition has a newer epoch. changed: what was seen is no longer so; the next pass looks again.
 */
export type OverlapDecision = 'fired' | 'overlap' | 'refused' | 'changed'

export interface OverlapAnswer {
  job: number
  due: number
  now: number
  decision: OverlapDecision
}

const overlapStatement = statement<TickParams, OverlapAnswer>(new URL('./overlap.sql', import.meta.url))

/** Decides ticks whose running place is taken at their instant, where the policy lets them wait or replace. */
export class Overlapping {
  constructor(private readonly options: { database: Database }) {}

  async settle(
    owner: number,
    owned: readonly { partition: number; epoch: number }[],
    ticks: readonly PlannedTick[],
  ): Promise<OverlapAnswer[]> {
    const toRun = ticks.filter(({ runDue }) => runDue !== null)
    if (toRun.length === 0) return []
    return this.options.database
      .run(overlapStatement, tickParams(owner, owned, toRun))
      .catch((error: unknown) => {
        if (!lostRaceForPlace(error)) throw error
        return toRun.map(({ timer: { job, due, now } }) => ({ job, due, now, decision: 'changed' as const }))
      })
  }
}

/**
 * A run that came in between took the place that a waiting one was to move to; or a lease and this statement waited for
 * each other. Nothing was written: the next pass sees the places as they are.
 */
function lostRaceForPlace(error: unknown): boolean {
  const deadlock = '40P01'
  return isUniqueViolation(error, 'queue_slot') || codeOf(error) === deadlock
}
