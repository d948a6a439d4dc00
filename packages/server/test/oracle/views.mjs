// @ts-check
// What the wall clock showed around a window, and which instants a rule names in it under the documented policies.
import { partsOf } from './cron-matcher.mjs'
import { HOUR, MINUTE, readings, readWall, SECOND } from './wall-clock.mjs'

/** @typedef {import('./cron-matcher.mjs').CronMatcher} CronMatcher */
/** @typedef {import('./cron-matcher.mjs').WallParts} WallParts */
/**
 * @typedef {object} Policies
 * @property {'run_after' | 'skip'} [dst_gap]
 * @property {'first' | 'last' | 'both'} [dst_overlap]
 */
/**
 * @typedef {object} View everything the wall clock showed, and did not show, around a window
 * @property {number} from
 * @property {number} to
 * @property {{ wall: number, parts: WallParts, instants: number[] }[]} shown
 * @property {{ wall: number, parts: WallParts, at: number }[]} jumped wall readings
 *   that no instant has, each with the instant at which the clock jumped over it
 */

/** No zone has set its clock by more than a day since 1970: what is shown twice is shown twice within this. */
const MARGIN = 25 * HOUR

const VIEWS_KEPT = 12
/** @type {Map<string, View>} */
const views = new Map()

/**
 * @param {string} zone
 * @param {number} from
 * @param {number} to
 * @param {boolean} [bySeconds]
 */
export function lookAround(zone, from, to, bySeconds = false) {
  const key = `${zone} ${from} ${to} ${bySeconds}`
  const view = views.get(key) ?? look(zone, from, to, bySeconds)
  views.delete(key)
  views.set(key, view)
  for (const oldest of views.keys()) if (views.size > VIEWS_KEPT) views.delete(oldest)
  return view
}

/**
 * @param {string} zone
 * @param {number} from
 * @param {number} to
 * @param {boolean} bySeconds
 * @returns {View}
 */
function look(zone, from, to, bySeconds) {
  const step = bySeconds || !minutesAreEnough(zone, from, to) ? SECOND : MINUTE
  // Seconds are many: they are read no further around than the widest jump nearby can reach.
  const margin = step === MINUTE ? MARGIN : HOUR + widestJump(zone, from, to)
  const { first, walls } = readings(zone, from - margin, to + margin, step)
  /** @type {Map<number, number[]>} */
  const instantsOf = new Map()
  walls.forEach((wall, i) => {
    const instants = instantsOf.get(wall)
    if (instants) instants.push(first + i * step)
    else instantsOf.set(wall, [first + i * step])
  })
  const jumped = []
  for (let i = 1; i < walls.length; i++) {
    const reached = Number(walls[i])
    for (let wall = Number(walls[i - 1]) + step; wall < reached; wall += step) {
      if (!instantsOf.has(wall)) jumped.push({ wall, parts: partsOf(wall), at: first + i * step })
    }
  }
  const shown = [...instantsOf].map(([wall, instants]) => ({ wall, parts: partsOf(wall), instants }))
  return { from, to, shown, jumped }
}

/**
 * @param {string} zone
 * @param {number} from
 * @param {number} to
 */
function widestJump(zone, from, to) {
  const { walls } = readings(zone, from - MARGIN, to + MARGIN, MINUTE)
  return walls.reduce((widest, wall, i) => {
    return i === 0 ? 0 : Math.max(widest, Math.abs(wall - Number(walls[i - 1]) - MINUTE))
  }, 0)
}

/**
 * Whether the wall shows whole minutes at whole minutes of UTC, and jumps only there.
 * @param {string} zone
 * @param {number} from
 * @param {number} to
 */
function minutesAreEnough(zone, from, to) {
  const { first, walls } = readings(zone, from - MARGIN, to + MARGIN, MINUTE)
  return walls.every((wall, i) => {
    if (wall % MINUTE !== 0) return false
    const jumps = i > 0 && wall - Number(walls[i - 1]) !== MINUTE
    return !jumps || readWall(zone, first + i * MINUTE - SECOND) === Number(walls[i - 1]) + MINUTE - SECOND
  })
}

/**
 * The ticks of a rule, each with the wall time that names it.
 * @param {View} view
 * @param {CronMatcher} rule
 * @param {Policies} policies
 */
export function namedTicks(view, rule, policies) {
  const named = []
  for (const { wall, parts, instants } of view.shown) {
    if (!rule.matches(parts)) continue
    const kept = rule.everyHour ? instants : chosen(instants, policies.dst_overlap ?? 'first')
    named.push(...kept.map((tick) => ({ tick, wall })))
  }
  if (!rule.everyHour && (policies.dst_gap ?? 'run_after') === 'run_after') {
    for (const { wall, parts, at } of view.jumped) if (rule.matches(parts)) named.push({ tick: at, wall })
  }
  return named
}

/**
 * The ticks of a rule in the view's window.
 * @param {View} view
 * @param {CronMatcher} rule
 * @param {Policies} policies
 */
export function cronTicks(view, rule, policies) {
  const ticks = new Set(namedTicks(view, rule, policies).map(({ tick }) => tick))
  return within(ticks, view.from, view.to)
}

/**
 * @param {number[]} instants
 * @param {'first' | 'last' | 'both'} overlap
 */
function chosen(instants, overlap) {
  if (overlap === 'both') return instants
  return overlap === 'first' ? instants.slice(0, 1) : instants.slice(-1)
}

/**
 * Wall times that the rule names in the window and that `dst_gap: skip` drops.
 * @param {View} view
 * @param {CronMatcher} rule
 */
export function cronDropped(view, rule) {
  if (rule.everyHour) return []
  return view.jumped
    .filter(({ parts, at }) => rule.matches(parts) && at >= view.from && at <= view.to)
    .map(({ wall, at }) => ({ wall, at }))
}

/**
 * @param {Iterable<number>} ticks
 * @param {number} from
 * @param {number} to
 */
export function within(ticks, from, to) {
  return [...ticks].filter((tick) => tick >= from && tick <= to).sort((a, b) => a - b)
}
