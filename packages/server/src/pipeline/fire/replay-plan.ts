import type { JobDefinition } from '@carillon/contract'
import { type CalendarSet, parseSchedule } from '../../time/schedule.js'
import { placesOf } from './plan.js'

/** A replay that can go on, as read-replays.sql answers it. */
export interface OpenReplay {
  replay: number
  job: number
  partition: number
  tenant: number
  /** The next tick to run. */
  cursor_ms: number
  to_ms: number
  version: number
  uuid: string
  route: number
  definition: Omit<JobDefinition, 'payload' | 'target'>
  /** What the calendars that it names held when its ticks were due; null: it names none. */
  calendars: CalendarSet | null
}

/** One row for the replay statement. */
export interface ReplayTick {
  replay: OpenReplay
  /** The tick after it in this replay; null when it is the last. */
  nextCursor: number | null
  /** The tick after it in the schedule. */
  nextDue: number | null
  places: number | null
}

/** What becomes of the next tick of a replay. Pure. */
export function planReplay(replay: OpenReplay): ReplayTick {
  const { definition, calendars, cursor_ms: tick, to_ms: last } = replay
  const next = parseSchedule({ ...definition, calendars: calendars ?? {} }).next(tick)
  return {
    replay,
    nextCursor: next !== null && next <= last ? next : null,
    nextDue: next,
    places: placesOf(definition).places,
  }
}
