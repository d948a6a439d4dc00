import { statement } from '../../db/statement.js'
import type { PlannedTick } from './plan.js'

/** What fire.sql and overlap.sql both take: the owner's claim, and a column for each thing known of the ticks. */
export interface TickParams {
  owner: number
  partitions: number[]
  epochs: number[]
  jobs: number[]
  job_partitions: number[]
  start_ats: number[]
  dues: number[]
  revs: number[]
  run_dues: (number | null)[]
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
  gap_reasons: string[]
  gap_nexts: (number | null)[]
}

interface FireParams extends TickParams {
  places: (number | null)[]
  waits: boolean[]
  replay_froms: (number | null)[]
  replay_tos: (number | null)[]
  replay_counts: (number | null)[]
  holder: number | null
  handed: boolean[]
  tasks: string[]
  commands: boolean
}

/**
 * fired: in the queue. skipped: missed ticks passed over. deferred: missed ticks left to a replay. overlap: its place was
 * taken at its instant. taken: the same, and the policy lets it wait or replace. early: its place is taken, and its instant
 * is still ahead. behind: its place is taken by a run that was itself late. refused: the partition has a newer epoch.
 * changed: the timer moved on since it was seen, or somebody holds it.
 */
export type Decision =
  | 'fired'
  | 'skipped'
  | 'deferred'
  | 'overlap'
  | 'taken'
  | 'early'
  | 'behind'
  | 'refused'
  | 'changed'

export interface Decided {
  job: number
  due: number
  now: number
  decision: Decision
  /** Fired for the worker of this process, and leased to it. Null: whoever is first may have it. */
  token?: number | null
  timeout_seconds?: number | null
  /** Where the run and the timer lie, as long as nobody changes them; known only of those that the short statement fired. */
  run_place?: string | null
  timer_place?: string | null
}

/** A worker in this process to which so many runs may be handed over as they are made. */
export interface Receiver {
  holder: number
  room: number
  tasks: readonly string[]
  commands: boolean
}

export interface OwnedPartition {
  partition: number
  epoch: number
}

export const fireStatement = statement<FireParams, Decided>(new URL('./fire.sql', import.meta.url))

export function fireParams(
  owner: number,
  owned: readonly OwnedPartition[],
  ticks: PlannedTick[],
  receiver: Receiver | null,
): FireParams {
  return {
    ...tickParams(owner, owned, ticks),
    places: ticks.map((tick) => tick.places),
    waits: ticks.map((tick) => tick.waits),
    replay_froms: ticks.map((tick) => tick.replay?.from ?? null),
    replay_tos: ticks.map((tick) => tick.replay?.to ?? null),
    replay_counts: ticks.map((tick) => tick.replay?.count ?? null),
    holder: receiver?.holder ?? null,
    handed: ticks.map((_tick, at) => at < (receiver?.room ?? 0)),
    tasks: [...(receiver?.tasks ?? [])],
    commands: receiver?.commands ?? false,
  }
}

/** Of the owned partitions only those that the ticks are in: no others need be locked. */
export function tickParams(
  owner: number,
  owned: readonly OwnedPartition[],
  ticks: readonly PlannedTick[],
): TickParams {
  const involved = new Set(ticks.map(({ timer }) => timer.partition))
  const partitions = owned.filter(({ partition }) => involved.has(partition))
  const gaps = ticks.flatMap(({ timer, gaps }) => gaps.map((gap) => ({ job: timer.job, ...gap })))
  return {
    owner,
    partitions: partitions.map(({ partition }) => partition),
    epochs: partitions.map(({ epoch }) => epoch),
    jobs: ticks.map(({ timer }) => timer.job),
    job_partitions: ticks.map(({ timer }) => timer.partition),
    start_ats: ticks.map(({ timer }) => timer.start_at),
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
    gap_reasons: gaps.map(({ reason }) => reason),
    gap_nexts: gaps.map(({ next }) => next),
  }
}
