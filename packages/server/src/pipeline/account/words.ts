import { timelineOf } from '../../time/timeline.js'
import { utcText } from '../../time/iso-text.js'

/** As every answer has instants. */
export const iso = utcText

export function isoOrNull(ms: number | null): string | null {
  return ms === null ? null : iso(ms)
}

/** For a sentence. */
export const utc = utcText

/** What the clocks of a zone show, with their offset: 2026-11-02T09:00:00+01:00. */
export function localTime(ms: number, zone: string): string {
  const offset = timelineOf(zone).offsetAt(ms)
  const wall = iso(ms + offset).replace(/Z$/, '')
  const minutes = Math.round(Math.abs(offset) / 60_000)
  const two = (value: number) => String(value).padStart(2, '0')
  return `${wall}${offset < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`
}

/** An error may bring its stack along; a sentence has room for what it says. */
export function firstLine(error: string): string {
  return (error.split('\n', 1)[0] ?? '').trimEnd()
}

/** How long, for a sentence: "12 ms", "1.4 s", "3 min 20 s", "2 h 5 min", "3 d 4 h". */
export function lasting(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 59_950) return `${(ms / 1_000).toFixed(1)} s`
  const seconds = Math.round(ms / 1_000)
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`
  const hours = Math.floor(minutes / 60)
  if (hours < 48) return `${hours} h ${minutes % 60} min`
  return `${Math.floor(hours / 24)} d ${hours % 24} h`
}
