import type { Schedule } from './schedule.js'

export interface MissedPolicy {
  missedWindow: 'SKIP' | 'RUN_ONCE' | 'RUN_ALL'
  maxMissed: number
  graceMs: number | null
}

export interface TickDecision {
  /** The tick to fire now, or null if none of the missed ones is run. */
  fire: { due: number; catchUp: boolean } | null
  /** Missed ticks that are not run, as one range (inclusive ends, exact count), or null. */
  skip: { from: number; to: number; count: number; reason: 'missed' } | null
  /** The tick after all that this decision accounts for, or null when the schedule ends. */
  next: number | null
}

export interface TickInput {
  schedule: Schedule
  /** The cursor: the first tick that is not accounted for. */
  due: number
  /** When it should start: `due` and its jitter. */
  startAt: number
  now: number
  lateToleranceMs: number
  policy: MissedPolicy
}

const defaultRunAllGraceMs = 3_600_000
/** How many ticks are gone back one by one at most. Contracts allow far fewer. */
const mostKept = 10_000

/**
 * Decides what becomes of the tick at the cursor and of all that were missed with it. A tick whose start is at
 * most `lateToleranceMs` ago was not missed, whatever the policy and its grace. The time it takes does not grow with
 * the number of missed ticks: the latest are found from the end, and the others are counted by arithmetic.
 */
export function decideTick(input: TickInput): TickDecision {
  const { schedule, due, startAt, now, lateToleranceMs, policy } = input
  if (now - startAt <= lateToleranceMs) return { ...fireTick(input, due), skip: null }
  switch (policy.missedWindow) {
    case 'SKIP': {
      const last = lastTick(input, now - lateToleranceMs - 1)
      const skip = skippedRange(input, last)
      const next = schedule.next(last)
      if (next === null || next > now) return { fire: null, skip, next }
      return { ...fireTick(input, next), skip }
    }
    case 'RUN_ONCE':
      return runLatest(input, 1, policy.graceMs ?? Number.POSITIVE_INFINITY)
    case 'RUN_ALL':
      return runLatest(input, policy.maxMissed, policy.graceMs ?? defaultRunAllGraceMs)
  }
}

/** Fires the oldest of the latest `most` ticks that are within the grace, and skips all before it. */
function runLatest(input: TickInput, most: number, graceMs: number): TickDecision {
  const { schedule, now, lateToleranceMs } = input
  const oldestAllowed = now - Math.max(graceMs, lateToleranceMs)
  const last = lastTick(input, now)
  let fired: number | null = null
  let before: number | null = last
  for (let kept = 0; kept < Math.min(most, mostKept) && before !== null && before >= oldestAllowed; kept++) {
    fired = before
    before = tickBefore(input, fired)
  }
  const skip = before === null ? null : skippedRange(input, before)
  return fired === null
    ? { fire: null, skip, next: schedule.next(last) }
    : { ...fireTick(input, fired), skip }
}

function fireTick(input: TickInput, tick: number): Pick<TickDecision, 'fire' | 'next'> {
  const catchUp = input.now - tick > input.lateToleranceMs
  return { fire: { due: tick, catchUp }, next: input.schedule.next(tick) }
}

/** The last tick up to an instant. The one at the cursor is one of them in any case. */
function lastTick({ schedule, due }: TickInput, limit: number): number {
  return Math.max(due, schedule.prev(limit) ?? due)
}

/** The tick before another one, not further back than the cursor. */
function tickBefore({ schedule, due }: TickInput, tick: number): number | null {
  return tick === due ? null : Math.max(due, schedule.prev(tick - 1) ?? due)
}

/** The ticks from the cursor to another one. */
function skippedRange({ schedule, due }: TickInput, to: number): TickDecision['skip'] {
  return { from: due, to, count: 1 + (to === due ? 0 : schedule.count(due + 1, to)), reason: 'missed' }
}
