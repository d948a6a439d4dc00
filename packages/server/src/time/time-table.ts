/** The values that one field of a clock reading may have, with the neighbours of every value looked up. */
class FieldTable {
  readonly size: number
  readonly first: number
  readonly last: number
  readonly #from: Int8Array
  readonly #to: Int8Array
  readonly #upTo: Int8Array

  /** `values` ascend. */
  constructor(values: readonly number[], range: number) {
    this.size = values.length
    this.first = values[0] ?? 0
    this.last = values.at(-1) ?? 0
    this.#from = new Int8Array(range + 1).fill(-1)
    this.#to = new Int8Array(range).fill(-1)
    this.#upTo = new Int8Array(range)
    const named = new Set(values)
    for (let value = range - 1; value >= 0; value--) {
      this.#from[value] = named.has(value) ? value : (this.#from[value + 1] ?? -1)
    }
    for (let value = 0; value < range; value++) {
      this.#to[value] = named.has(value) ? value : (this.#to[value - 1] ?? -1)
      this.#upTo[value] = (this.#upTo[value - 1] ?? 0) + (named.has(value) ? 1 : 0)
    }
  }

  has(value: number): boolean {
    return this.#to[value] === value
  }

  /** The first value at or after this one, or -1. */
  from(value: number): number {
    return this.#from[value] ?? -1
  }

  /** The last value at or before this one, or -1. */
  to(value: number): number {
    return this.#to[value] ?? -1
  }

  /** How many values lie at or before this one. */
  upTo(value: number): number {
    return this.#upTo[value] ?? 0
  }
}

/** Times of a day: every combination of some hours, minutes and seconds. Times are seconds after midnight. */
export class TimeTable {
  readonly size: number
  readonly first: number
  readonly last: number
  readonly #hours: FieldTable
  readonly #minutes: FieldTable
  readonly #seconds: FieldTable

  constructor(hours: readonly number[], minutes: readonly number[], seconds: readonly number[]) {
    this.#hours = new FieldTable(hours, 24)
    this.#minutes = new FieldTable(minutes, 60)
    this.#seconds = new FieldTable(seconds, 60)
    this.size = hours.length * minutes.length * seconds.length
    this.first = this.#hours.first * 3600 + this.#minutes.first * 60 + this.#seconds.first
    this.last = this.#hours.last * 3600 + this.#minutes.last * 60 + this.#seconds.last
  }

  /** The first time at or after this one, or -1. */
  from(time: number): number {
    const hour = Math.floor(time / 3600)
    const minute = Math.floor(time / 60) % 60
    if (this.#hours.has(hour)) {
      if (this.#minutes.has(minute)) {
        const second = this.#seconds.from(time % 60)
        if (second >= 0) return hour * 3600 + minute * 60 + second
      }
      const nextMinute = this.#minutes.from(minute + 1)
      if (nextMinute >= 0) return hour * 3600 + nextMinute * 60 + this.#seconds.first
    }
    const nextHour = this.#hours.from(hour + 1)
    return nextHour < 0 ? -1 : nextHour * 3600 + this.#minutes.first * 60 + this.#seconds.first
  }

  /** The last time at or before this one, or -1. */
  to(time: number): number {
    const hour = Math.floor(time / 3600)
    const minute = Math.floor(time / 60) % 60
    if (this.#hours.has(hour)) {
      if (this.#minutes.has(minute)) {
        const second = this.#seconds.to(time % 60)
        if (second >= 0) return hour * 3600 + minute * 60 + second
      }
      const lastMinute = this.#minutes.to(minute - 1)
      if (lastMinute >= 0) return hour * 3600 + lastMinute * 60 + this.#seconds.last
    }
    const lastHour = this.#hours.to(hour - 1)
    return lastHour < 0 ? -1 : lastHour * 3600 + this.#minutes.last * 60 + this.#seconds.last
  }

  /** How many times lie at or before this one. */
  upTo(time: number): number {
    if (time < 0) return 0
    const hour = Math.floor(time / 3600)
    const minute = Math.floor(time / 60) % 60
    const anHour = this.#minutes.size * this.#seconds.size
    const before = this.#hours.upTo(hour - 1) * anHour
    if (!this.#hours.has(hour)) return before
    const inHour = this.#minutes.upTo(minute - 1) * this.#seconds.size
    const inMinute = this.#minutes.has(minute) ? this.#seconds.upTo(time % 60) : 0
    return before + inHour + inMinute
  }

  /** All times, ascending. */
  *[Symbol.iterator](): Generator<number> {
    for (let time = this.first; time >= 0; time = this.from(time + 1)) yield time
  }

  /** The shortest distance between two times that follow each other; infinite for one time. */
  closest(): number {
    let closest = Number.POSITIVE_INFINITY
    let previous = Number.NEGATIVE_INFINITY
    for (const time of this) {
      closest = Math.min(closest, time - previous)
      if (closest === 1) break
      previous = time
    }
    return closest
  }
}
