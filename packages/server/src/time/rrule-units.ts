import { effort } from './effort.js'
import type { MonthDays } from './month-days.js'
import type { TimesOfDay } from './ticks.js'
import type { TimeTable } from './time-table.js'

const daySeconds = 86_400
/** A rule whose interval meets none of its units in so many attempts is taken to meet none at all. */
const mostAttempts = 100_000

export interface UnitPlan {
  /** The length of a unit (an hour, a minute, a second) in seconds. */
  readonly unit: number
  /** The number of the unit that the rule starts in, and every how many units it fires. */
  readonly firstUnit: number
  readonly interval: number
  readonly days: MonthDays
  /** When the units that may be used begin, in a day. */
  readonly units: TimeTable
  /** When it fires in a unit: seconds after its beginning, ascending. */
  readonly offsets: readonly number[]
}

/** Readings on the wall of a rule that counts hours, minutes or seconds. */
export class UnitWalls {
  readonly #plan: UnitPlan
  readonly #countsByPhase = new Map<number, number>()

  /** Whether its interval ever meets a unit that may be used. */
  readonly #meets: boolean

  constructor(plan: UnitPlan) {
    this.#plan = plan
    this.#meets = plan.offsets.length > 0 && meets(plan)
  }

  nextWall(after: number): number | null {
    const { unit, interval, days, units, offsets } = this.#plan
    if (!this.#meets) return null
    const from = Math.floor(after / 1000) + 1
    let begin = Math.floor(from / unit) * unit
    for (let step = 0; step < mostAttempts; step++) {
      effort.steps++
      const day = Math.floor(begin / daySeconds)
      if (!days.has(day)) {
        const later = days.next(day)
        if (later === null) return null
        begin = later * daySeconds
        continue
      }
      const time = units.from(begin - day * daySeconds)
      const phase = this.#phase(day * daySeconds + time)
      if (time < 0) begin = (day + 1) * daySeconds
      else if (phase !== 0) begin = day * daySeconds + time + (interval - phase) * unit
      else {
        begin = day * daySeconds + time
        const offset = offsets.find((candidate) => begin + candidate >= from)
        if (offset !== undefined) return (begin + offset) * 1000
        begin += interval * unit
      }
    }
    return null
  }

  prevWall(atOrBefore: number): number | null {
    const { unit, interval, days, units, offsets, firstUnit } = this.#plan
    if (!this.#meets) return null
    const to = Math.floor(atOrBefore / 1000)
    let begin = Math.floor(to / unit) * unit
    for (let step = 0; step < mostAttempts && begin >= firstUnit * unit; step++) {
      effort.steps++
      const day = Math.floor(begin / daySeconds)
      if (!days.has(day)) {
        const earlier = days.prev(day)
        if (earlier === null) return null
        begin = (earlier + 1) * daySeconds - unit
        continue
      }
      const time = units.to(begin - day * daySeconds)
      const phase = this.#phase(day * daySeconds + time)
      if (time < 0) begin = day * daySeconds - unit
      else if (phase !== 0) begin = day * daySeconds + time - phase * unit
      else {
        begin = day * daySeconds + time
        const offset = offsets.findLast((candidate) => begin + candidate <= to)
        if (offset !== undefined) return (begin + offset) * 1000
        begin -= interval * unit
      }
    }
    return null
  }

  countWalls(from: number, to: number): number {
    const first = Math.ceil(from / 1000)
    const last = Math.floor(to / 1000)
    if (last < first) return 0
    const { days } = this.#plan
    const firstDay = Math.floor(first / daySeconds)
    const lastDay = Math.floor(last / daySeconds)
    let count = 0
    let day: number | null = days.has(firstDay) ? firstDay : days.next(firstDay)
    while (day !== null && day <= lastDay) {
      effort.steps++
      const whole = day * daySeconds >= first && (day + 1) * daySeconds - 1 <= last
      count += whole ? this.#countDay(day) : this.#countPart(day, first, last)
      day = days.next(day)
    }
    return count
  }

  timesOn(day: number): TimesOfDay | null {
    if (!this.#plan.days.has(day)) return null
    return { key: String(this.#phase(day * daySeconds)), list: () => this.#listDay(day) }
  }

  /** How many units a unit lies after one that fires. */
  #phase(begin: number): number {
    const { unit, firstUnit, interval } = this.#plan
    const phase = (Math.floor(begin / unit) - firstUnit) % interval
    return phase < 0 ? phase + interval : phase
  }

  /** Days that begin in the same phase have as many ticks. */
  #countDay(day: number): number {
    const phase = this.#phase(day * daySeconds)
    const known = this.#countsByPhase.get(phase)
    if (known !== undefined) return known
    const count = this.#countPart(day, day * daySeconds, (day + 1) * daySeconds - 1)
    if (this.#countsByPhase.size >= daySeconds) this.#countsByPhase.clear()
    this.#countsByPhase.set(phase, count)
    return count
  }

  #countPart(day: number, first: number, last: number): number {
    const { unit, offsets } = this.#plan
    let count = 0
    for (const begin of this.#unitsOf(day)) {
      if (begin >= first && begin + unit - 1 <= last) count += offsets.length
      else count += offsets.filter((offset) => begin + offset >= first && begin + offset <= last).length
    }
    return count
  }

  #listDay(day: number): number[] {
    const times: number[] = []
    for (const begin of this.#unitsOf(day)) {
      for (const offset of this.#plan.offsets) times.push((begin + offset - day * daySeconds) * 1000)
    }
    return times
  }

  *#unitsOf(day: number): Generator<number> {
    const { unit, interval, units } = this.#plan
    const end = (day + 1) * daySeconds
    const late = (interval - this.#phase(day * daySeconds)) % interval
    for (let begin = day * daySeconds + late * unit; begin < end; begin += interval * unit) {
      effort.steps++
      const time = begin - day * daySeconds
      if (units.from(time) === time) yield begin
    }
  }
}

/** From day to day the interval falls on units that differ by what it has in common with the length of a day. */
function meets({ unit, firstUnit, interval, units }: UnitPlan): boolean {
  if (interval === 1) return true
  const common = commonDivisor(interval, daySeconds / unit)
  for (const time of units) {
    effort.steps++
    if ((time / unit - firstUnit) % common === 0) return true
  }
  return false
}

function commonDivisor(left: number, right: number): number {
  return right === 0 ? left : commonDivisor(right, left % right)
}
