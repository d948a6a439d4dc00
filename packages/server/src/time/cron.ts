import { Cron } from 'croner'
import type { CronFields } from './cron-fields.js'
import { offsetAt } from './zone.js'

const hourMs = 3_600_000
const latestInstant = 8_640_000_000_000_000

/**
 * The ticks of one cron rule in one zone. Croner finds the hours; inside an hour in which the clocks do not
 * change, every minute and second of the rule is a tick, so those are read off a table. Croner takes 50 to
 * 80 microseconds for each tick, and counting what an outage of a frequent rule missed takes many.
 */
export class CronTicks {
  readonly #cron: Cron
  readonly #zone: string
  /** Milliseconds after the full hour, ascending. */
  readonly #inHour: readonly number[]
  /** An interval without ticks: `after` in [from, tick) has `tick` for an answer. */
  #latest: { from: number; tick: number } | null = null
  /** Begin of an hour in which every entry of the table is a tick. */
  #evenHour: number | null = null

  constructor(fields: CronFields, zone: string) {
    this.#cron = new Cron(fields.text, { timezone: zone, mode: '5-or-6-parts', paused: true })
    this.#zone = zone
    this.#inHour = fields.minutes.flatMap((minute) =>
      fields.seconds.map((second) => (minute * 60 + second) * 1000),
    )
  }

  next(after: number): number | null {
    const latest = this.#latest
    if (latest !== null && after >= latest.from && after < latest.tick) return latest.tick
    const tick = this.#nextInEvenHour(after) ?? this.#search(after)
    if (tick !== null) this.#latest = { from: after, tick }
    return tick
  }

  #nextInEvenHour(after: number): number | null {
    const begin = this.#evenHour
    if (begin === null || after < begin || after >= begin + hourMs) return null
    const position = after - begin
    let low = 0
    let high = this.#inHour.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#inHour[middle] ?? 0) > position) high = middle
      else low = middle + 1
    }
    const found = this.#inHour[low]
    return found === undefined ? null : begin + found
  }

  #search(after: number): number | null {
    if (!(Math.abs(after) < latestInstant)) return null
    const tick = this.#cron.nextRun(new Date(after))?.getTime() ?? null
    // A rule with one tick an hour gains nothing; and of those alone croner moves ticks out of jumps of the clocks.
    if (tick !== null && this.#inHour.length > 1) this.#rememberHour(tick)
    return tick
  }

  #rememberHour(tick: number): void {
    const offset = offsetAt(tick, this.#zone)
    const begin = Math.floor((tick + offset) / hourMs) * hourMs - offset
    const even = offsetAt(begin, this.#zone) === offset && offsetAt(begin + hourMs - 1, this.#zone) === offset
    this.#evenHour = even ? begin : null
  }
}
