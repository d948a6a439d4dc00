import { cycleDays, cycleYears, monthIndexOf, monthStart } from './civil.js'
import { effort } from './effort.js'

/** The days of a month that belong to a set, with bit 0 for the first; the month begins on the day `begin`. */
export type MaskOfMonth = (monthIndex: number, begin: number, length: number) => number

const endOfMonths = 10_000 * 12
const beginOfMonths = 1969 * 12

function ones(mask: number): number {
  let rest = mask - ((mask >>> 1) & 0x55555555)
  rest = (rest & 0x33333333) + ((rest >>> 2) & 0x33333333)
  return Math.imul((rest + (rest >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
}

/** A set of days, asked for month by month. */
export class MonthDays {
  readonly #maskOf: MaskOfMonth
  readonly #patience: number
  readonly #repeats: boolean
  #daysInCycle: number | null = null
  // The month that was looked at last: most questions are about one day after the other.
  #index = Number.NaN
  #begin = 0
  #end = 0
  #mask = 0

  /** After how many months without a day there is none to come; and whether all repeats after 400 years. */
  constructor(maskOf: MaskOfMonth, patience: number, repeats: boolean) {
    this.#maskOf = maskOf
    this.#patience = patience
    this.#repeats = repeats
  }

  has(day: number): boolean {
    this.#look(day)
    return ((this.#mask >>> (day - this.#begin)) & 1) === 1
  }

  /** The first day after this one. */
  next(day: number): number | null {
    this.#look(day)
    const position = day - this.#begin
    let rest = position === 30 ? 0 : this.#mask & (-2 << position)
    const end = Math.min(endOfMonths, this.#index + this.#patience)
    while (rest === 0) {
      effort.steps++
      if (this.#index + 1 >= end) return null
      this.#turnTo(this.#index + 1, this.#end)
      rest = this.#mask
    }
    return this.#begin + 31 - Math.clz32(rest & -rest)
  }

  /** The last day before this one. */
  prev(day: number): number | null {
    this.#look(day)
    let rest = this.#mask & ((1 << (day - this.#begin)) - 1)
    const end = Math.max(beginOfMonths, this.#index - this.#patience)
    while (rest === 0) {
      effort.steps++
      if (this.#index <= end) return null
      this.#turnTo(this.#index - 1, monthStart(this.#index - 1))
      rest = this.#mask
    }
    return this.#begin + 31 - Math.clz32(rest)
  }

  /** How many days there are from one to another, both included. */
  count(from: number, to: number): number {
    if (to < from) return 0
    const cycles = this.#repeats ? Math.floor((to - from + 1) / cycleDays) : 0
    if (cycles > 0) this.#daysInCycle ??= this.#countMonths(0, cycleDays - 1)
    const begin = from + cycles * cycleDays
    return cycles * (this.#daysInCycle ?? 0) + (begin > to ? 0 : this.#countMonths(begin, to))
  }

  /** The shortest distance between two days that follow each other, over all years. */
  closest(): number {
    const begin = 2000 * 12
    let closest = Number.POSITIVE_INFINITY
    let previous = Number.NEGATIVE_INFINITY
    // Some years more than a cycle, so that the end of one is seen beside the beginning of the next.
    for (let index = begin; index < begin + (cycleYears + 40) * 12 && closest > 1; index++) {
      this.#turnTo(index, monthStart(index))
      for (let rest = this.#mask; rest !== 0; rest &= rest - 1) {
        effort.steps++
        const day = this.#begin + 31 - Math.clz32(rest & -rest)
        closest = Math.min(closest, day - previous)
        previous = day
      }
    }
    return closest
  }

  #countMonths(from: number, to: number): number {
    this.#look(from)
    let mask = this.#mask & (-1 << (from - this.#begin))
    let count = 0
    while (to >= this.#end) {
      effort.steps++
      count += ones(mask)
      this.#turnTo(this.#index + 1, this.#end)
      mask = this.#mask
    }
    return count + ones(mask & ((2 << (to - this.#begin)) - 1))
  }

  #look(day: number): void {
    if (day >= this.#begin && day < this.#end) return
    const index = monthIndexOf(day)
    this.#turnTo(index, monthStart(index))
  }

  #turnTo(index: number, begin: number): void {
    this.#index = index
    this.#begin = begin
    this.#end = monthStart(index + 1)
    const inYears = index >= beginOfMonths && index < endOfMonths
    this.#mask = inYears ? this.#maskOf(index, begin, this.#end - begin) : 0
  }
}
