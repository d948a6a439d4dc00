import { latestInstant } from './civil.js'
import type { Schedule } from './built-schedule.js'
import type { DroppedTick } from './ticks.js'

/** A schedule without some of its ticks, and without any after an end. */
export class TicksExcept implements Schedule {
  readonly kind: Schedule['kind']
  readonly #inner: Schedule
  /** Ticks of the schedule, and nothing else. */
  readonly #without: ReadonlySet<number>
  readonly #end: number

  constructor(inner: Schedule, without: readonly number[], end = latestInstant) {
    this.kind = inner.kind
    this.#inner = inner
    this.#without = new Set(without.filter((instant) => inner.prev(instant) === instant))
    this.#end = end
  }

  next(after: number): number | null {
    let tick = this.#inner.next(after)
    while (tick !== null && this.#without.has(tick)) tick = this.#inner.next(tick)
    return tick !== null && tick <= this.#end ? tick : null
  }

  prev(atOrBefore: number): number | null {
    let tick = this.#inner.prev(Math.min(atOrBefore, this.#end))
    while (tick !== null && this.#without.has(tick)) tick = this.#inner.prev(tick - 1)
    return tick
  }

  count(from: number, to: number): number {
    const last = Math.min(to, this.#end)
    if (from > last) return 0
    const left = [...this.#without].filter((tick) => from <= tick && tick <= last)
    return this.#inner.count(from, last) - left.length
  }

  dropped(from: number, to: number): DroppedTick[] {
    return this.#inner.dropped(from, to)
  }
}
