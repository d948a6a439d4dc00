import { dayMs, dayOf, monthStart, yearStart } from './civil.js'
import { effort } from './effort.js'
import type { MonthDays } from './month-days.js'
import { periodOf } from './rrule-days.js'
import type { Frequency, RecurrenceParts } from './rrule-syntax.js'
import type { TimesOfDay } from './ticks.js'
import type { TimeTable } from './time-table.js'

/** After so many periods in which no position is filled, none is ever: they have all shapes that a period can have. */
const mostEmptyPeriods: Partial<Record<Frequency, number>> = { YEARLY: 400, MONTHLY: 1200, WEEKLY: 600 }
/** All days have the same times. */
const mostEmptyDays = 3
const keptPeriods = 64

/** Readings on the wall of a rule with BYSETPOS: of all that a year, month, week or day has, some by position. */
export class PeriodWalls {
  readonly #parts: RecurrenceParts
  readonly #positions: readonly number[]
  readonly #days: MonthDays
  /** Milliseconds after midnight. */
  readonly #times: readonly number[]
  readonly #known = new Map<number, readonly number[]>()
  readonly #mostEmpty: number

  constructor(parts: RecurrenceParts, positions: readonly number[], days: MonthDays, times: TimeTable) {
    this.#parts = parts
    this.#mostEmpty = mostEmptyPeriods[parts.frequency] ?? mostEmptyDays
    this.#positions = positions
    this.#days = days
    this.#times = Array.from(times, (time) => time * 1000)
  }

  nextWall(after: number): number | null {
    let period = periodOf(this.#parts, dayOf(after))
    for (let step = 0; step < this.#mostEmpty; step++) {
      effort.steps++
      const found = this.#wallsOf(period).find((wall) => wall > after)
      if (found !== undefined) return found
      const day = this.#days.next(this.#begin(period + 1) - 1)
      if (day === null) return null
      period = periodOf(this.#parts, day)
    }
    return null
  }

  prevWall(atOrBefore: number): number | null {
    let period = periodOf(this.#parts, dayOf(atOrBefore))
    for (let step = 0; step < this.#mostEmpty; step++) {
      effort.steps++
      const found = this.#wallsOf(period).findLast((wall) => wall <= atOrBefore)
      if (found !== undefined) return found
      const day = this.#days.prev(this.#begin(period))
      if (day === null) return null
      period = periodOf(this.#parts, day)
    }
    return null
  }

  countWalls(from: number, to: number): number {
    let count = 0
    let period = periodOf(this.#parts, dayOf(from))
    while (this.#begin(period) * dayMs <= to) {
      effort.steps++
      for (const wall of this.#wallsOf(period)) if (wall >= from && wall <= to) count++
      const day = this.#days.next(this.#begin(period + 1) - 1)
      if (day === null) break
      period = periodOf(this.#parts, day)
    }
    return count
  }

  timesOn(day: number): TimesOfDay | null {
    const walls = this.#wallsOf(periodOf(this.#parts, day)).filter((wall) => dayOf(wall) === day)
    return walls.length === 0
      ? null
      : { key: String(day), list: () => walls.map((wall) => wall - day * dayMs) }
  }

  /** The first day of a period. */
  #begin(period: number): number {
    switch (this.#parts.frequency) {
      case 'YEARLY':
        return yearStart(period)
      case 'MONTHLY':
        return monthStart(period)
      case 'WEEKLY':
        return period * 7 - 4 + this.#parts.weekStart
      default:
        return period
    }
  }

  #wallsOf(period: number): readonly number[] {
    const known = this.#known.get(period)
    if (known !== undefined) return known
    if (this.#known.size >= keptPeriods) this.#known.clear()
    const walls = this.#select(period)
    this.#known.set(period, walls)
    return walls
  }

  #select(period: number): number[] {
    const end = this.#begin(period + 1)
    const days: number[] = []
    for (
      let day = this.#days.next(this.#begin(period) - 1);
      day !== null && day < end;
      day = this.#days.next(day)
    ) {
      days.push(day)
    }
    const perDay = this.#times.length
    const size = days.length * perDay
    const chosen = new Set(this.#positions.map((position) => (position > 0 ? position - 1 : size + position)))
    return [...chosen]
      .filter((index) => index >= 0 && index < size)
      .sort((left, right) => left - right)
      .map((index) => (days[Math.floor(index / perDay)] ?? 0) * dayMs + (this.#times[index % perDay] ?? 0))
  }
}
