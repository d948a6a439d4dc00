import type { JobDefinition } from '@carillon/contract'
import { type CalendarSet, parseSchedule } from '../../time/schedule.js'
import { TicksExcept } from '../../time/ticks-except.js'
import { backfillSeq } from '../backfill-seq.js'
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
  /** Ticks that are left out on request; null: none. */
  skipped: number[] | null
}

/** A backfill that can go on, as read-backfills.sql answers it. */
export interface OpenBackfill extends OpenReplay {
  /** The tick after the next one to run; null: that is the last. */
  next_tick: number | null
}

/** One row for the replay statement. */
export interface ReplayTick {
  replay: OpenReplay
  /** A missed tick is the schedule's own. A run of a backfill has an identity of its own, and never takes a tick's. */
  origin: 0 | 2
  seq: number
  /** The tick after it in this replay; null when it is the last. */
  nextCursor: number | null
  /** The tick after it in the schedule. */
  nextDue: number | null
  places: number | null
}

/** What becomes of the next tick of a replay. Pure. */
export function planReplay(replay: OpenReplay): ReplayTick {
  const { definition, calendars, cursor_ms: tick, to_ms: last } = replay
  const schedule = parseSchedule({ ...definition, calendars: calendars ?? {} })
  const next = new TicksExcept(schedule, replay.skipped ?? []).next(tick)
  return {
    replay,
    origin: 0,
    seq: 0,
    nextCursor: next !== null && next <= last ? next : null,
    nextDue: next,
    places: placesOf(definition).places,
  }
}

/** What becomes of the next tick of a backfill. Its seq says which backfill made the run. Pure. */
export function planBackfill(backfill: OpenBackfill): ReplayTick {
  return {
    replay: backfill,
    origin: 2,
    seq: backfillSeq(backfill.replay),
    nextCursor: backfill.next_tick,
    nextDue: null,
    places: placesOf(backfill.definition).places,
  }
}
