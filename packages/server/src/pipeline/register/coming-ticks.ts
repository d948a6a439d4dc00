import { CarillonError, type JobDefinition, type TickList } from '@carillon/contract'
import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { jobIdOf } from '../../platform/ids.js'
import { readInstant } from '../../time/instant.js'
import { parseSchedule } from '../../time/schedule.js'
import { timelineOf } from '../../time/timeline.js'
import { namesCalendar, readCalendars } from '../calendars.js'
import { parkedUntil } from '../parked.js'
import { noTickChanges, readTickChanges } from '../tick-changes.js'
import { type JobName, notFound } from './change.js'
import { tickView } from './tick-view.js'

interface TicksRow {
  job: number
  uuid: string
  tenant: number
  state: string
  definition: JobDefinition
  due: number | null
  start_at: number | null
  accounted_through: number
  now: number
  queued: { due: number; origin: number; available_at: number; holder: number | null }[]
}

const lookStatement = statement<{ tenant: number; uuid: string }, TicksRow>(
  new URL('./look-at-ticks.sql', import.meta.url),
)

/** The coming ticks of a job as they will be: what is staged, planned, skipped and moved. */
export function comingTicks(
  database: Database,
  { tenant, uuid }: JobName,
  { from, count }: { from: string | undefined; count: number },
): Promise<TickList> {
  return database.snapshot(async (runner) => {
    const [row] = await runner.run(lookStatement, { tenant, uuid })
    if (row === undefined) throw notFound(jobIdOf(uuid))
    const calendars = await readCalendars(runner, namesCalendar(row.definition) ? [tenant] : [])
    const changes = await readTickChanges(runner, [{ job: row.job, after: 0 }])
    const schedule = parseSchedule({ ...row.definition, calendars: calendars.get(tenant) ?? {} })
    const queued = row.queued.filter(({ available_at: at }) => at < parkedUntil)
    const situation = { ...row, queued, changes: changes.get(row.job) ?? noTickChanges }
    const since = from === undefined ? null : read(from, row.definition.timezone)
    const ticks: number[] = queued.map(({ due }) => due).filter((due) => due >= (since ?? 0))
    if (row.state !== 'ended' && row.state !== 'cancelled') {
      // A paused job has no cursor: what comes from now on, if it is resumed.
      const cursor = row.due ?? schedule.next(Math.max(row.accounted_through, row.now))
      let tick = cursor === null ? null : schedule.next(Math.max(cursor, since ?? cursor) - 1)
      for (; tick !== null && ticks.length < count; tick = schedule.next(tick)) ticks.push(tick)
    }
    const next = ticks.sort((a, b) => a - b).slice(0, count)
    return { data: next.map((due) => tickView({ situation, schedule, due })), next_cursor: null }
  })
}

function read(text: string, timezone: string): number {
  try {
    return readInstant(text, 'query:from', timelineOf(timezone))
  } catch (error) {
    if (!(error instanceof CarillonError)) throw error
    throw new CarillonError('validation_failed', { detail: error.message, errors: [...error.errors] })
  }
}
