// @ts-check
// Puts every question of the engine's interface beside the oracle's list of ticks.

/**
 * @typedef {object} Answering
 * @property {(after: number) => number | null} next
 * @property {(atOrBefore: number) => number | null} prev
 * @property {(from: number, to: number) => number} count
 */

/**
 * What the engine says otherwise than the oracle about the window, or null.
 * @param {Answering} schedule
 * @param {readonly number[]} expected every tick of the window, rising
 * @param {number} from
 * @param {number} to
 * @param {readonly number[]} [probes] instants of the window at which each question is asked besides
 */
export function disagreement(schedule, expected, from, to, probes = []) {
  const forward = walk(
    (at) => schedule.next(at),
    from - 1,
    1,
    expected.length,
    (tick) => tick > to,
  )
  if (!same(forward, expected)) return `next: ${list(forward)} instead of ${list(expected)}`
  const descending = expected.toReversed()
  const back = walk(
    (at) => schedule.prev(at),
    to,
    -1,
    expected.length,
    (tick) => tick < from,
  )
  if (!same(back, descending)) return `prev: ${list(back)} instead of ${list(descending)}`
  const counted = schedule.count(from, to)
  if (counted !== expected.length) return `count: ${counted} instead of ${expected.length}`
  for (const probe of probes) {
    const difference = differenceAt(schedule, expected, from, to, probe)
    if (difference) return `at ${text(probe)}, ${difference}`
  }
  return null
}

/**
 * @param {Answering} schedule
 * @param {readonly number[]} expected
 * @param {number} from
 * @param {number} to
 * @param {number} probe
 */
function differenceAt(schedule, expected, from, to, probe) {
  const next = expected.find((tick) => tick > probe)
  const said = schedule.next(probe)
  if (next === undefined ? said !== null && said <= to : said !== next) return `next: ${text(said)}`
  const prev = expected.findLast((tick) => tick <= probe)
  const saidBefore = schedule.prev(probe)
  if (prev === undefined ? saidBefore !== null && saidBefore >= from : saidBefore !== prev) {
    return `prev: ${text(saidBefore)}`
  }
  const upTo = expected.filter((tick) => tick <= probe).length
  const counted = schedule.count(from, probe)
  if (counted !== upTo) return `count up to it: ${counted} instead of ${upTo}`
  const onward = expected.filter((tick) => tick >= probe).length
  const countedOn = schedule.count(probe, to)
  return countedOn === onward ? null : `count from it on: ${countedOn} instead of ${onward}`
}

/**
 * Asks again and again from the last answer on, a few answers past the expected number at most.
 * @param {(at: number) => number | null} ask
 * @param {number} start
 * @param {1 | -1} direction
 * @param {number} expected
 * @param {(tick: number) => boolean} isOutside
 */
function walk(ask, start, direction, expected, isOutside) {
  const answers = []
  let tick = ask(start)
  while (tick !== null && !isOutside(tick) && answers.length < expected + 3) {
    answers.push(tick)
    tick = ask(direction === 1 ? tick : tick - 1)
  }
  return answers
}

/**
 * @param {readonly number[]} a
 * @param {readonly number[]} b
 */
function same(a, b) {
  return a.length === b.length && a.every((tick, i) => tick === b[i])
}

/** The first ticks are enough to see what is wrong. @param {readonly number[]} ticks */
function list(ticks) {
  const shown = ticks.slice(0, 12).map(text).join(' ')
  return `[${shown}${ticks.length > 12 ? ` … ${ticks.length} in all` : ''}]`
}

/** @param {number | null | undefined} instant */
export function text(instant) {
  return instant == null ? String(instant) : new Date(instant).toISOString().replace('.000Z', 'Z')
}
