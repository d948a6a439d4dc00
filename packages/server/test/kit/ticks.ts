import { CarillonError } from '@carillon/contract'
import { parseSchedule, type Schedule, type ScheduleSource } from '../../src/time/schedule.js'

/** A schedule in UTC registered at the beginning of 2026, unless said otherwise. */
export function scheduleOf(
  schedule: ScheduleSource['schedule'],
  more: Partial<Omit<ScheduleSource, 'schedule'>> = {},
): Schedule {
  return parseSchedule({ schedule, timezone: 'UTC', anchor: Date.UTC(2026, 0, 1), ...more })
}

export const iso = (instant: number): string => new Date(instant).toISOString().replace('.000Z', 'Z')

/** The first ticks after an instant. */
export function ticksAfter(schedule: Schedule, after: string, count: number): string[] {
  const found: string[] = []
  let tick = schedule.next(Date.parse(after))
  while (tick !== null && found.length < count) {
    found.push(iso(tick))
    tick = schedule.next(tick)
  }
  return found
}

/** The error of the catalogue with which something is refused. */
export function refusalOf(action: () => unknown): CarillonError {
  try {
    action()
  } catch (error) {
    if (error instanceof CarillonError) return error
    throw error
  }
  throw new Error('nothing was refused')
}
