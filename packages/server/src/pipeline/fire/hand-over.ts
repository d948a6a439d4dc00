import { jobIdOf } from '../../platform/ids.js'
import type { LeasedRun, RunDefinition, RunGuard } from '../run.js'
import type { Decided, OwnedPartition, Receiver } from './fire-statement.js'
import { type DueTimer, type PlannedTick, ticksByJob } from './plan.js'

/** What the worker of this process offers for one statement. One of the two has to be said, whatever becomes of it. */
export interface Offer extends Receiver {
  accept(runs: LeasedRun[]): void
  /** The statement failed, or its answer was lost: it may have handed runs over all the same. */
  doubt(error: unknown): void
}

export interface HandOver {
  /** Null: now is the time to make so many. Otherwise it is worth a wait, up to an instant on the monotonic clock: then ask again. */
  ready(runs: number, until: number): Promise<void> | null
  /** More than so many at once it would never take. */
  readonly mostAtOnce: number
  /** It wants nothing longer before its time than this: what it waits for takes places and memory. */
  readonly aheadMs: number
  /** Room for so many runs, or null where they are better left to whoever leases them. */
  offer(runs: number): Offer | null
}

/** The runs that the statement leased to the holder, as a lease would have answered them. */
export function runsFor(
  holder: number,
  owned: readonly OwnedPartition[],
  ticks: readonly PlannedTick[],
  decided: readonly Decided[],
): LeasedRun[] {
  const epochs = new Map(owned.map(({ partition, epoch }) => [partition, epoch]))
  const tickOf = ticksByJob(ticks)
  const runs: LeasedRun[] = []
  for (const {
    job,
    token = null,
    now,
    timeout_seconds: timeout = null,
    run_place: place = null,
  } of decided) {
    const tick = tickOf(job)
    if (token === null || tick === undefined || tick.runDue === null) continue
    const { timer } = tick
    const run: LeasedRun = {
      due: tick.runDue,
      job,
      origin: 0,
      seq: 0,
      partition: timer.partition,
      tenant: timer.tenant,
      version: timer.version,
      epoch: epochs.get(timer.partition) ?? 0,
      attempt: 1,
      maxAttempts: 1 + timer.definition.max_retries,
      round: 0,
      availableAt: tick.availableAt,
      firedAt: now,
      token,
      place,
      holder,
      catchUp: false,
      guard: timeout === null ? unguarded : { probe: false, timeoutMs: timeout * 1000 },
    }
    const definition = definitionOf(timer)
    if (definition !== null) run.definition = definition
    runs.push(run)
  }
  return runs
}

const unguarded: RunGuard = { probe: false, timeoutMs: null }

/** The definition that a run was made with, if it was read whole. An id is a long text: made once a job, not once a run. */
function definitionOf(timer: DueTimer): RunDefinition | null {
  if (timer.runDefinition !== undefined) return timer.runDefinition
  const { uuid, definition } = timer
  if (definition.target === undefined || !('payload' in definition)) return null
  timer.runDefinition = { jobId: jobIdOf(uuid), definition: definition as RunDefinition['definition'] }
  return timer.runDefinition
}
