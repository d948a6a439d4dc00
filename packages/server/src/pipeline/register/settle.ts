import type { JobDefinition } from '@carillon/contract'
import { decideGap, type MissedPolicy, type TickRange } from '../../time/missed.js'
import type { Schedule } from '../../time/schedule.js'
import { noTickChanges, type TickChanges } from '../tick-changes.js'

/** What becomes of ticks that were due and that nobody had turned into runs. */
export interface Settlement {
  skip: TickRange | null
  /** The tick after those that are passed over. */
  skipNext: number | null
  replay: TickRange | null
  /** Ticks among them that are left out on request, each with the tick after it. */
  leftOut: { at: number; next: number | null }[]
  /** The tick after all of them. */
  next: number | null
}

export interface Owed {
  schedule: Schedule
  /** The first tick that is not accounted for. */
  first: number | null
  /** Ticks after this are none of this settlement's. */
  through: number
  policy: MissedPolicy
  changes?: TickChanges
}

/** Decides once for all ticks from the first one through an instant. */
export function settle({ schedule, first, through, policy, changes = noTickChanges }: Owed): Settlement {
  const nothing = { skip: null, skipNext: null, replay: null, leftOut: [] }
  if (first === null || first > through) return { ...nothing, next: first }
  const skipped = changes.skipped(schedule, first, through)
  const left = changes.left(schedule)
  const due = left.next(first - 1)
  const gap =
    due === null || due > through
      ? nothing
      : decideGap({ schedule: changes.none ? schedule : left, due, now: through, policy })
  const { skip, replay } = gap
  const last = Math.max(skip?.to ?? 0, replay?.to ?? 0, skipped.at(-1) ?? 0)
  const next = schedule.next(last)
  return {
    skip,
    skipNext: skip === null ? null : (replay?.from ?? next),
    replay,
    leftOut: skipped.map((at) => ({ at, next: schedule.next(at) })),
    next,
  }
}

/** The last tick that a settlement accounts for, or where the cursor stood. */
export function settledThrough(
  { skip, replay, leftOut }: Pick<Settlement, 'skip' | 'replay' | 'leftOut'>,
  accounted: number,
): number {
  return Math.max(accounted, skip?.to ?? accounted, replay?.to ?? accounted, leftOut.at(-1)?.at ?? accounted)
}

/** Where a schedule cannot be read, the tick at the cursor is the one that is known. */
export function settleUnreadable(first: number | null, through: number): Settlement {
  const owed = first !== null && first <= through
  return {
    skip: owed ? { from: first, to: first, count: 1 } : null,
    skipNext: null,
    replay: null,
    leftOut: [],
    next: null,
  }
}

/** The job's own policy. It runs no more than `max_runs` leaves. */
export function policyOf(definition: JobDefinition, runs: number): MissedPolicy {
  const { missed_window: missedWindow, max_missed: most, misfire_grace_seconds: grace } = definition
  const left = runsLeft(definition, runs)
  return {
    missedWindow: left === 0 ? 'SKIP' : missedWindow,
    maxMissed: Math.min(most, left),
    graceMs: grace === null ? null : grace * 1000,
  }
}

/** For ticks that are only a little late: none was missed, and all of them run. */
export function allOf(definition: JobDefinition, runs: number): MissedPolicy {
  const left = runsLeft(definition, runs)
  return {
    missedWindow: left === 0 ? 'SKIP' : 'RUN_ALL',
    maxMissed: left,
    graceMs: Number.MAX_SAFE_INTEGER,
  }
}

export const noneOf: MissedPolicy = { missedWindow: 'SKIP', maxMissed: 0, graceMs: null }

export function runsLeft({ max_runs: most }: Pick<JobDefinition, 'max_runs'>, runs: number): number {
  return most === null ? Number.POSITIVE_INFINITY : Math.max(0, most - runs)
}
