import type { MonthDays } from './month-days.js'
import type { TimesOfDay } from './ticks.js'
import type { TimeTable } from './time-table.js'

const daySeconds = 86_400

/** Readings on the wall: every one of some times on every one of some days. */
export class DayTimes {
  readonly days: MonthDays
  readonly times: TimeTable
  readonly #timesOfDay: TimesOfDay

  constructor(days: MonthDays, times: TimeTable) {
    this.days = days
    this.times = times
    this.#timesOfDay = { key: 'all', list: () => Array.from(times, (time) => time * 1000) }
  }

  nextWall(after: number): number | null {
    const from = Math.floor(after / 1000) + 1
    const day = Math.floor(from / daySeconds)
    if (this.days.has(day)) {
      const time = this.times.from(from - day * daySeconds)
      if (time >= 0) return (day * daySeconds + time) * 1000
    }
    const later = this.days.next(day)
    return later === null ? null : (later * daySeconds + this.times.first) * 1000
  }

  prevWall(atOrBefore: number): number | null {
    const to = Math.floor(atOrBefore / 1000)
    const day = Math.floor(to / daySeconds)
    if (this.days.has(day)) {
      const time = this.times.to(to - day * daySeconds)
      if (time >= 0) return (day * daySeconds + time) * 1000
    }
    const earlier = this.days.prev(day)
    return earlier === null ? null : (earlier * daySeconds + this.times.last) * 1000
  }

  countWalls(from: number, to: number): number {
    const first = Math.ceil(from / 1000)
    const last = Math.floor(to / 1000)
    if (last < first) return 0
    const firstDay = Math.floor(first / daySeconds)
    const lastDay = Math.floor(last / daySeconds)
    const before = this.days.has(firstDay) ? this.times.upTo(first - firstDay * daySeconds - 1) : 0
    const onLast = this.days.has(lastDay) ? this.times.upTo(last - lastDay * daySeconds) : 0
    return this.days.count(firstDay, lastDay - 1) * this.times.size - before + onLast
  }

  timesOn(day: number): TimesOfDay | null {
    return this.days.has(day) ? this.#timesOfDay : null
  }
}
