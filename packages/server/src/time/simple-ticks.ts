import { dayMs, latestInstant } from './civil.js'
import type { DroppedTick, RuleTicks, TimesOfDay } from './ticks.js'
import { readingsOf, type Timeline } from './timeline.js'

/** Ticks at equal distances of elapsed time from the first one on. Clocks have no say in them. */
export class IntervalTicks implements RuleTicks {
  readonly period: number
  readonly #first: number
  readonly #timeline: Timeline

  constructor(first: number, period: number, timeline: Timeline) {
    this.#first = first
    this.period = period
    this.#timeline = timeline
  }

  next(after: number): number | null {
    const steps = after < this.#first ? 0 : Math.floor((after - this.#first) / this.period) + 1
    const tick = this.#first + steps * this.period
    return tick <= latestInstant ? tick : null
  }

  prev(atOrBefore: number): number | null {
    if (atOrBefore < this.#first) return null
    return this.#first + Math.floor((atOrBefore - this.#first) / this.period) * this.period
  }

  count(from: number, to: number): number {
    if (to < this.#first || to < from) return 0
    const before = from <= this.#first ? 0 : Math.ceil((from - this.#first) / this.period)
    return Math.floor((to - this.#first) / this.period) + 1 - before
  }

  dropped(): DroppedTick[] {
    return []
  }

  nominal(tick: number): number[] {
    return [tick + this.#timeline.offsetAt(tick)]
  }

  timesOn(day: number, offset: number): TimesOfDay | null {
    const begin = day * dayMs - offset
    const tick = this.next(begin - 1)
    if (tick === null || tick >= begin + dayMs) return null
    return {
      key: String(tick - begin),
      list: () => {
        const times: number[] = []
        for (let time = tick - begin; time < dayMs; time += this.period) times.push(time)
        return times
      },
    }
  }
}

/** A single tick; two where the clocks show its time twice and both count; none where they jump over it. */
export class OnceTicks implements RuleTicks {
  readonly #ticks: readonly number[]
  readonly #named: number | null
  readonly #timeline: Timeline

  /** `ticks` ascend; `named` is the reading on the wall that was asked for, where it was not an instant. */
  constructor(ticks: readonly number[], named: number | null, timeline: Timeline) {
    this.#ticks = ticks
    this.#named = named
    this.#timeline = timeline
  }

  next(after: number): number | null {
    return this.#ticks.find((tick) => tick > after) ?? null
  }

  prev(atOrBefore: number): number | null {
    return this.#ticks.findLast((tick) => tick <= atOrBefore) ?? null
  }

  count(from: number, to: number): number {
    return this.#ticks.filter((tick) => from <= tick && tick <= to).length
  }

  dropped(from: number, to: number): DroppedTick[] {
    const wall = this.#named
    if (wall === null || this.#ticks.length > 0) return []
    const at = readingsOf(this.#timeline, wall).gapEnd
    return at === null || at <= from || at > to ? [] : [{ at, wall, reason: 'dst_gap' }]
  }

  nominal(tick: number): number[] {
    return [this.#named ?? tick + this.#timeline.offsetAt(tick)]
  }

  timesOn(day: number, offset: number): TimesOfDay | null {
    const times = this.#ticks
      .map((tick) => tick + offset - day * dayMs)
      .filter((time) => time >= 0 && time < dayMs)
    return times.length === 0 ? null : { key: times.join(), list: () => times }
  }
}

/** The ticks of a rule up to an instant: UNTIL of a recurrence rule. */
export class EndingTicks implements RuleTicks {
  readonly #inner: RuleTicks
  readonly #last: number

  constructor(inner: RuleTicks, last: number) {
    this.#inner = inner
    this.#last = last
  }

  next(after: number): number | null {
    const tick = this.#inner.next(after)
    return tick !== null && tick <= this.#last ? tick : null
  }

  prev(atOrBefore: number): number | null {
    return this.#inner.prev(Math.min(atOrBefore, this.#last))
  }

  count(from: number, to: number): number {
    const last = Math.min(to, this.#last)
    return last < from ? 0 : this.#inner.count(from, last)
  }

  dropped(from: number, to: number, most: number): DroppedTick[] {
    return this.#inner.dropped(from, Math.min(to, this.#last), most)
  }

  nominal(tick: number): number[] {
    return this.#inner.nominal(tick)
  }

  timesOn(day: number, offset: number): TimesOfDay | null {
    const times = this.#inner.timesOn(day, offset)
    const begin = day * dayMs - offset
    if (times === null || begin + dayMs <= this.#last) return times
    const list = times.list().filter((time) => begin + time <= this.#last)
    return list.length === 0 ? null : { key: `cut ${day}`, list: () => list }
  }
}
