import { UsageError } from './usage.js'

const units: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 }

/** Whole seconds of "90s", "30m", "2h", "1d", "1w"; null where the text is no such time. */
export function secondsOf(text: string): number | null {
  const match = /^(\d{1,9})\s*([smhdw])$/.exec(text.trim())
  return match === null ? null : Number(match[1]) * (units[match[2] ?? ''] ?? 0)
}

/** A time that is required to be one. */
export function durationOf(flag: string, text: string): number {
  const seconds = secondsOf(text)
  if (seconds === null || seconds === 0)
    throw new UsageError(`${flag} is "${text}", and should be a time such as 90s, 30m, 2h or 1d.`)
  return seconds
}

/** An instant as it was given, or so long before now: "2h" is two hours ago. */
export function momentOf(text: string, now: Date): string {
  if (text === 'now') return now.toISOString()
  const seconds = secondsOf(text)
  return seconds === null ? text : new Date(now.getTime() - seconds * 1000).toISOString()
}

/** The same, where a date alone is its first moment: in the zone that the server reads a time without an offset in. */
export function dayOrMomentOf(text: string, now: Date): string {
  const given = text.trim()
  return /^\d{4}-\d{2}-\d{2}$/.test(given) ? `${given}T00:00` : momentOf(given, now)
}
