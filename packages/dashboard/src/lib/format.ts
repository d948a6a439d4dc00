/** How the pages write numbers, times and durations. Everything here is pure. */

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

/** 840 ms, 1.2 s, 45 s, 3 m 20 s, 2 h 5 m, 3 d 4 h. */
export function duration(ms: number): string {
  const size = Math.abs(ms)
  const sign = ms < 0 ? '−' : ''
  if (size < 1_000) return `${sign}${Math.round(size)} ms`
  if (size < 10_000) return `${sign}${(size / 1_000).toFixed(1)} s`
  if (size < minute) return `${sign}${Math.floor(size / 1_000)} s`
  if (size < hour) return sign + two(size, minute, 'm', 1_000, 's')
  if (size < day) return sign + two(size, hour, 'h', minute, 'm')
  return sign + two(size, day, 'd', hour, 'h')
}

function two(size: number, large: number, largeName: string, small: number, smallName: string): string {
  const rest = Math.floor((size % large) / small)
  return `${Math.floor(size / large)} ${largeName}${rest > 0 ? ` ${rest} ${smallName}` : ''}`
}

/** "in 4 s", "3 m ago", "now". One unit: it is read at a glance. */
export function relative(at: number, now: number): string {
  const size = Math.abs(at - now)
  if (size < 1_000) return 'now'
  const words =
    size < minute
      ? `${Math.floor(size / 1_000)} s`
      : size < hour
        ? `${Math.floor(size / minute)} m`
        : size < 2 * day
          ? `${Math.floor(size / hour)} h`
          : `${Math.floor(size / day)} d`
  return at > now ? `in ${words}` : `${words} ago`
}

export type ZoneChoice = 'local' | 'utc' | 'job'

export function viewerZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone
}

const formats = new Map<string, Intl.DateTimeFormat>()
function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone)
  if (known !== undefined) return known
  const made = new Intl.DateTimeFormat('en-GB', {
    ...({ timeZone: zone, year: 'numeric', month: '2-digit', day: '2-digit', hour12: false } as const),
    ...({ hour: '2-digit', minute: '2-digit', second: '2-digit', weekday: 'short' } as const),
    timeZoneName: 'longOffset',
  })
  formats.set(zone, made)
  return made
}

export interface Wall {
  date: string
  time: string
  weekday: string
  offset: string
}

/** What the clocks of a zone show. A zone that this browser does not know is shown as UTC. */
export function wall(at: number, zone: string): Wall {
  let parts: Intl.DateTimeFormatPart[]
  try {
    parts = formatOf(zone).formatToParts(at)
  } catch {
    parts = formatOf('UTC').formatToParts(at)
  }
  const part = (type: Intl.DateTimeFormatPartTypes) => parts.find((one) => one.type === type)?.value ?? ''
  const name = part('timeZoneName').replace('GMT', '')
  return {
    date: `${part('year')}-${part('month')}-${part('day')}`,
    time: `${part('hour')}:${part('minute')}:${part('second')}`,
    weekday: part('weekday'),
    offset: zone === 'UTC' ? 'Z' : name === '' ? '+00:00' : name,
  }
}

/** The time alone on the day of the viewer, with the date on any other. */
export function instant(at: number, zone: string, now: number): string {
  const then = wall(at, zone)
  return then.date === wall(now, zone).date ? then.time : `${then.date} ${then.time}`
}

export function utc(at: number): string {
  return new Date(at)
    .toISOString()
    .replace('T', ' ')
    .replace(/\.000Z$/, 'Z')
}

const whole = new Intl.NumberFormat('en-GB')
export function count(value: number): string {
  return whole.format(value).replaceAll(',', ' ')
}

/** 12 300 → 12.3k: for tiles and axes. */
export function short(value: number): string {
  if (value < 10_000) return Number.isInteger(value) ? count(value) : String(Math.round(value * 10) / 10)
  if (value < 1_000_000) return `${(value / 1_000).toFixed(value < 100_000 ? 1 : 0)}k`
  return `${(value / 1_000_000).toFixed(1)}M`
}

export function plural(amount: number, one: string, many = `${one}s`): string {
  return `${count(amount)} ${amount === 1 ? one : many}`
}

type Schedule = unknown

/** A schedule as one line, in the words in which it was given. */
export function scheduleText(schedule: Schedule): string {
  if (typeof schedule === 'string') return schedule
  if (Array.isArray(schedule)) return schedule.map(scheduleText).join(' + ')
  if (typeof schedule !== 'object' || schedule === null) return JSON.stringify(schedule) ?? ''
  const rule = schedule as Record<string, unknown>
  if (typeof rule['cron'] === 'string') return rule['cron']
  const { every } = rule
  if (typeof every === 'number') return `@every ${every}s`
  if (typeof every === 'string') return `@every ${every}`
  if (typeof rule['at'] === 'string') return rule['at']
  if (typeof rule['rrule'] === 'string') return rule['rrule']
  return JSON.stringify(schedule)
}

interface AnyTarget {
  type: string
  url?: string
  method?: string | undefined
  task?: string
  argv?: string[] | undefined
  shell?: string | undefined
}

export function targetText(target: AnyTarget): string {
  if (target.type === 'http') return `${target.method ?? 'POST'} ${target.url ?? ''}`
  if (target.type === 'task') return target.task ?? ''
  return target.shell ?? (target.argv ?? []).join(' ')
}

export function json(value: unknown): string {
  return JSON.stringify(value, null, 2) ?? 'null'
}

/** The value below which this share of the numbers lies; the numbers need no order. */
export function percentile(numbers: readonly number[], share: number): number | null {
  if (numbers.length === 0) return null
  const sorted = numbers.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? null
}

/** An error in a narrow place: which call it was stands beside it, what came of it is what people look for. */
export function brief(error: string): string {
  return error.replace(/^[A-Z]+ https?:\/\/\S+ (?=\S)/, '')
}
