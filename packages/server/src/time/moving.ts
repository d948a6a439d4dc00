import { dayMs, dayOf, latestInstant, weekdayOf } from './civil.js'
import { effort } from './effort.js'
import { droppedIn, mergeDropped, OpenTicks } from './excluding.js'
import { type DayRange, type Exclusions, instantsOfDays, Intervals } from './exclusions.js'
import type { DroppedTick, RuleTicks, Ticks } from './ticks.js'
import { type DstPolicy, instantsOf, type Timeline, widestOffset } from './timeline.js'

/** A day to which ticks move, and the excluded days that they come from. */
interface Landing {
  readonly day: number
  readonly sources: DayRange[]
}

/** What became of the ticks that were to move to a day. */
interface Landed {
  /** Those that the day does not have by itself. */
  readonly ticks: readonly number[]
  /** Those that cannot be there. */
  readonly lost: readonly DroppedTick[]
}

/** A rule so frequent has ticks on the other days anyway: more than these of one landing are dropped instead. */
const mostMoved = 100_000
const mostLost = 100

/** The ticks of a rule, where those on excluded days move to the same time of a business day beside them. */
export class MovingTicks implements Ticks {
  readonly #inner: RuleTicks
  readonly #exclusions: Exclusions
  readonly #timeline: Timeline
  readonly #policy: DstPolicy
  /** The ticks that stay. */
  readonly #staying: Ticks
  /** By day, rising. */
  readonly #landings: readonly Landing[]
  readonly #landed = new Map<Landing, Landed>()

  constructor(
    inner: RuleTicks,
    exclusions: Exclusions,
    timeline: Timeline,
    policy: DstPolicy,
    direction: 1 | -1,
  ) {
    this.#inner = inner
    this.#exclusions = exclusions
    this.#timeline = timeline
    this.#policy = policy
    this.#staying = new OpenTicks(inner, exclusions.closed)
    this.#landings = landingsOf(exclusions.days, direction)
  }

  next(after: number): number | null {
    let first = this.#staying.next(after)
    for (let index = this.#indexFrom(after); index < this.#landings.length; index++) {
      effort.steps++
      const landing = this.#landings[index]
      if (landing === undefined || (first !== null && landing.day * dayMs - widestOffset > first)) break
      const moved = this.#land(landing).ticks.find((tick) => tick > after)
      if (moved !== undefined && (first === null || moved < first)) first = moved
    }
    return first
  }

  prev(atOrBefore: number): number | null {
    let last = this.#staying.prev(atOrBefore)
    for (let index = this.#indexFrom(atOrBefore + 4 * dayMs) - 1; index >= 0; index--) {
      effort.steps++
      const landing = this.#landings[index]
      if (landing === undefined || (last !== null && (landing.day + 2) * dayMs + widestOffset < last)) break
      const moved = this.#land(landing).ticks.findLast((tick) => tick <= atOrBefore)
      if (moved !== undefined && (last === null || moved > last)) last = moved
    }
    return last
  }

  count(from: number, to: number): number {
    let count = this.#staying.count(from, to)
    for (let index = this.#indexFrom(from); index < this.#landings.length; index++) {
      effort.steps++
      const landing = this.#landings[index]
      if (landing === undefined || landing.day * dayMs - widestOffset > to) break
      count += this.#land(landing).ticks.filter((tick) => tick >= from && tick <= to).length
    }
    return count
  }

  dropped(from: number, to: number, most: number): DroppedTick[] {
    const dark = droppedIn(this.#inner, this.#exclusions.blackouts, this.#exclusions, { from, to, most })
    const lost = this.#landings
      .filter(({ day, sources }) =>
        [{ first: day, last: day }, ...sources].some(
          ({ first, last }) => (first - 1) * dayMs <= to && (last + 2) * dayMs >= from,
        ),
      )
      .flatMap((landing) => this.#land(landing).lost)
      .filter(({ at }) => at > from && at <= to)
    return mergeDropped([...dark, ...lost, ...this.#inner.dropped(from, to, most)], most)
  }

  /** The first landing that can have ticks after an instant; a tick that jumps a gap may land a day late. */
  #indexFrom(instant: number): number {
    let low = 0
    let high = this.#landings.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (((this.#landings[middle]?.day ?? 0) + 2) * dayMs + widestOffset > instant) high = middle
      else low = middle + 1
    }
    return low
  }

  #land(landing: Landing): Landed {
    let landed = this.#landed.get(landing)
    if (landed === undefined) {
      landed = this.#move(landing)
      this.#landed.set(landing, landed)
    }
    return landed
  }

  #move({ day, sources }: Landing): Landed {
    const intervals = new Intervals(sources.flatMap((source) => instantsOfDays(this.#timeline, source)))
    const moving = intervals.list.reduce((sum, { from, to }) => sum + this.#inner.count(from, to - 1), 0)
    if (moving > mostMoved) {
      const range = { from: 0, to: latestInstant, most: mostLost }
      return { ticks: [], lost: droppedIn(this.#inner, intervals, this.#exclusions, range) }
    }
    const { closed } = this.#exclusions
    const landed = [...this.#instantsOn(day, intervals)].sort((left, right) => left[0] - right[0])
    return {
      ticks: landed
        .map(([tick]) => tick)
        .filter((tick) => closed.at(tick) === null && this.#staying.prev(tick) !== tick),
      lost: landed
        .filter(([tick]) => closed.at(tick) !== null)
        .slice(0, mostLost)
        .map(([at, wall]) => ({ at, wall, reason: 'excluded', detail: this.#exclusions.reasonAt(at) })),
    }
  }

  /** The instants of a day to which the ticks of some intervals move, with the readings that name them. */
  #instantsOn(day: number, intervals: Intervals): Map<number, number> {
    const instants = new Map<number, number>()
    for (const { from, to } of intervals.list) {
      for (let tick = this.#inner.next(from - 1); tick !== null && tick < to; tick = this.#inner.next(tick)) {
        effort.steps++
        if (this.#exclusions.blackouts.at(tick) !== null) continue
        for (const wall of this.#inner.nominal(tick)) {
          const there = day * dayMs + (wall - dayOf(wall) * dayMs)
          for (const instant of instantsOf(this.#timeline, there, this.#policy)) instants.set(instant, there)
        }
      }
    }
    return instants
  }
}

/** Where excluded days move to: a day that is neither excluded nor a Saturday or Sunday. */
function landingsOf(ranges: readonly DayRange[], direction: 1 | -1): Landing[] {
  const landings = new Map<number, Landing>()
  for (const [index, range] of ranges.entries()) {
    const day = businessDayBeside(ranges, index, direction)
    if (day === null) continue
    const landing = landings.get(day) ?? { day, sources: [] }
    landing.sources.push(range)
    landings.set(day, landing)
  }
  return [...landings.values()]
}

function businessDayBeside(ranges: readonly DayRange[], from: number, direction: 1 | -1): number | null {
  let index = from
  for (;;) {
    effort.steps++
    const range = ranges[index]
    const beside = ranges[index + direction]
    if (range === undefined) return null
    let day = direction === 1 ? range.last + 1 : range.first - 1
    const isTaken = () => beside !== undefined && day >= beside.first && day <= beside.last
    while (!isTaken() && (weekdayOf(day) === 0 || weekdayOf(day) === 6)) day += direction
    if (!isTaken()) return day >= 0 && day * dayMs <= latestInstant ? day : null
    index += direction
  }
}
