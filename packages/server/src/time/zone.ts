import { BoundedCache } from './bounded-cache.js'
import { nearest } from './nearest.js'
import { controlCharacter, quote, refusal } from './refusal.js'
import { timelineOf } from './timeline.js'

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

/** What the clocks of `zone` show at `instant`. */
export function wallClockAt(instant: number, zone: string): WallClock {
  const shown = new Date(instant + timelineOf(zone).offsetAt(instant))
  return {
    year: shown.getUTCFullYear(),
    month: shown.getUTCMonth() + 1,
    day: shown.getUTCDate(),
    hour: shown.getUTCHours(),
    minute: shown.getUTCMinutes(),
    second: shown.getUTCSeconds(),
  }
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

// Asking Intl takes a hundred times as long; there are many spellings, since case does not matter.
const knownZones = new BoundedCache<boolean>(2000)

function isKnownZone(zone: string): boolean {
  return knownZones.getOrMake(zone, () => {
    // Newer engines take "+01:00" as a zone and older ones do not: a job must mean the same on every node.
    if (!/^[A-Za-z]/.test(zone)) return false
    try {
      timelineOf(zone)
      return true
    } catch {
      return false
    }
  })
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
