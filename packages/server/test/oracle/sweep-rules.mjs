// @ts-check
// The fixed rules that the sweep asks around every clock change: hourly ones, and ones that name the very minutes,
// hours and dates at which the clock of that zone jumps.
import { cronMatcher, partsOf } from './cron-matcher.mjs'
import { HOUR, MINUTE } from './wall-clock.mjs'

const weekdays = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT']

/**
 * @param {import('./wall-clock.mjs').Transition} transition
 * @returns {{ text: string, matcher: import('./cron-matcher.mjs').CronMatcher }[]}
 */
export function rulesAround({ before, after }) {
  // Whether these wall times are jumped over or shown twice, they are the ones in question.
  const first = floor(Math.min(before, after))
  const end = floor(Math.max(before, after))
  const middle = floor((first + end) / 2)
  const { day, month, weekday, lastDay } = partsOf(middle)
  const name = weekdays[weekday]
  const tomorrow = weekdays[(weekday + 1) % 7]
  const texts = [
    '0 * * * *',
    '*/30 * * * *',
    '17 */1 * * *',
    `${at(first)} * * *`,
    `${at(middle)} * * *`,
    `${at(end - MINUTE)} * * *`,
    `${at(end)} * * *`,
    `${at(first - MINUTE)} * * *`,
    '0 0 * * *',
    '59 23 * * *',
    `*/15 ${partsOf(first).hour} * * *`,
    `* ${partsOf(middle).hour} * * *`,
    `0 ${partsOf(first).hour},${partsOf(end).hour},${partsOf(end + 3 * HOUR).hour} * * *`,
    '*/20 */2 * * *',
    '15,45 22-4 * * *',
    `${at(middle)} ${day} ${month} *`,
    `${at(middle)} ${day}W * *`,
    `${at(middle)} L,L-${lastDay - day} * ?`,
    `${at(middle)} LW * ${name}`,
    `${at(middle)} ? * ${name}#${Math.ceil(day / 7)},${name}L`,
    `${at(first)} ${day} * +${name}`,
    `${at(end - MINUTE)} 1-7 * ${name}-${tomorrow}`,
  ]
  return texts.map((text) => ({ text, matcher: cronMatcher(text) }))
}

/** @param {number} wall */
const floor = (wall) => Math.floor(wall / MINUTE) * MINUTE

/** Minute and hour of a wall reading, as cron writes them. @param {number} wall */
function at(wall) {
  const { minute, hour } = partsOf(wall)
  return `${minute} ${hour}`
}
