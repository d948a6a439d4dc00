import type { Schedule } from './schedule.js'

export interface MissedPolicy {
  missedWindow: 'SKIP' | 'RUN_ONCE' | 'RUN_ALL'
  maxMissed: number
  graceMs: number | null
}

/** Ticks from one to another, both included. */
export interface TickRange {
  from: number
  to: number
  count: number
}

/** What becomes of all ticks up to now, once it is found that some were missed. */
export interface GapDecision {
  /** Missed ticks that are not run. */
  skip: TickRange | null
  /** Missed ticks that are run after all, oldest first, at the pace of catching up. Always the latest ones. */
  replay: TickRange | null
  /** The tick after all that this decision accounts for, or null when the schedule ends. */
  next: number | null
}

export interface TickDecision extends GapDecision {
  /** The tick to fire now, in its own time or a little late; null if none. */
  fire: number | null
}

export interface GapInput {
  schedule: Schedule
  /** The cursor: the first tick that is not accounted for. Not after `now`. */
  due: number
  now: number
  policy: MissedPolicy
}

export interface TickInput extends GapInput {
  /** When it should start: `due` and its jitter. */
  startAt: number
  lateToleranceMs: number
}

const defaultRunAllGraceMs = 3_600_000
/** How many ticks are gone back one by one at most. Contracts allow far fewer. */
const mostKept = 10_000

/**
 * Decides what becomes of the tick at the cursor and of all that were missed with it. A tick whose start is at
 * most `lateToleranceMs` ago was not missed, whatever the policy and its grace; one whose start is still ahead has not
 * come. Every tick of a job starts as long after itself as the one at the cursor. The time it takes does not grow with
 * the number of missed ticks: the latest are found from the end, and the others are counted by arithmetic.
 */
export function decideTick(given: TickInput): TickDecision {
  const { schedule, due, startAt, lateToleranceMs, policy } = given
  if (given.now - startAt <= lateToleranceMs) return fireTick(schedule, due, null)
  // Seen from the starts: ticks up to here have started, or should have.
  const now = given.now - (startAt - due)
  const input = { ...given, now }
  if (policy.missedWindow === 'SKIP') {
    const last = lastTick(input, now - lateToleranceMs - 1)
    const skip = rangeThrough(input, last)
    const next = schedule.next(last)
    if (next === null || next > now) return { fire: null, skip, replay: null, next }
    return fireTick(schedule, next, skip)
  }
  const gap = keepLatest(input, lateToleranceMs)
  const { replay } = gap
  // A single one that has just come is no catching up.
  if (replay?.count === 1 && now - replay.to <= lateToleranceMs) {
    return fireTick(schedule, replay.to, gap.skip)
  }
  return { fire: null, ...gap }
}

/** Decides for every tick from the cursor to now, however fresh: for a job that comes back from a pause. */
export function decideGap(input: GapInput): GapDecision {
  if (input.policy.missedWindow !== 'SKIP') return keepLatest(input, 0)
  const last = lastTick(input, input.now)
  return { skip: rangeThrough(input, last), replay: null, next: input.schedule.next(last) }
}

/** Keeps the latest ticks that the policy and its grace allow, and skips all before them. */
function keepLatest(input: GapInput, lateToleranceMs: number): GapDecision {
  const { schedule, now, policy } = input
  const once = policy.missedWindow === 'RUN_ONCE'
  const most = Math.min(once ? 1 : policy.maxMissed, mostKept)
  const graceMs = policy.graceMs ?? (once ? Number.POSITIVE_INFINITY : defaultRunAllGraceMs)
  const oldestAllowed = now - Math.max(graceMs, lateToleranceMs)
  const last = lastTick(input, now)
  let from: number | null = null
  let count = 0
  let before: number | null = last
  while (count < most && before !== null && before >= oldestAllowed) {
    from = before
    count += 1
    before = tickBefore(input, from)
  }
  return {
    skip: before === null ? null : rangeThrough(input, before),
    replay: from === null ? null : { from, to: last, count },
    next: schedule.next(last),
  }
}

function fireTick(schedule: Schedule, tick: number, skip: TickRange | null): TickDecision {
  return { fire: tick, skip, replay: null, next: schedule.next(tick) }
}

/** The last tick up to an instant. The one at the cursor is one of them in any case. */
function lastTick({ schedule, due }: GapInput, limit: number): number {
  return Math.max(due, schedule.prev(limit) ?? due)
}

/** The tick before another one, not further back than the cursor. */
function tickBefore({ schedule, due }: GapInput, tick: number): number | null {
  return tick === due ? null : Math.max(due, schedule.prev(tick - 1) ?? due)
}

/** The ticks from the cursor to another one. */
function rangeThrough({ schedule, due }: GapInput, to: number): TickRange {
  return { from: due, to, count: 1 + (to === due ? 0 : schedule.count(due + 1, to)) }
}
