import { earliestInstant, latestInstant } from './civil.js'
import type { DroppedTick, RuleTicks, Ticks } from './ticks.js'

/** When a job ticks. */
export interface Schedule {
  readonly kind: 'cron' | 'interval' | 'once' | 'rrule' | 'union'
  /** The first tick strictly after an instant, or null when there is none. */
  next(after: number): number | null
  /** The last tick at or before an instant, or null when there is none. */
  prev(atOrBefore: number): number | null
  /** How many ticks there are from one instant to another, both included; the time it takes does not grow with them. */
  count(from: number, to: number): number
  /** Ticks that the rule names after `from` and up to `to`, and that are dropped: the first hundred. */
  dropped(from: number, to: number): DroppedTick[]
}

const mostDropped = 100
const keptAnswers = 4

/**
 * Ticks that remember their last answers: many jobs share a rule, and ask it for the tick after the same instant. An
 * answer holds for every instant from the one asked about up to the tick.
 */
export class RememberingTicks implements Ticks {
  readonly #inner: Ticks
  readonly #from = new Float64Array(keptAnswers).fill(Number.POSITIVE_INFINITY)
  readonly #tick = new Float64Array(keptAnswers)
  #oldest = 0

  constructor(inner: Ticks) {
    this.#inner = inner
  }

  /** Whether these are the ticks of the rules themselves, with nothing excluded or moved. */
  areThoseOf(rules: RuleTicks): boolean {
    return this.#inner === rules
  }

  next(after: number): number | null {
    for (let index = 0; index < keptAnswers; index++) {
      const tick = this.#tick[index] ?? 0
      if (after < tick && after >= (this.#from[index] ?? 0)) return tick
    }
    const tick = this.#inner.next(after)
    if (tick !== null) {
      this.#from[this.#oldest] = after
      this.#tick[this.#oldest] = tick
      this.#oldest = (this.#oldest + 1) % keptAnswers
    }
    return tick
  }

  prev(atOrBefore: number): number | null {
    return this.#inner.prev(atOrBefore)
  }

  count(from: number, to: number): number {
    return this.#inner.count(from, to)
  }

  dropped(from: number, to: number, most: number): DroppedTick[] {
    return this.#inner.dropped(from, to, most)
  }
}

/** A schedule with its bounds: first <= tick <= last. */
export class BuiltSchedule implements Schedule {
  readonly kind: Schedule['kind']
  /** The rules, before anything is excluded. */
  readonly rules: RuleTicks
  readonly #ticks: Ticks
  readonly #first: number
  readonly #last: number

  constructor(
    kind: Schedule['kind'],
    rules: RuleTicks,
    ticks: Ticks,
    first = earliestInstant,
    last = latestInstant,
  ) {
    this.kind = kind
    this.rules = rules
    this.#ticks = ticks
    this.#first = Math.max(first, earliestInstant)
    this.#last = Math.min(last, latestInstant)
  }

  /** Nothing is excluded: its ticks are those that the rules name, within the bounds. */
  get plain(): boolean {
    return (
      this.#ticks === this.rules ||
      (this.#ticks instanceof RememberingTicks && this.#ticks.areThoseOf(this.rules))
    )
  }

  /** The same schedule with narrower bounds. */
  within(first: number, last: number): BuiltSchedule {
    return new BuiltSchedule(this.kind, this.rules, this.#ticks, first, last)
  }

  next(after: number): number | null {
    if (!(after < this.#last)) return null
    const tick = this.#ticks.next(after < this.#first ? this.#first - 1 : after)
    return tick !== null && tick <= this.#last ? tick : null
  }

  prev(atOrBefore: number): number | null {
    if (!(atOrBefore >= this.#first)) return null
    const tick = this.#ticks.prev(atOrBefore < this.#last ? atOrBefore : this.#last)
    return tick !== null && tick >= this.#first ? tick : null
  }

  count(from: number, to: number): number {
    const first = Math.max(from, this.#first)
    const last = Math.min(to, this.#last)
    return first <= last ? this.#ticks.count(first, last) : 0
  }

  dropped(from: number, to: number): DroppedTick[] {
    const after = Math.max(from, this.#first - 1)
    const last = Math.min(to, this.#last)
    return after < last ? this.#ticks.dropped(after, last, mostDropped) : []
  }
}
