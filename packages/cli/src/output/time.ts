import type { Look } from './look.js'
import { visible } from './visible.js'

const secondMs = 1_000

/** An instant as a person reads it, for a column whose title names the zone: local time, and how far away it is. */
export function when(iso: string | null, look: Look): string {
  return shown(iso, look, '')
}

/** The same with the zone beside it. */
export function whenInZone(iso: string | null, look: Look): string {
  return shown(iso, look, ` ${look.timeZone}`)
}

function shown(iso: string | null, look: Look, zone: string): string {
  if (iso === null) return '–'
  const at = new Date(iso)
  if (Number.isNaN(at.getTime())) return visible(iso)
  return `${localTime(at, look.timeZone)}${zone} (${relative(at.getTime() - look.now.getTime())})`
}

/** 2026-12-01 09:00:00: the Swedish way of writing it is the one that sorts. */
export function localTime(at: Date, timeZone: string): string {
  return new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'medium', timeZone }).format(at)
}

/** "in 3 min", "2 h ago", "now". */
export function relative(ms: number): string {
  const text = roughly(Math.abs(ms))
  if (text === null) return 'now'
  return ms > 0 ? `in ${text}` : `${text} ago`
}

/** Rounded before the unit is chosen, so that 59.9 s are a minute and never 60 s. */
function roughly(ms: number): string | null {
  const seconds = Math.round(ms / secondMs)
  if (seconds === 0) return null
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.round(seconds / 60)
  if (minutes < 60) return `${minutes} min`
  // Never more than there is: "in 5 h" beside "4 h 36 min" would be another time.
  const hours = Math.floor(minutes / 60)
  if (hours < 10 && minutes % 60 > 0) return `${hours} h ${minutes % 60} min`
  if (hours < 48) return `${hours} h`
  const days = Math.round(hours / 24)
  return days < 730 ? `${days} d` : `${Math.round(days / 365.25)} y`
}

/** How long something took: "12 ms", "1.4 s", "3 min 20 s", "2 h 5 min". */
export function duration(ms: number): string {
  if (ms < secondMs) return `${Math.round(ms)} ms`
  if (ms < 59_950) return `${(ms / secondMs).toFixed(1)} s`
  const seconds = Math.round(ms / secondMs)
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}
