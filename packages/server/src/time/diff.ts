import { dayOf } from './civil.js'
import { parseSchedule, type Schedule } from './schedule.js'
import type { ScheduleSource } from './source.js'
import { timelineOf } from './timeline.js'

export interface ScheduleDiff {
  /** Ticks that only the new definition has, and that replace none. */
  added: number[]
  /** Ticks that only the old definition has, and that nothing replaces. */
  dropped: number[]
  /** A tick of the old definition and the one of the new that stands for it. */
  moved: { from: number; to: number }[]
  /** Whether the comparison ended before the range did: at `until`. */
  truncated: boolean
  /** Up to where both were compared, itself included. */
  until: number
}

export interface DiffRange {
  /** Ticks are compared after this instant, */
  from: number
  /** and up to this one. */
  to: number
  /** How many differences are told, 1000 where nothing is said. */
  limit?: number
}

const usualLimit = 1000
export const mostDifferences = 10_000
/** Ticks that both have cost time, too. */
const mostCompared = 200_000

/**
 * What changes when `before` becomes `after`. A tick counts as moved where a dropped and an added one belong together:
 * 1. on a local date (each in the zone of its definition) that loses as many ticks as it gains, they pair up in order;
 * 2. of the rest, a dropped tick pairs up with the nearest added one that is closer than half the way to the next
 *    tick of the old definition.
 */
export function diff(before: ScheduleSource, after: ScheduleSource, range: DiffRange): ScheduleDiff {
  const [left, right] = [parseSchedule(before), parseSchedule(after)]
  const { added, dropped, until } = compare(left, right, range)
  const moved = [
    ...pairByDate(dropped, added, dateIn(before.timezone), dateIn(after.timezone)),
    ...pairByDistance(dropped, added, left),
  ]
  return {
    added: [...added],
    dropped: [...dropped],
    moved: moved.sort((one, other) => one.from - other.from),
    truncated: until < range.to,
    until,
  }
}

interface Comparison {
  readonly added: Set<number>
  readonly dropped: Set<number>
  readonly until: number
}

/** Walks both in step. */
function compare(left: Schedule, right: Schedule, { from, to, limit = usualLimit }: DiffRange): Comparison {
  const added = new Set<number>()
  const dropped = new Set<number>()
  // Equal definitions share one object.
  if (left === right) return { added, dropped, until: to }
  const most = Math.min(limit, mostDifferences)
  let until = from
  for (let compared = 0; compared < mostCompared; compared++) {
    const [old, young] = [left.next(until), right.next(until)]
    const tick = Math.min(old ?? Number.POSITIVE_INFINITY, young ?? Number.POSITIVE_INFINITY)
    if (tick > to) return { added, dropped, until: to }
    if (old !== young) {
      if (added.size + dropped.size >= most) return { added, dropped, until: tick - 1 }
      if (tick === old) dropped.add(tick)
      else added.add(tick)
    }
    until = tick
  }
  return { added, dropped, until }
}

function dateIn(zone: string): (instant: number) => number {
  const timeline = timelineOf(zone)
  return (instant) => dayOf(instant + timeline.offsetAt(instant))
}

function pairByDate(
  dropped: Set<number>,
  added: Set<number>,
  oldDate: (instant: number) => number,
  newDate: (instant: number) => number,
): ScheduleDiff['moved'] {
  const gains = byDate(added, newDate)
  return [...byDate(dropped, oldDate)].flatMap(([date, lost]) => {
    const gained = gains.get(date) ?? []
    if (gained.length !== lost.length) return []
    return lost.map((from, index) => take(dropped, added, from, gained[index] ?? from))
  })
}

function byDate(ticks: Set<number>, dateOf: (instant: number) => number): Map<number, number[]> {
  const dates = new Map<number, number[]>()
  for (const tick of ticks) {
    const date = dateOf(tick)
    const onDate = dates.get(date)
    if (onDate === undefined) dates.set(date, [tick])
    else onDate.push(tick)
  }
  return dates
}

function pairByDistance(dropped: Set<number>, added: Set<number>, old: Schedule): ScheduleDiff['moved'] {
  const moved: ScheduleDiff['moved'] = []
  for (const from of [...dropped]) {
    const next = old.next(from)
    const reach = next === null ? Number.POSITIVE_INFINITY : (next - from) / 2
    let nearest: number | null = null
    for (const to of added) {
      if (to > from + reach) break
      const distance = Math.abs(to - from)
      if (distance < reach && (nearest === null || distance < Math.abs(nearest - from))) nearest = to
    }
    if (nearest !== null) moved.push(take(dropped, added, from, nearest))
  }
  return moved
}

function take(dropped: Set<number>, added: Set<number>, from: number, to: number) {
  dropped.delete(from)
  added.delete(to)
  return { from, to }
}
