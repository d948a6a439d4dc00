import type { Job } from '@carillon/contract'
import type { Runner } from '../../db/pool.js'
import { parseSchedule } from '../../time/schedule.js'
import { namesCalendar, readCalendars } from '../calendars.js'
import { readTickChanges, type TickChanges } from '../tick-changes.js'
import { type JobRow, jobView } from './job-view.js'

/** Rows as people see them. Few jobs have anything asked of their next ticks: only theirs is looked up. */
export async function jobViews(runner: Runner, tenant: number, rows: readonly JobRow[]): Promise<Job[]> {
  const changed = rows.flatMap(({ job, changed_from: from }) =>
    from === null ? [] : [{ job, after: from - 1 }],
  )
  if (changed.length === 0) return rows.map(jobView)
  const changes = await readTickChanges(runner, changed)
  const withCalendars = rows.some(({ definition }) => namesCalendar(definition))
  const calendars = (await readCalendars(runner, withCalendars ? [tenant] : [])).get(tenant) ?? {}
  return rows.map((row) => {
    const own = changes.get(row.job)
    return jobView(own === undefined ? row : { ...row, next_due: nextRun(row, own, calendars) })
  })
}

/** The cursor may stand at a tick that is left out on request: the one that runs next lies behind it. */
function nextRun(
  { next_due: next, changed_from: from, definition }: JobRow,
  changes: TickChanges,
  calendars: Parameters<typeof parseSchedule>[0]['calendars'],
): number | null {
  // What is staged already comes before whatever the cursor stands at.
  if (next === null || from === null || next < from) return next
  return changes.left(parseSchedule({ ...definition, calendars })).next(next - 1)
}
