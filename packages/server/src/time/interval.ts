import { quote, refusal } from './refusal.js'

const day = 86_400_000
/** A century: longer ones are typing errors, and stay far from what a number can hold exactly. */
const longestPeriod = 36_500 * day
const hint =
  'Write a duration of days, hours, minutes and seconds, largest first: "@every 90s", "@every 1h30m", "@every 1d".'

/** The period of a duration such as "1h30m" in milliseconds. Throws invalid_schedule about the field at `pointer`. */
export function parsePeriod(duration: string, pointer = '/schedule'): number {
  const match = /^(?:(\d{1,10})d)?(?:(\d{1,10})h)?(?:(\d{1,10})m)?(?:(\d{1,10})s)?$/i.exec(duration)
  if (duration === '' || match === null) {
    const why =
      duration === ''
        ? '@every has no duration.'
        : /^\d+(ms|us|µs|ns)$/i.test(duration)
          ? `${quote(duration)} is too fine: the smallest unit is the second.`
          : /^\d+$/.test(duration)
            ? `${quote(duration)} has no unit.`
            : `${quote(duration)} is not a duration.`
    throw refusal('invalid_schedule', pointer, why, hint)
  }
  const [days = 0, hours = 0, minutes = 0, seconds = 0] = match
    .slice(1, 5)
    .map((part?: string) => Number(part ?? 0))
  const period = days * day + hours * 3_600_000 + minutes * 60_000 + seconds * 1000
  if (period === 0) {
    throw refusal('invalid_schedule', pointer, `${quote(duration)} is no time at all.`, hint)
  }
  if (period > longestPeriod) {
    throw refusal('invalid_schedule', pointer, `${quote(duration)} is longer than 36500 days.`, hint)
  }
  return period
}

/** The period of a number of seconds in milliseconds. Throws invalid_schedule about the field at `pointer`. */
export function secondsPeriod(seconds: number, pointer: string): number {
  if (Number.isInteger(seconds) && seconds > 0 && seconds * 1000 <= longestPeriod) return seconds * 1000
  throw refusal(
    'invalid_schedule',
    pointer,
    `${seconds} is not a whole number of seconds from 1 to ${longestPeriod / 1000}.`,
    'Write whole seconds (300), or a duration ("5m").',
  )
}
