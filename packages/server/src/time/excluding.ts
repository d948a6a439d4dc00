import { effort } from './effort.js'
import type { Exclusions, Intervals } from './exclusions.js'
import type { DroppedTick, RuleTicks, Ticks } from './ticks.js'

/** The ticks of a rule that lie in none of some intervals. */
export class OpenTicks implements Ticks {
  readonly #inner: RuleTicks
  readonly #closed: Intervals

  constructor(inner: RuleTicks, closed: Intervals) {
    this.#inner = inner
    this.#closed = closed
  }

  next(after: number): number | null {
    let tick = this.#inner.next(after)
    while (tick !== null) {
      effort.steps++
      const closed = this.#closed.at(tick)
      if (closed === null) return tick
      tick = this.#inner.next(closed.to - 1)
    }
    return null
  }

  prev(atOrBefore: number): number | null {
    let tick = this.#inner.prev(atOrBefore)
    while (tick !== null) {
      effort.steps++
      const closed = this.#closed.at(tick)
      if (closed === null) return tick
      tick = this.#inner.prev(closed.from - 1)
    }
    return null
  }

  count(from: number, to: number): number {
    let count = this.#inner.count(from, to)
    const { list } = this.#closed
    for (let index = this.#closed.indexFrom(from); index < list.length; index++) {
      effort.steps++
      const closed = list[index]
      if (closed === undefined || closed.from > to) break
      count -= this.#inner.count(Math.max(from, closed.from), Math.min(to, closed.to - 1))
    }
    return count
  }

  dropped(from: number, to: number, most: number): DroppedTick[] {
    return this.#inner.dropped(from, to, most)
  }
}

/** The ticks of a rule that lie in some intervals, one by one, as dropped. */
export function droppedIn(
  inner: RuleTicks,
  closed: Intervals,
  exclusions: Exclusions,
  range: { from: number; to: number; most: number },
): DroppedTick[] {
  const { from, to, most } = range
  const dropped: DroppedTick[] = []
  for (let index = closed.indexFrom(from + 1); index < closed.list.length && dropped.length < most; index++) {
    const interval = closed.list[index]
    if (interval === undefined || interval.from > to) break
    let tick = inner.next(Math.max(from, interval.from - 1))
    while (tick !== null && tick < interval.to && tick <= to && dropped.length < most) {
      effort.steps++
      dropped.push({
        at: tick,
        wall: inner.nominal(tick)[0] ?? tick,
        reason: 'excluded',
        detail: exclusions.reasonAt(tick),
      })
      tick = inner.next(tick)
    }
  }
  return dropped
}

/** The ticks of a rule without those that its exclusions name. */
export class ExcludingTicks extends OpenTicks {
  readonly #inner: RuleTicks
  readonly #exclusions: Exclusions

  constructor(inner: RuleTicks, exclusions: Exclusions) {
    super(inner, exclusions.closed)
    this.#inner = inner
    this.#exclusions = exclusions
  }

  override dropped(from: number, to: number, most: number): DroppedTick[] {
    const excluded = droppedIn(this.#inner, this.#exclusions.closed, this.#exclusions, { from, to, most })
    return mergeDropped([...excluded, ...this.#inner.dropped(from, to, most)], most)
  }
}

export function mergeDropped(dropped: DroppedTick[], most: number): DroppedTick[] {
  return dropped.sort((left, right) => left.at - right.at || left.wall - right.wall).slice(0, most)
}
