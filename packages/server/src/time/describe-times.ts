import { clockText, listText } from './iso-text.js'
import { ordinal, type Pattern, patternOf } from './number-words.js'

export interface TimesWords {
  /** "At 02:30", "Every 5 minutes". */
  readonly text: string
  /** Whether it says times of a day, so that "every day" has to be said; not so for "Every 5 minutes". */
  readonly ofDay: boolean
}

interface TimeFields {
  readonly hours: readonly number[]
  readonly minutes: readonly number[]
  readonly seconds: readonly number[]
}

/** So many times are told one by one. */
const mostTold = 6

const clock = (hour: number, minute: number, second = 0) =>
  clockText(((hour * 60 + minute) * 60 + second) * 1000)

/** Times of a day in words: every combination of some hours, minutes and seconds, each ascending. */
export function timesWords(fields: TimeFields): TimesWords {
  const { hours, minutes, seconds } = fields
  if (seconds.length === 1 && seconds[0] === 0) return minuteTimes(fields)
  const size = hours.length * minutes.length * seconds.length
  if (size <= mostTold) return { text: `At ${tell(fields)}`, ofDay: true }
  const secondPattern = patternOf(seconds, 0, 60)
  const everyMinute = minutes.length === 60
  const everyHour = hours.length === 24
  const often = every(secondPattern, 'second', 60)
  const begin = often ?? `At ${units('second', secondPattern)}`
  if (everyMinute && everyHour)
    return { text: often ?? `Every minute at ${units('second', secondPattern)}`, ofDay: false }
  const inMinutes = everyMinute ? 'every minute' : units('minute', patternOf(minutes, 0, 60))
  const inHours = everyHour ? 'every hour' : units('hour', patternOf(hours, 0, 24))
  return { text: `${begin} in ${inMinutes} of ${inHours}`, ofDay: !everyHour }
}

function tell({ hours, minutes, seconds }: TimeFields): string {
  const times = hours.flatMap((hour) =>
    minutes.flatMap((minute) => seconds.map((second) => clock(hour, minute, second))),
  )
  return listText(times)
}

/** Times at full minutes. */
function minuteTimes(fields: TimeFields): TimesWords {
  const { hours, minutes } = fields
  const pattern = patternOf(minutes, 0, 60)
  const often = every(pattern, 'minute', 60)
  if (hours.length === 24) return { text: hourly(pattern, often), ofDay: false }
  const hourPattern = patternOf(hours, 0, 24)
  if (often !== null) return { text: `${often} ${during(hourPattern, minutes.at(-1) ?? 0)}`, ofDay: true }
  if (pattern.kind === 'one') {
    const text = oncePerHour(hourPattern, pattern.value, hours.length)
    if (text !== null) return { text, ofDay: !text.startsWith('Every') || hourPattern.kind !== 'step' }
  }
  if (hours.length * minutes.length <= mostTold) return { text: `At ${tell(fields)}`, ofDay: true }
  return { text: `At ${units('minute', pattern)} of ${units('hour', hourPattern)}`, ofDay: true }
}

function hourly(minutes: Pattern, often: string | null): string {
  if (often !== null) return often
  if (minutes.kind === 'one' && minutes.value === 0) return 'Every hour'
  if (minutes.kind === 'one') return `Every hour at ${units('minute', minutes)}`
  return `At ${units('minute', minutes)} of every hour`
}

function oncePerHour(hours: Pattern, minute: number, count: number): string | null {
  if (hours.kind === 'step' && 24 % hours.by === 0 && count > 2) {
    return `Every ${hours.by} hours${minute === 0 ? '' : ` at minute ${minute}`}`
  }
  if (hours.kind !== 'range') return null
  return `Every hour from ${clock(hours.first, minute)} to ${clock(hours.last, minute)}`
}

/** "Every 5 minutes", where they are evenly spread over the whole hour or minute. */
function every(pattern: Pattern, unit: string, size: number): string | null {
  if (pattern.kind === 'all') return `Every ${unit}`
  return pattern.kind === 'step' && size % pattern.by === 0 ? `Every ${pattern.by} ${unit}s` : null
}

function during(hours: Pattern, lastMinute: number): string {
  if (hours.kind === 'one') return `from ${clock(hours.value, 0)} to ${clock(hours.value, lastMinute)}`
  if (hours.kind === 'range') return `from ${clock(hours.first, 0)} to ${clock(hours.last, lastMinute)}`
  return `in ${units('hour', hours)}`
}

/** "minute 5", "minutes 0 to 10", "minutes 5, 10 and 40", "every 7th minute". */
function units(unit: string, pattern: Pattern): string {
  switch (pattern.kind) {
    case 'all':
      return `every ${unit}`
    case 'one':
      return `${unit} ${pattern.value}`
    case 'step':
      return `every ${ordinal(pattern.by)} ${unit}`
    case 'range':
      return `${unit}s ${pattern.first} to ${pattern.last}`
    case 'list':
      return `${unit}s ${listText(pattern.values.map(String))}`
  }
}
