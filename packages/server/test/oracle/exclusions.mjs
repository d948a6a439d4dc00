// @ts-check
// Excluded dates, and ticks that move to a business day: a day from Monday to Friday that is not excluded itself.
import { lookAround, namedTicks, within } from './views.mjs'
import { DAY, readWall } from './wall-clock.mjs'

/** @typedef {import('./oracle.mjs').OracleSource} OracleSource */

/** How far away a business day is looked for: further than any exclusion that the tests draw. */
const FURTHEST = 12

/**
 * A date is what the wall shows in the schedule's zone when the tick comes.
 * @param {OracleSource} source
 * @param {number} tick
 */
export function isExcluded(source, tick) {
  return source.exclude !== undefined && isExcludedDate(source, readWall(source.timezone, tick))
}

/**
 * @param {OracleSource} source
 * @param {number} wall
 */
function isExcludedDate(source, wall) {
  const date = new Date(wall).toISOString().slice(0, 10)
  return (source.exclude ?? []).some((entry) => {
    const [first = '', last = first] = entry.split('/')
    return first <= date && date <= last
  })
}

/**
 * The ticks of a rule whose excluded ones move to a business day, at the time of day that the rule names.
 * @param {OracleSource} source
 * @param {import('./cron-matcher.mjs').CronMatcher} rule
 * @param {number} from
 * @param {number} to
 */
export function movedTicks(source, rule, from, to) {
  const wide = lookAround(source.timezone, from - FURTHEST * DAY, to + FURTHEST * DAY)
  const named = namedTicks(wide, rule, source)
  const stay = named.filter(({ tick }) => !isExcluded(source, tick)).map(({ tick }) => tick)
  const goal = new Set(
    named
      .filter(({ tick }) => isExcluded(source, tick))
      .map(({ tick, wall }) => businessDay(source, readWall(source.timezone, tick)) + timeOfDay(wall)),
  )
  const moved = namedTicks(wide, { ...rule, matches: ({ wall }) => goal.has(wall) }, source)
  return within(new Set([...stay, ...moved.map(({ tick }) => tick)]), from, to)
}

/** @param {number} wall */
const timeOfDay = (wall) => wall % DAY

/**
 * The date, as a wall reading at midnight, that a tick of an excluded date moves to.
 * @param {OracleSource} source
 * @param {number} wall
 */
function businessDay(source, wall) {
  const direction = source.on_excluded === 'next_business_day' ? DAY : -DAY
  let date = wall - timeOfDay(wall)
  for (let days = 0; days <= FURTHEST; days++, date += direction) {
    const weekday = new Date(date).getUTCDay()
    if (weekday !== 0 && weekday !== 6 && !isExcludedDate(source, date)) return date
  }
  throw new Error(`no business day within ${FURTHEST} days of ${new Date(wall).toISOString()}`)
}
