import type { JobInput } from '@carillon/contract'

/** What a policy makes of the ticks up to an instant, in the words of the ledger. */
export interface Becomes {
  /** First and last tick that are passed over in one row, and how many they are. */
  skipped: { from: number; to: number; count: number } | null
  /** Run after all, oldest first, at the pace of catching up. */
  caughtUp: number[]
  /** Run as if nothing had been. */
  fresh: number[]
}

export interface Outage {
  /** Every tick from the cursor to the end of the outage, rising. */
  ticks: readonly number[]
  /** How long after its tick the job starts. */
  spreadMs: number
  /** When somebody looks again. */
  now: number
  lateToleranceMs: number
}

const hourMs = 3_600_000

/**
 * The reference: the words of the documentation about `missed_window`, `max_missed` and `misfire_grace_seconds`, applied
 * to a plain list. It shares no code with what it judges.
 */
export function becomesOf(input: Partial<JobInput>, outage: Outage): Becomes {
  const { lateToleranceMs } = outage
  const now = outage.now - outage.spreadMs
  const ticks = outage.ticks.filter((tick) => tick <= now)
  // Their start is still ahead: nothing was missed.
  const ahead = outage.ticks.slice(ticks.length)
  const [first] = ticks
  if (first === undefined || now - first <= lateToleranceMs)
    return { skipped: null, caughtUp: [], fresh: [...outage.ticks] }
  if (input.missed_window === 'SKIP') {
    const missed = ticks.filter((tick) => now - tick > lateToleranceMs)
    return { skipped: rangeOf(missed), caughtUp: [], fresh: outage.ticks.slice(missed.length) }
  }
  const kept = ticks.filter((tick) => now - tick <= oldest(input, lateToleranceMs)).slice(-mostOf(input))
  const skipped = rangeOf(ticks.slice(0, ticks.length - kept.length))
  const [only] = kept
  // A single one that has just come is no catching up.
  const isFresh = kept.length === 1 && only !== undefined && now - only <= lateToleranceMs
  return isFresh
    ? { skipped, caughtUp: [], fresh: [...kept, ...ahead] }
    : { skipped, caughtUp: kept, fresh: ahead }
}

/** A tick missed longer ago than this is not run. */
function oldest(
  { missed_window, misfire_grace_seconds: grace }: Partial<JobInput>,
  tolerance: number,
): number {
  const byDefault = missed_window === 'RUN_ALL' ? hourMs : Number.POSITIVE_INFINITY
  return Math.max(grace === undefined ? byDefault : grace * 1000, tolerance)
}

function mostOf({ missed_window, max_missed = 10, max_runs }: Partial<JobInput>): number {
  const most = missed_window === 'RUN_ALL' ? max_missed : 1
  return Math.min(most, max_runs ?? Number.POSITIVE_INFINITY)
}

function rangeOf(ticks: readonly number[]): Becomes['skipped'] {
  const [from] = ticks
  const to = ticks.at(-1)
  return from === undefined || to === undefined ? null : { from, to, count: ticks.length }
}
