import {
  CarillonError,
  type ExplainInput,
  type PreviewInput,
  type ScheduleExplanation,
  type SchedulePreview,
} from '@carillon/contract'
import type { DatabaseClock } from '../../db/database-clock.js'
import type { Database } from '../../db/pool.js'
import { describe } from '../../time/describe.js'
import { readInstant } from '../../time/instant.js'
import { preview } from '../../time/preview.js'
import type { CalendarSet } from '../../time/schedule.js'
import type { ScheduleSource } from '../../time/source.js'
import { timelineOf } from '../../time/timeline.js'
import { checkZone } from '../../time/zone.js'
import { namesCalendar, readCalendars } from '../calendars.js'

const defaultCount = 10

/** Says what a schedule means, by the engine that fires it. Stores nothing. */
export class Schedules {
  constructor(private readonly options: { database: Database; databaseClock: DatabaseClock }) {}

  async preview(tenant: number, { count = defaultCount, ...input }: PreviewInput): Promise<SchedulePreview> {
    const { source, from } = await this.read(tenant, input)
    const n = Math.min(count, input.max_runs ?? count)
    const { ticks, warnings } = preview(source, { from, n })
    return { description: describe(source), timezone: source.timezone, warnings, ticks }
  }

  async explain(tenant: number, input: ExplainInput): Promise<ScheduleExplanation> {
    const { source, from } = await this.read(tenant, input)
    const { ticks, warnings } = preview(source, { from, n: 1 })
    return {
      description: describe(source),
      timezone: source.timezone,
      warnings,
      next_run_at: ticks[0]?.at ?? null,
    }
  }

  /** Intervals are counted from the registration, which is not yet: from the instant that is looked from. */
  private async read(tenant: number, input: ExplainInput): Promise<{ source: ScheduleSource; from: number }> {
    const { database, databaseClock } = this.options
    const timezone = input.timezone ?? 'UTC'
    checkZone(timezone)
    const from =
      input.from === undefined ? wholeSecond(databaseClock.atLeast()) : instantOf(input.from, timezone)
    const named = namesCalendar(input)
      ? await readCalendars(database, [tenant])
      : new Map<number, CalendarSet>()
    const source: ScheduleSource = {
      schedule: input.schedule,
      timezone,
      anchor: from,
      dst_gap: input.dst_gap,
      dst_overlap: input.dst_overlap,
      exclude: input.exclude,
      on_excluded: input.on_excluded,
      starts_at: input.starts_at,
      ends_at: input.ends_at,
      calendars: named.get(tenant) ?? {},
    }
    return { source, from }
  }
}

/** Nobody reads the milliseconds of "now" in every tick of an interval. */
function wholeSecond(ms: number): number {
  return Math.floor(ms / 1000) * 1000
}

/** A date is its first moment. */
function instantOf(text: string, timezone: string): number {
  const moment = /^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00` : text
  try {
    return readInstant(moment, '/from', timelineOf(timezone))
  } catch (error) {
    if (!(error instanceof CarillonError)) throw error
    throw new CarillonError('validation_failed', { detail: error.message, errors: [...error.errors] })
  }
}
