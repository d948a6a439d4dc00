import type { JobDefinition } from '@carillon/contract'
import { decideGap, type MissedPolicy, type TickRange } from '../../time/missed.js'
import type { Schedule } from '../../time/schedule.js'

/** What becomes of ticks that were due and that nobody had turned into runs. */
export interface Settlement {
  skip: TickRange | null
  /** The tick after those that are passed over. */
  skipNext: number | null
  replay: TickRange | null
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
}

/** Decides once for all ticks from the first one through an instant. */
export function settle({ schedule, first, through, policy }: Owed): Settlement {
  if (first === null || first > through) return { skip: null, skipNext: null, replay: null, next: first }
  const { skip, replay, next } = decideGap({ schedule, due: first, now: through, policy })
  return { skip, skipNext: skip === null ? null : (replay?.from ?? next), replay, next }
}

/** Where a schedule cannot be read, the tick at the cursor is the one that is known. */
export function settleUnreadable(first: number | null, through: number): Settlement {
  const owed = first !== null && first <= through
  return {
    skip: owed ? { from: first, to: first, count: 1 } : null,
    skipNext: null,
    replay: null,
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
