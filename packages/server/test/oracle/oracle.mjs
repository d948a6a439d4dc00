// @ts-check
// The oracle: what the ticks of a schedule are, found by brute force. It reads the wall clock at every minute (every
// second where a rule or a zone asks for it) and applies the documented policies to the letter. It shares no code
// with the engine it judges.
import { cronMatcher } from './cron-matcher.mjs'
import { isExcluded, movedTicks } from './exclusions.mjs'
import { rruleMatcher } from './rrule-matcher.mjs'
import { cronTicks, lookAround, within } from './views.mjs'
import { DAY, HOUR, MINUTE, SECOND } from './wall-clock.mjs'

/** @typedef {{ cron: string, day_match?: 'or' | 'and' } | { every: string | number, anchor?: string } | { at: string } | { rrule: string, dtstart: string }} OracleRule */
/**
 * @typedef {object} OracleSource
 * @property {string | OracleRule | (string | OracleRule)[]} schedule
 * @property {string} timezone
 * @property {number} anchor
 * @property {'run_after' | 'skip'} [dst_gap]
 * @property {'first' | 'last' | 'both'} [dst_overlap]
 * @property {string[]} [exclude] dates and ranges of dates
 * @property {'exclude' | 'next_business_day' | 'previous_business_day'} [on_excluded]
 * @property {string} [starts_at]
 * @property {string} [ends_at]
 */
/**
 * Every tick t of a schedule with from <= t <= to.
 * @param {OracleSource} source
 * @param {number} from
 * @param {number} to
 */
export function oracleTicks(source, from, to) {
  const rules = Array.isArray(source.schedule) ? source.schedule : [source.schedule]
  const ticks = new Set(rules.flatMap((rule) => ruleTicks(rule, source, from, to)))
  const starts = source.starts_at === undefined ? -Infinity : Date.parse(source.starts_at)
  const ends = source.ends_at === undefined ? Infinity : Date.parse(source.ends_at)
  return within(ticks, from, to).filter((tick) => tick >= starts && tick < ends)
}

/**
 * @param {string | OracleRule} rule
 * @param {OracleSource} source
 * @param {number} from
 * @param {number} to
 */
function ruleTicks(rule, source, from, to) {
  const object = typeof rule === 'string' ? fromText(rule) : rule
  const keep = (/** @type {number} */ tick) => !isExcluded(source, tick)
  if ('every' in object) {
    const anchor = object.anchor === undefined ? source.anchor : Date.parse(object.anchor)
    return intervalTicks(milliseconds(object.every), anchor, from, to).filter(keep)
  }
  if ('at' in object) return onceTicks(object.at, source, from, to).filter(keep)
  const matcher =
    'rrule' in object
      ? rruleMatcher(object.rrule, object.dtstart)
      : cronMatcher(object.cron, object.day_match)
  if (source.exclude && source.on_excluded && source.on_excluded !== 'exclude') {
    return movedTicks(source, matcher, from, to)
  }
  return cronTicks(lookAround(source.timezone, from, to, matcher.hasSeconds), matcher, source).filter(keep)
}

/** @param {string} text @returns {OracleRule} */
function fromText(text) {
  if (/^@every\s/i.test(text)) return { every: text.slice(6).trim() }
  return /^\d{4}-\d\d-\d\dT/.test(text) ? { at: text } : { cron: text }
}

/**
 * An instant with an offset is itself; a local time is a fixed time like any other.
 * @param {string} at
 * @param {OracleSource} source
 * @param {number} from
 * @param {number} to
 */
function onceTicks(at, source, from, to) {
  if (/(Z|[+-]\d\d:?\d\d)$/i.test(at)) return within([Date.parse(at)], from, to)
  const wall = Date.parse(`${at}Z`)
  const matches = (/** @type {import('./cron-matcher.mjs').WallParts} */ parts) => parts.wall === wall
  const view = lookAround(source.timezone, from, to, wall % MINUTE !== 0)
  return cronTicks(view, { matches, everyHour: false, hasSeconds: true }, source)
}

/**
 * Elapsed time from the anchor; the anchor itself is not a tick.
 * @param {number} period
 * @param {number} anchor
 * @param {number} from
 * @param {number} to
 */
export function intervalTicks(period, anchor, from, to) {
  const ticks = []
  for (let tick = anchor + period; tick <= to; tick += period) if (tick >= from) ticks.push(tick)
  return ticks
}

/** @param {string | number} every */
function milliseconds(every) {
  if (typeof every === 'number') return every * SECOND
  const units = new Map([
    ['s', SECOND],
    ['m', MINUTE],
    ['h', HOUR],
    ['d', DAY],
  ])
  let total = 0
  for (const [, amount, unit] of every.toLowerCase().matchAll(/(\d+)([smhd])/g)) {
    total += Number(amount) * Number(units.get(String(unit)))
  }
  return total
}
