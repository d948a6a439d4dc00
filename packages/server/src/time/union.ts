import { dayMs, dayOf } from './civil.js'
import { effort } from './effort.js'
import type { DroppedTick, RuleTicks, TimesOfDay } from './ticks.js'
import type { Segment, Timeline } from './timeline.js'

const keptCounts = 10_000
const keptLists = 8

/** The ticks of several rules together; those that coincide are one tick. */
export class UnionTicks implements RuleTicks {
  readonly parts: readonly RuleTicks[]
  readonly #timeline: Timeline
  /** How many ticks a day has on which the parts have the times of these keys. */
  readonly #countsByKeys = new Map<string, number>()
  /** The days that are counted in part: the first and the last, and those on which the clocks change. */
  readonly #listsByKeys = new Map<string, readonly number[]>()

  constructor(parts: readonly RuleTicks[], timeline: Timeline) {
    this.parts = parts
    this.#timeline = timeline
  }

  next(after: number): number | null {
    let first: number | null = null
    for (const part of this.parts) {
      const tick = part.next(after)
      if (tick !== null && (first === null || tick < first)) first = tick
    }
    return first
  }

  prev(atOrBefore: number): number | null {
    let last: number | null = null
    for (const part of this.parts) {
      const tick = part.prev(atOrBefore)
      if (tick !== null && (last === null || tick > last)) last = tick
    }
    return last
  }

  /**
   * Coinciding ticks forbid adding up the parts. Days on which the clocks run steadily are counted by the sets of
   * times that the parts have on them, of which there are few; ticks are walked only where the clocks change.
   */
  count(from: number, to: number): number {
    let count = 0
    let segment = this.#timeline.segmentAt(from)
    for (;;) {
      effort.steps++
      count += this.#countSegment(segment, Math.max(from, segment.start), Math.min(to, segment.end - 1))
      if (segment.end > to) return count
      segment = this.#timeline.segmentAt(segment.end)
    }
  }

  dropped(from: number, to: number, most: number): DroppedTick[] {
    const seen = new Set<string>()
    return this.parts
      .flatMap((part) => part.dropped(from, to, most))
      .sort((left, right) => left.at - right.at || left.wall - right.wall)
      .filter(({ at, wall }) => !seen.has(`${at} ${wall}`) && seen.add(`${at} ${wall}`))
      .slice(0, most)
  }

  nominal(tick: number): number[] {
    const walls = this.parts.flatMap((part) => (part.prev(tick) === tick ? part.nominal(tick) : []))
    return [...new Set(walls)]
  }

  timesOn(day: number, offset: number): TimesOfDay | null {
    const times = this.parts.map((part) => part.timesOn(day, offset))
    if (times.every((part) => part === null)) return null
    return {
      key: times.map((part) => part?.key ?? '-').join('|'),
      list: () => merged(times.map((part) => part?.list() ?? [])),
    }
  }

  #countSegment(segment: Segment, from: number, to: number): number {
    // A reading shown twice counts by the policy of each rule, and a gap may add a tick at its end.
    const headEnd = segment.start + (segment.headShift === 0 ? 0 : Math.max(1, -segment.headShift))
    const tailBegin = Math.max(headEnd, segment.end + Math.min(0, segment.tailShift))
    return (
      this.#walk(from, Math.min(to, headEnd - 1)) +
      this.#countSteady(segment.offset, Math.max(from, headEnd), Math.min(to, tailBegin - 1)) +
      this.#walk(Math.max(from, tailBegin), to)
    )
  }

  #walk(from: number, to: number): number {
    let count = 0
    if (to < from) return 0
    for (let tick = this.next(from - 1); tick !== null && tick <= to; tick = this.next(tick)) {
      effort.steps++
      count++
    }
    return count
  }

  #countSteady(offset: number, from: number, to: number): number {
    if (to < from) return 0
    let count = 0
    const lastDay = dayOf(to + offset)
    for (let day = dayOf(from + offset); day <= lastDay; day++) {
      effort.steps++
      const times = this.timesOn(day, offset)
      if (times === null) continue
      const begin = day * dayMs - offset
      const whole = begin >= from && begin + dayMs - 1 <= to
      count += whole ? this.#countDay(times) : this.#countPart(times, from - begin, to - begin)
    }
    return count
  }

  #countPart(times: TimesOfDay, from: number, to: number): number {
    let list = this.#listsByKeys.get(times.key)
    if (list === undefined) {
      if (this.#listsByKeys.size >= keptLists) this.#listsByKeys.clear()
      list = times.list()
      this.#listsByKeys.set(times.key, list)
    }
    return positionAfter(list, to) - positionAfter(list, from - 1)
  }

  #countDay(times: TimesOfDay): number {
    const known = this.#countsByKeys.get(times.key)
    if (known !== undefined) return known
    if (this.#countsByKeys.size >= keptCounts) this.#countsByKeys.clear()
    const count = times.list().length
    this.#countsByKeys.set(times.key, count)
    return count
  }
}

function merged(lists: readonly (readonly number[])[]): readonly number[] {
  return lists.reduce(
    (all, list) => (all.length === 0 ? list : list.length === 0 ? all : mergeTwo(all, list)),
    [],
  )
}

/** Two rising lists as one, each value once. */
function mergeTwo(left: readonly number[], right: readonly number[]): number[] {
  const all: number[] = []
  let inLeft = 0
  let inRight = 0
  while (inLeft < left.length || inRight < right.length) {
    const fromLeft = left[inLeft] ?? Number.POSITIVE_INFINITY
    const fromRight = right[inRight] ?? Number.POSITIVE_INFINITY
    all.push(Math.min(fromLeft, fromRight))
    if (fromLeft <= fromRight) inLeft++
    if (fromRight <= fromLeft) inRight++
  }
  return all
}

/** How many values of a rising list are at most `limit`. */
function positionAfter(list: readonly number[], limit: number): number {
  let low = 0
  let high = list.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((list[middle] ?? 0) > limit) high = middle
    else low = middle + 1
  }
  return low
}
