import type { Room } from './room.js'

export interface LeaseTimes {
  /** How long before its time a worker may lease a run. */
  aheadMs: number
  /** How often the worker looks for runs by itself. */
  pollMs: number
}

/**
 * Whether a worker is woken for a run that has come into the queue and starts then. Not for one that may not be leased yet, and while few of its places
 * are free not for one that a look which comes by itself finds in time: whoever is full of what it holds ahead would ask for each place that becomes free.
 */
export function isWorthWaking(
  startsAt: number,
  now: number,
  { aheadMs, pollMs }: LeaseTimes,
  { isWorthAsking }: Pick<Room, 'isWorthAsking'>,
): boolean {
  if (startsAt > now + aheadMs) return false
  return isWorthAsking || startsAt <= now + 2 * pollMs
}
