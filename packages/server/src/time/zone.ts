import { BoundedCache } from './bounded-cache.js'
import { nearest } from './nearest.js'
import { controlCharacter, quote, refusal } from './refusal.js'

const hour = 3_600_000
const longestZoneName = 64

/** A wall-clock reading; month and day count from 1. */
export interface WallClock {
  year: number
  month: number
  day: number
  hour: number
  minute: number
  second: number
}

// There are about 600 zones and a formatter holds tens of kilobytes.
const formatters = new BoundedCache<Intl.DateTimeFormat>(128)

function formatterOf(zone: string): Intl.DateTimeFormat {
  return formatters.getOrMake(
    zone,
    () =>
      new Intl.DateTimeFormat('en-US', {
        timeZone: zone,
        calendar: 'gregory',
        numberingSystem: 'latn',
        hourCycle: 'h23',
        year: 'numeric',
        month: 'numeric',
        day: 'numeric',
        hour: 'numeric',
        minute: 'numeric',
        second: 'numeric',
      }),
  )
}

/** What the clocks of `zone` show at `instant`. */
export function wallClockAt(instant: number, zone: string): WallClock {
  const shown: WallClock = { year: 0, month: 0, day: 0, hour: 0, minute: 0, second: 0 }
  for (const part of formatterOf(zone).formatToParts(instant)) {
    if (part.type in shown) shown[part.type as keyof WallClock] = Number(part.value)
  }
  return shown
}

function wallClockAsUtc(clock: WallClock): number {
  return Date.UTC(clock.year, clock.month - 1, clock.day, clock.hour, clock.minute, clock.second)
}

/** How far the clocks of `zone` are ahead of UTC at `instant`, in milliseconds. */
export function offsetAt(instant: number, zone: string): number {
  return wallClockAsUtc(wallClockAt(instant, zone)) - Math.floor(instant / 1000) * 1000
}

/**
 * The instant at which the clocks of `zone` show `local` (a wall-clock reading written as if it were UTC).
 * Shown twice: the first of both. Never shown, because clocks jump over it: the first instant after the jump.
 */
export function instantOfLocal(local: number, zone: string): number {
  // Offsets lie between -12 h and +14 h, so the instant is in this window, and one transition at most with it.
  let before = local - 15 * hour
  let after = local + 13 * hour
  const candidates = [local - offsetAt(before, zone), local - offsetAt(after, zone)]
  const shown = candidates.filter((instant) => instant + offsetAt(instant, zone) === local)
  if (shown.length > 0) return Math.min(...shown)
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2)
    if (middle + offsetAt(middle, zone) > local) after = middle
    else before = middle
  }
  return after
}

// Names in common use that Intl takes but does not list, since it lists one name for each zone.
const aliases = [
  'UTC',
  'GMT',
  'US/Eastern',
  'US/Central',
  'US/Mountain',
  'US/Pacific',
  'US/Alaska',
  'US/Hawaii',
  'US/Arizona',
  'Canada/Eastern',
  'Canada/Pacific',
  'Asia/Kolkata',
  'Asia/Ho_Chi_Minh',
  'Asia/Kathmandu',
  'Asia/Yangon',
  'Europe/Kyiv',
  'America/Argentina/Buenos_Aires',
  'America/Indiana/Indianapolis',
  'Atlantic/Faroe',
]

function isKnownZone(zone: string): boolean {
  // Newer engines take "+01:00" as a zone and older ones do not: a job must mean the same on every node.
  if (!/^[A-Za-z]/.test(zone)) return false
  try {
    formatterOf(zone)
    return true
  } catch {
    return false
  }
}

function suggestZone(zone: string): string | null {
  const wanted = zone.trim().replaceAll(' ', '_')
  // Abbreviations are ambiguous (IST, CST): the nearest of them would be a guess.
  if (wanted.length < 5) return nearest(wanted, ['UTC', 'GMT'])
  const names = [...Intl.supportedValuesOf('timeZone'), ...aliases]
  const found = nearest(wanted, names, (name) => [name, name.slice(name.lastIndexOf('/') + 1)])
  return found !== null && isKnownZone(found) ? found : null
}

/** Throws invalid_timezone, with the nearest known name, unless `zone` is one that Intl knows. */
export function checkZone(zone: string): void {
  if (zone.length <= longestZoneName && !controlCharacter.test(zone) && isKnownZone(zone)) return
  const generic = 'Use an IANA name such as "Europe/Madrid" or "UTC".'
  const tooLong = zone.length > longestZoneName
  const suggestion = tooLong ? null : suggestZone(zone)
  throw refusal(
    'invalid_timezone',
    '/timezone',
    tooLong
      ? `The time zone has ${zone.length} characters; no zone name is longer than ${longestZoneName}.`
      : `${quote(zone)} is not a known time zone.`,
    suggestion === null ? generic : `Did you mean "${suggestion}"? ${generic}`,
  )
}
