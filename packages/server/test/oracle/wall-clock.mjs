// @ts-check
// What the clock on the wall shows, asked of Intl instant by instant. Nothing here knows what an offset is: gaps and
// overlaps are found only by looking at consecutive readings, as a person with a notebook would.

export const SECOND = 1000
export const MINUTE = 60_000
export const HOUR = 3_600_000
export const DAY = 86_400_000

/** @type {Map<string, Intl.DateTimeFormat>} */
const formats = new Map()

/** @param {string} zone */
function formatOf(zone) {
  let format = formats.get(zone)
  if (!format) {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
    })
    formats.set(zone, format)
  }
  return format
}

/**
 * The wall reading at an instant, written as if it were UTC.
 * @param {string} zone
 * @param {number} instant
 */
export function readWall(zone, instant) {
  const text = formatOf(zone).format(instant) // 10/25/2026, 02:30:00
  const year = 100 * twoDigits(text, 6) + twoDigits(text, 8)
  const [month, day] = [twoDigits(text, 0), twoDigits(text, 3)]
  return Date.UTC(year, month - 1, day, twoDigits(text, 12), twoDigits(text, 15), twoDigits(text, 18))
}

/**
 * @param {string} text
 * @param {number} at
 */
function twoDigits(text, at) {
  return 10 * text.charCodeAt(at) + text.charCodeAt(at + 1) - 528
}

/** Readings are kept a chunk at a time, because tests ask about the same hours again and again. */
const READINGS_PER_CHUNK = 720
const CHUNKS_KEPT = 20_000
/** @type {Map<string, Float64Array>} */
const chunks = new Map()

/**
 * @param {string} zone
 * @param {number} step
 * @param {number} index
 */
function chunkOf(zone, step, index) {
  const key = `${zone} ${step} ${index}`
  let chunk = chunks.get(key)
  if (!chunk) {
    if (chunks.size >= CHUNKS_KEPT) chunks.clear()
    const start = index * READINGS_PER_CHUNK * step
    chunk = Float64Array.from({ length: READINGS_PER_CHUNK }, (_, i) => readWall(zone, start + i * step))
    chunks.set(key, chunk)
  }
  return chunk
}

/**
 * One wall reading per step, for every instant of the range that is a multiple of the step.
 * @param {string} zone
 * @param {number} from
 * @param {number} to
 * @param {number} step
 */
export function readings(zone, from, to, step) {
  const first = Math.ceil(from / step)
  const last = Math.floor(to / step)
  const walls = new Float64Array(Math.max(0, last - first + 1))
  for (let number = first; number <= last; ) {
    const index = Math.floor(number / READINGS_PER_CHUNK)
    const end = Math.min(last + 1, (index + 1) * READINGS_PER_CHUNK)
    const start = index * READINGS_PER_CHUNK
    walls.set(chunkOf(zone, step, index).subarray(number - start, end - start), number - first)
    number = end
  }
  return { first: first * step, walls }
}

/**
 * @typedef {object} Transition
 * @property {number} at the first instant with the new reading
 * @property {number} before what the wall would have shown at that instant, had nothing changed
 * @property {number} after what it shows
 */

/**
 * Every jump of the wall clock in a range. Two jumps that cancel out within one step would be overlooked.
 * @param {string} zone
 * @param {number} from
 * @param {number} to
 * @param {number} [step]
 * @returns {Transition[]}
 */
export function transitions(zone, from, to, step = HOUR) {
  const found = []
  let previous = readWall(zone, from)
  for (let at = from + step; at <= to; at += step) {
    const wall = readWall(zone, at)
    if (wall - previous !== step) found.push(locate(zone, at - step, at))
    previous = wall
  }
  return found
}

/**
 * @param {string} zone
 * @param {number} low an instant before the jump
 * @param {number} high an instant after it
 */
function locate(zone, low, high) {
  const ahead = readWall(zone, low) - low
  while (high - low > SECOND) {
    const middle = low + Math.floor((high - low) / 2 / SECOND) * SECOND
    if (readWall(zone, middle) - middle === ahead) low = middle
    else high = middle
  }
  return { at: high, before: high + ahead, after: readWall(zone, high) }
}
