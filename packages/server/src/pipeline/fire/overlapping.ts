import { codeOf, isUniqueViolation } from '../../db/errors.js'
import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import type { PlannedTick } from './plan.js'

interface OverlapParams {
  owner: number
  partitions: number[]
  epochs: number[]
  jobs: number[]
  job_partitions: number[]
  dues: number[]
  revs: number[]
  run_dues: number[]
  available_ats: number[]
  next_dues: (number | null)[]
  next_starts: (number | null)[]
  versions: number[]
  routes: number[]
  max_attempts: number[]
  replaces: boolean[]
  skip_froms: (number | null)[]
  skip_tos: (number | null)[]
  skip_counts: (number | null)[]
  reasons: string[]
  max_runs: (number | null)[]
  gap_jobs: number[]
  gap_ats: number[]
  gap_counts: number[]
}

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

const overlapStatement = statement<OverlapParams, OverlapAnswer>(new URL('./overlap.sql', import.meta.url))

type TickToRun = PlannedTick & { runDue: number }

/** Decides ticks whose running place is taken at their instant, where the policy lets them wait or replace. */
export class Overlapping {
  constructor(private readonly options: { database: Database }) {}

  async settle(
    owner: number,
    owned: readonly { partition: number; epoch: number }[],
    ticks: readonly PlannedTick[],
  ): Promise<OverlapAnswer[]> {
    const toRun = ticks.filter(isToRun)
    if (toRun.length === 0) return []
    const involved = new Set(toRun.map(({ timer }) => timer.partition))
    const partitions = owned.filter(({ partition }) => involved.has(partition))
    return this.options.database
      .run(overlapStatement, parametersOf(owner, partitions, toRun))
      .catch((error: unknown) => {
        if (!lostRaceForPlace(error)) throw error
        return toRun.map(({ timer: { job, due, now } }) => ({ job, due, now, decision: 'changed' as const }))
      })
  }
}

function isToRun(tick: PlannedTick): tick is TickToRun {
  return tick.runDue !== null
}

/**
 * A run that came in between took the place that a waiting one was to move to; or a lease and this statement waited for
 * each other. Nothing was written: the next pass sees the places as they are.
 */
function lostRaceForPlace(error: unknown): boolean {
  const deadlock = '40P01'
  return isUniqueViolation(error, 'queue_slot') || codeOf(error) === deadlock
}

function parametersOf(
  owner: number,
  partitions: { partition: number; epoch: number }[],
  ticks: TickToRun[],
): OverlapParams {
  const gaps = ticks.flatMap(({ timer, gaps }) => gaps.map((gap) => ({ job: timer.job, ...gap })))
  return {
    owner,
    partitions: partitions.map(({ partition }) => partition),
    epochs: partitions.map(({ epoch }) => epoch),
    jobs: ticks.map(({ timer }) => timer.job),
    job_partitions: ticks.map(({ timer }) => timer.partition),
    dues: ticks.map(({ timer }) => timer.due),
    revs: ticks.map(({ timer }) => timer.rev),
    run_dues: ticks.map((tick) => tick.runDue),
    available_ats: ticks.map((tick) => tick.availableAt),
    next_dues: ticks.map((tick) => tick.nextDue),
    next_starts: ticks.map((tick) => tick.nextStart),
    versions: ticks.map(({ timer }) => timer.version),
    routes: ticks.map(({ timer }) => timer.route),
    max_attempts: ticks.map(({ timer }) => 1 + timer.definition.max_retries),
    replaces: ticks.map(({ timer }) => timer.definition.overlap_policy === 'REPLACE'),
    skip_froms: ticks.map((tick) => tick.skip?.from ?? null),
    skip_tos: ticks.map((tick) => tick.skip?.to ?? null),
    skip_counts: ticks.map((tick) => tick.skip?.count ?? null),
    reasons: ticks.map((tick) => tick.reason),
    max_runs: ticks.map(({ timer }) => timer.definition.max_runs ?? null),
    gap_jobs: gaps.map(({ job }) => job),
    gap_ats: gaps.map(({ at }) => at),
    gap_counts: gaps.map(({ count }) => count),
  }
}
