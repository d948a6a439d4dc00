// @ts-check
// Does a wall reading match a cron rule? Written from the documented grammar alone: each entry of a field becomes a
// question about a date, and the rule is the conjunction of its fields.

/**
 * @typedef {object} WallParts
 * @property {number} wall the reading itself
 * @property {number} second
 * @property {number} minute
 * @property {number} hour
 * @property {number} day
 * @property {number} month
 * @property {number} weekday 0 is Sunday
 * @property {number} lastDay of the month
 */
/** @typedef {(parts: WallParts) => boolean} Question */
/**
 * @typedef {object} CronMatcher
 * @property {Question} matches
 * @property {boolean} everyHour whether the hour field says "every hour": such a rule follows wall minutes
 * @property {boolean} hasSeconds
 */

const nicknames = new Map([
  ['@yearly', '0 0 1 1 *'],
  ['@annually', '0 0 1 1 *'],
  ['@monthly', '0 0 1 * *'],
  ['@weekly', '0 0 * * 0'],
  ['@daily', '0 0 * * *'],
  ['@midnight', '0 0 * * *'],
  ['@hourly', '0 * * * *'],
])
const months = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC']
const weekdays = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT']

/** @param {number} wall */
export function partsOf(wall) {
  const date = new Date(wall)
  return {
    wall,
    second: date.getUTCSeconds(),
    minute: date.getUTCMinutes(),
    hour: date.getUTCHours(),
    day: date.getUTCDate(),
    month: date.getUTCMonth() + 1,
    weekday: date.getUTCDay(),
    lastDay: lastDayOf(date.getUTCFullYear(), date.getUTCMonth() + 1),
  }
}

/**
 * @param {number} year
 * @param {number} month
 */
function lastDayOf(year, month) {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
}

/**
 * @param {string} rule
 * @param {'or' | 'and'} [dayMatch]
 * @returns {CronMatcher}
 */
export function cronMatcher(rule, dayMatch = 'or') {
  const written = nicknames.get(rule.trim().toLowerCase()) ?? rule
  const fields = written.trim().toUpperCase().split(/\s+/)
  const hasSeconds = fields.length === 6
  const [second, minute, hour, day, month, weekday] = hasSeconds ? fields : ['0', ...fields]
  if (!second || !minute || !hour || !day || !month || !weekday) throw new Error(`not a cron rule: ${rule}`)

  const inSecond = anyOf(second, (entry) => isAmong((parts) => parts.second, values(entry, 0, 59)))
  const inMinute = anyOf(minute, (entry) => isAmong((parts) => parts.minute, values(entry, 0, 59)))
  const inHour = anyOf(hour, (entry) => isAmong((parts) => parts.hour, values(entry, 0, 23)))
  const inMonth = anyOf(month, (entry) => isAmong((parts) => parts.month, values(entry, 1, 12, months)))
  const both = dayMatch === 'and' || weekday.startsWith('+')
  const onDate = dateQuestion(day, weekday.replace(/^\+/, ''), both)
  return {
    matches: (parts) =>
      inMinute(parts) && inHour(parts) && inSecond(parts) && inMonth(parts) && onDate(parts),
    everyHour: isEvery(hour),
    hasSeconds,
  }
}

/**
 * Both day fields restricted: either of them is enough, unless the rule asks for both.
 * @param {string} day
 * @param {string} weekday
 * @param {boolean} both
 * @returns {Question}
 */
function dateQuestion(day, weekday, both) {
  const onDay = anyOf(day, dayOfMonth)
  const onWeekday = anyOf(weekday, dayOfWeek)
  if (isEvery(day)) return onWeekday
  if (isEvery(weekday)) return onDay
  return both ? (parts) => onDay(parts) && onWeekday(parts) : (parts) => onDay(parts) || onWeekday(parts)
}

/** @param {string} field */
function isEvery(field) {
  return field === '*' || field === '?' || field === '*/1'
}

/**
 * @param {string} field
 * @param {(entry: string) => Question} read
 * @returns {Question}
 */
function anyOf(field, read) {
  const questions = field.split(',').map(read)
  return (parts) => questions.some((question) => question(parts))
}

/**
 * @param {(parts: WallParts) => number} part
 * @param {Set<number>} set
 * @returns {Question}
 */
function isAmong(part, set) {
  return (parts) => set.has(part(parts))
}

/**
 * @param {string} entry
 * @returns {Question}
 */
function dayOfMonth(entry) {
  if (entry === 'L') return (parts) => parts.day === parts.lastDay
  if (entry === 'LW') return (parts) => parts.day === nearestWorkday(parts, parts.lastDay)
  const beforeLast = /^L-(\d+)$/.exec(entry)
  if (beforeLast) return (parts) => parts.day === parts.lastDay - Number(beforeLast[1])
  const nearest = /^(\d+)W$/.exec(entry)
  if (nearest) return (parts) => parts.day === nearestWorkday(parts, Number(nearest[1]))
  return isAmong((parts) => parts.day, values(entry, 1, 31))
}

/**
 * The working day (Monday to Friday) nearest to a day, without leaving the month; none if the month is too short.
 * @param {WallParts} parts any day of the month
 * @param {number} day
 */
function nearestWorkday(parts, day) {
  if (day > parts.lastDay) return null
  const isWorkday = (/** @type {number} */ other) => {
    const weekday = (((parts.weekday + other - parts.day) % 7) + 7) % 7
    return other >= 1 && other <= parts.lastDay && weekday !== 0 && weekday !== 6
  }
  return [day, day - 1, day + 1, day - 2, day + 2].find(isWorkday) ?? null
}

/**
 * @param {string} entry
 * @returns {Question}
 */
function dayOfWeek(entry) {
  const nth = /^(\w+)#(\d)$/.exec(entry)
  if (nth) {
    const weekday = value(nth[1] ?? '', weekdays, 0) % 7
    return (parts) => parts.weekday === weekday && Math.ceil(parts.day / 7) === Number(nth[2])
  }
  const last = /^(\w+)L$/.exec(entry)
  if (last) {
    const weekday = value(last[1] ?? '', weekdays, 0) % 7
    return (parts) => parts.weekday === weekday && parts.day + 7 > parts.lastDay
  }
  const set = new Set([...weekdayValues(entry)].map((weekday) => weekday % 7))
  return isAmong((parts) => parts.weekday, set)
}

/** Sunday is 0 and 7: "5-7" runs to Sunday, "FRI-MON" runs over it. @param {string} entry */
function weekdayValues(entry) {
  return /-7\b/.test(entry) ? values(entry, 0, 7, weekdays) : values(entry.replace(/^7/, '0'), 0, 6, weekdays)
}

/**
 * The numbers an entry stands for: `*`, `5`, `5-9`, `22-2` (runs over the end), each with an optional `/step`.
 * @param {string} entry
 * @param {number} min
 * @param {number} max
 * @param {string[]} [names]
 */
function values(entry, min, max, names = []) {
  const [range = '', step] = entry.split('/')
  const [low = '', high] = range === '*' || range === '?' ? [String(min), String(max)] : range.split('-')
  const first = value(low, names, min)
  const last = high !== undefined ? value(high, names, min) : step === undefined ? first : max
  const all = []
  for (let number = first; ; number = number === max ? min : number + 1) {
    all.push(number)
    if (number === last) break
    if (all.length > 100) throw new Error(`not an entry of a cron field: ${entry}`)
  }
  return new Set(all.filter((_, index) => index % Number(step ?? 1) === 0))
}

/**
 * @param {string} text
 * @param {string[]} names
 * @param {number} min
 */
function value(text, names, min) {
  const number = names.includes(text) ? names.indexOf(text) + min : Number(text)
  if (text === '' || !Number.isInteger(number)) throw new Error(`not a value of a cron field: ${text}`)
  return number
}
