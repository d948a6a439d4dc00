import type { LoadForecast } from '@carillon/contract'
import { wall } from './format.js'

export interface HeatCell {
  at: string
  firings: number
  /** 0 is nothing, 8 the most. */
  level: number
}

export interface HeatRow {
  day: string
  weekday: string
  /** By the hour of the clocks; an hour that they jump over, or that is not looked at, is null. */
  hours: (HeatCell | null)[]
}

export const levels = 8

/** Anything at all is seen; the root keeps one hot hour from turning all others pale. */
export function levelOf(firings: number, most: number): number {
  if (firings <= 0 || most <= 0) return 0
  return Math.max(1, Math.round(Math.sqrt(firings / most) * levels))
}

/** Hours of the forecast as rows of days, by the clocks of a zone. An hour that they show twice counts both. */
export function heatRows(buckets: LoadForecast['buckets'], zone: string): HeatRow[] {
  const most = Math.max(0, ...buckets.map(({ firings }) => firings))
  const rows = new Map<string, HeatRow>()
  for (const { at, firings } of buckets) {
    const { date, time, weekday } = wall(Date.parse(at), zone)
    const row = rows.get(date) ?? { day: date, weekday, hours: new Array<HeatCell | null>(24).fill(null) }
    rows.set(date, row)
    const hour = Number(time.slice(0, 2)) % 24
    const before = row.hours[hour]
    const sum = firings + (before?.firings ?? 0)
    row.hours[hour] = { at: before?.at ?? at, firings: sum, level: levelOf(sum, most) }
  }
  return [...rows.values()]
}
