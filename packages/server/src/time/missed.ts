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

/**
 * How many cron ticks are counted one by one: 139 days of every minute, 55 hours of every second. Beyond it the
 * decision stays right (the latest ticks are found by bisection), and only the count of a skipped range is
 * projected from the ticks that were counted. Intervals are counted by arithmetic, always exactly.
 */
const countedTicks = 200_000

/**
 * Decides what becomes of the tick at the cursor and of all that were missed with it. A tick whose start is at
 * most `lateToleranceMs` ago was not missed, whatever the policy and its grace.
 */
export function decideTick(input: TickInput): TickDecision {
  const { schedule, due, startAt, now, lateToleranceMs, policy } = input
  if (now - startAt <= lateToleranceMs) return { ...fireTick(input, due), skip: null }
  switch (policy.missedWindow) {
    case 'SKIP': {
      const missed = ticksThrough(schedule, due, now - lateToleranceMs - 1, 1)
      const skip = skippedRange(due, missed.latest.at(-1), missed.count)
      if (missed.next === null || missed.next > now) return { fire: null, skip, next: missed.next }
      return { ...fireTick(input, missed.next), skip }
    }
    case 'RUN_ONCE':
      return runLatest(input, 1, policy.graceMs ?? Number.POSITIVE_INFINITY)
    case 'RUN_ALL':
      return runLatest(input, policy.maxMissed, policy.graceMs ?? defaultRunAllGraceMs)
  }
}

/** Fires the oldest of the latest `most` ticks that are within the grace, and skips all before it. */
function runLatest(input: TickInput, most: number, graceMs: number): TickDecision {
  const { schedule, due, now, lateToleranceMs } = input
  const keep = Math.min(Math.max(most, 0), countedTicks - 1)
  // One more than can be kept, because a skipped range ends at the tick before them.
  const missed = ticksThrough(schedule, due, now, keep + 1)
  const oldestAllowed = now - Math.max(graceMs, lateToleranceMs)
  const firstKept = missed.latest.findIndex(
    (tick, index) => index >= missed.latest.length - keep && tick >= oldestAllowed,
  )
  const fired = missed.latest[firstKept]
  if (fired === undefined) {
    return { fire: null, skip: skippedRange(due, missed.latest.at(-1), missed.count), next: missed.next }
  }
  const kept = missed.latest.length - firstKept
  return {
    ...fireTick(input, fired),
    skip: skippedRange(due, missed.latest[firstKept - 1], missed.count - kept),
  }
}

function fireTick(input: TickInput, tick: number): Pick<TickDecision, 'fire' | 'next'> {
  const catchUp = input.now - tick > input.lateToleranceMs
  return { fire: { due: tick, catchUp }, next: input.schedule.next(tick) }
}

function skippedRange(from: number, to: number | undefined, count: number): TickDecision['skip'] {
  return to === undefined || count === 0 ? null : { from, to, count, reason: 'missed' }
}

interface Ticks {
  count: number
  /** The last ones, ascending: as many as were asked for, or all. */
  latest: number[]
  /** The first tick after them. */
  next: number | null
}

/** The tick `from` and all after it up to `limit`. `from` belongs to them even when it lies after `limit`. */
function ticksThrough(schedule: Schedule, from: number, limit: number, keep: number): Ticks {
  if (schedule.kind === 'interval') return intervalTicks(schedule, from, limit, keep)
  let count = 1
  let latest = [from]
  let tick = schedule.next(from)
  while (tick !== null && tick <= limit) {
    if (count === countedTicks)
      return projectedTicks(schedule, { from, counted: count, upTo: tick, limit, keep })
    count++
    latest.push(tick)
    // Cut now and then rather than at each tick.
    if (latest.length >= 2 * keep + 64) latest = latest.slice(-keep)
    tick = schedule.next(tick)
  }
  return { count, latest: latest.slice(-keep), next: tick }
}

function intervalTicks(schedule: Schedule, from: number, limit: number, keep: number): Ticks {
  const second = schedule.next(from)
  if (second === null || second > limit) return { count: 1, latest: [from], next: second }
  const period = (schedule.next(second) ?? Number.POSITIVE_INFINITY) - second
  const afterSecond = Number.isFinite(period) ? Math.floor((limit - second) / period) : 0
  const latest: number[] = []
  for (let step = Math.max(0, afterSecond - keep + 1); step <= afterSecond; step++) {
    latest.push(second + (step === 0 ? 0 : step * period))
  }
  const count = afterSecond + 2
  if (count <= keep) latest.unshift(from)
  return { count, latest, next: schedule.next(latest.at(-1) ?? second) }
}

/** Ticks beyond the bound: `upTo` is the first that was not counted. */
function projectedTicks(
  schedule: Schedule,
  walk: { from: number; counted: number; upTo: number; limit: number; keep: number },
): Ticks {
  const { from, counted, upTo, limit, keep } = walk
  let latest: number[] = []
  let low = from
  let high = limit
  // The later the start, the fewer ticks up to the limit: the latest start that still has `keep` has the last ones.
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    const found = ticksAfter(schedule, middle, limit, keep)
    if (found === null) high = middle
    else {
      latest = found
      low = Math.max(middle, (found[0] ?? 0) - 1)
    }
  }
  if (latest.length === 0) latest = ticksAfter(schedule, low, limit, keep) ?? [upTo]
  const last = latest.at(-1) ?? upTo
  const projected = Math.round((counted * (last - from)) / (upTo - from)) + 1
  return { count: Math.max(projected, counted + 1), latest, next: schedule.next(last) }
}

/** Exactly `count` ticks after `start`, or null when they are not all at or before `limit`. */
function ticksAfter(schedule: Schedule, start: number, limit: number, count: number): number[] | null {
  const ticks: number[] = []
  let tick = schedule.next(start)
  while (tick !== null && tick <= limit) {
    ticks.push(tick)
    if (ticks.length === count) return ticks
    tick = schedule.next(tick)
  }
  return null
}
