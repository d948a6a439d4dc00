import { dayMs, dayOf, latestInstant, yearOf, yearStart } from './civil.js'
import { DayTimes } from './day-times.js'
import { effort } from './effort.js'
import { isSubDaily, recurrenceDays } from './rrule-days.js'
import { PeriodWalls } from './rrule-periods.js'
import type { RecurrenceParts } from './rrule-syntax.js'
import { UnitWalls } from './rrule-units.js'
import type { TimesOfDay, WallRule } from './ticks.js'
import { TimeTable } from './time-table.js'

type Walls = Omit<WallRule, 'followsWall'>

/** So many readings are walked rather than counted. */
const walkedCount = 1000

const all = (size: number) => Array.from({ length: size }, (_, value) => value)

/**
 * The readings on the wall of a recurrence rule of RFC 5545 that starts at the reading `start`. They are all that pass
 * the rule from there on: the start itself is one only if it passes.
 */
export class Recurrence implements WallRule {
  readonly followsWall: boolean
  readonly #walls: Walls
  readonly #start: number
  #end: number
  #remaining: number | null

  /** `until` is the last reading that may count. */
  constructor(parts: RecurrenceParts, start: number, until: number | null) {
    this.followsWall = isSubDaily(parts) && parts.hours === null
    this.#walls = wallsOf(parts, start)
    this.#start = start
    this.#end = until ?? latestInstant
    this.#remaining = parts.count
  }

  nextWall(after: number): number | null {
    const wall = this.#walls.nextWall(Math.max(after, this.#start - 1))
    return wall === null || wall > this.#last() ? null : wall
  }

  prevWall(atOrBefore: number): number | null {
    const wall = this.#walls.prevWall(Math.min(atOrBefore, this.#last()))
    return wall === null || wall < this.#start ? null : wall
  }

  countWalls(from: number, to: number): number {
    const first = Math.max(from, this.#start)
    const last = Math.min(to, this.#last())
    return last < first ? 0 : this.#walls.countWalls(first, last)
  }

  timesOn(day: number): TimesOfDay | null {
    const times = this.#walls.timesOn(day)
    const last = this.#last()
    if (times === null || (day > dayOf(this.#start) && day < dayOf(last))) return times
    const list = times
      .list()
      .filter((time) => day * dayMs + time >= this.#start && day * dayMs + time <= last)
    return list.length === 0 ? null : { key: `cut ${day}`, list: () => list }
  }

  /** The last reading that counts. COUNT is turned into it when it is first asked for. */
  #last(): number {
    if (this.#remaining !== null) {
      this.#end = Math.min(this.#end, this.#findLast(this.#remaining))
      this.#remaining = null
    }
    return this.#end
  }

  /** The reading that is the last of so many: the year is found by counting years, then the day by counting days. */
  #findLast(count: number): number {
    let remaining = count
    let from = this.#start
    while (remaining > walkedCount) {
      effort.steps++
      // Years without a reading are jumped over, and a rule that has none left is not looked for in each of them.
      const next = this.#walls.nextWall(from - 1)
      if (next === null || next > this.#end) return this.#end
      const end = yearStart(yearOf(dayOf(next)) + 1) * dayMs
      const inYear = this.#walls.countWalls(next, end - 1)
      from = next
      if (inYear >= remaining) break
      remaining -= inYear
      from = end
    }
    while (remaining > walkedCount && from <= this.#end) {
      effort.steps++
      const end = (dayOf(from) + 1) * dayMs
      const inDay = this.#walls.countWalls(from, end - 1)
      if (inDay >= remaining) break
      remaining -= inDay
      from = end
    }
    return this.#walk(from, remaining)
  }

  #walk(from: number, count: number): number {
    let wall = from - 1
    for (let step = 0; step < count; step++) {
      effort.steps++
      const next = this.#walls.nextWall(wall)
      if (next === null || next > this.#end) return this.#end
      wall = next
    }
    return wall
  }
}

function wallsOf(parts: RecurrenceParts, start: number): Walls {
  if (isSubDaily(parts)) return unitWalls(parts, start)
  const days = recurrenceDays(parts, start)
  const clock = new Date(start)
  const times = new TimeTable(
    parts.hours ?? [clock.getUTCHours()],
    parts.minutes ?? [clock.getUTCMinutes()],
    parts.seconds ?? [clock.getUTCSeconds()],
  )
  return parts.positions === null
    ? new DayTimes(days, times)
    : new PeriodWalls(parts, parts.positions, days, times)
}

/** Below a day, BY parts of the unit and of larger ones leave units out, and those of smaller ones fill a unit. */
function unitWalls(parts: RecurrenceParts, start: number): UnitWalls {
  const clock = new Date(start)
  const hours = parts.hours ?? all(24)
  const minutes = parts.minutes ?? (parts.frequency === 'HOURLY' ? [clock.getUTCMinutes()] : all(60))
  const seconds = parts.seconds ?? (parts.frequency === 'SECONDLY' ? all(60) : [clock.getUTCSeconds()])
  const days = recurrenceDays(parts, start)
  const plan = (unit: number, units: TimeTable, offsets: number[]) =>
    new UnitWalls({
      unit,
      firstUnit: Math.floor(start / 1000 / unit),
      interval: parts.interval,
      days,
      units,
      offsets: chosen(offsets, parts.positions),
    })
  switch (parts.frequency) {
    case 'HOURLY':
      return plan(3600, new TimeTable(hours, [0], [0]), [...new TimeTable([0], minutes, seconds)])
    case 'MINUTELY':
      return plan(60, new TimeTable(hours, minutes, [0]), [...seconds])
    default:
      return plan(1, new TimeTable(hours, minutes, seconds), [0])
  }
}

function chosen(offsets: number[], positions: readonly number[] | null): number[] {
  if (positions === null) return offsets
  return offsets.filter(
    (_, index) => positions.includes(index + 1) || positions.includes(index - offsets.length),
  )
}
