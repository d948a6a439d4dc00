// Which ticks a job must have accounted for, by the brute-force oracle: no code of the engine under test has a say.
import { oracleTicks } from '../../packages/server/test/oracle/oracle.mjs'

/** A stretch of a job's life under one definition: ticks strictly after `from`, up to and including `to`. */
/** @typedef {{ from: number, to: number, version: number, definition: object }} Stretch */

export class Expectation {
  #memo = new Map()

  /**
   * @param {{ from: number, to: number, calendars: Record<string, { dates: string[], blackouts?: { from: string, to: string }[] }> }} window
   *   one for all jobs: what the wall clock shows is read once
   */
  constructor({ from, to, calendars }) {
    this.from = from
    this.to = to
    this.calendars = calendars
  }

  /** Rising. @param {Stretch[]} stretches */
  ticksOf(stretches) {
    return stretches.flatMap(({ from, to, definition }) => {
      const starts = Math.max(from + 1, definition.starts_at ? Date.parse(definition.starts_at) : 0)
      const ends = Math.min(to, definition.ends_at ? Date.parse(definition.ends_at) - 1 : to)
      const rules = Array.isArray(definition.schedule) ? definition.schedule : [definition.schedule]
      const ticks = new Set(rules.flatMap((rule) => this.#ticks(rule, definition)))
      return [...ticks].filter((tick) => tick >= starts && tick <= ends).sort((a, b) => a - b)
    })
  }

  /** Of one rule, in the whole window: many jobs share it. */
  #ticks(rule, definition) {
    const source = this.#sourceOf(rule, definition)
    const key = JSON.stringify([source, definition.exclude])
    const known = this.#memo.get(key)
    if (known !== undefined) return known
    const names = (definition.exclude ?? []).filter((entry) => entry in this.calendars)
    const blackouts = names.flatMap((name) => this.calendars[name].blackouts ?? [])
    const isDark = (tick) =>
      blackouts.some(({ from, to }) => tick >= Date.parse(from) && tick < Date.parse(to))
    const ticks = oracleTicks(source, this.from, this.to).filter((tick) => !isDark(tick))
    this.#memo.set(key, ticks)
    return ticks
  }

  #sourceOf(schedule, { timezone = 'UTC', dst_gap, dst_overlap, on_excluded, anchor, exclude = [] }) {
    const dates = exclude.flatMap((entry) => this.calendars[entry]?.dates ?? [entry])
    return {
      schedule,
      timezone,
      // Only intervals look at it, and only where they name none of their own.
      anchor: /every/.test(JSON.stringify(schedule)) ? anchor : 0,
      dst_gap,
      dst_overlap,
      on_excluded,
      ...(dates.length > 0 ? { exclude: dates } : {}),
    }
  }
}
