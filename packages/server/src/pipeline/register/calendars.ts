import { isDeepStrictEqual } from 'node:util'
import { type Calendar, type CalendarInput, CarillonError } from '@carillon/contract'
import type { Database, Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import type { Calendar as Content } from '../../time/schedule.js'
import { audit } from '../audit.js'
import { checkCalendar } from './calendar-check.js'
import { followCalendar } from './follow-calendar.js'
import { utcText } from '../../time/iso-text.js'

const lockStatement = statement<{ tenant: number; name: string }, { version: number; definition: Content }>(
  new URL('./lock-calendar.sql', import.meta.url),
)
const putStatement = statement<
  { tenant: number; name: string; definition: string },
  { version: number; updated_at: number }
>(new URL('./put-calendar.sql', import.meta.url))
const deleteStatement = statement<{ tenant: number; name: string }, { calendar: number }>(
  new URL('./delete-calendar.sql', import.meta.url),
)
const listStatement = statement<
  { tenant: number; name: string | null },
  { name: string; version: number; definition: Content; updated_at: number; jobs: number }
>(new URL('./list-calendars.sql', import.meta.url))
const jobsNamingStatement = statement<
  { tenant: number; name: string; after_job: number; most: number },
  { job: number; name: string }
>(new URL('./jobs-naming.sql', import.meta.url))

export interface CalendarsOptions {
  database: Database
  lateToleranceMs?: number
  /** Told after the timers of jobs were set anew. */
  onChanged: () => void
  /** Most jobs that one transaction changes. */
  chunk?: number
}

const defaultLateToleranceMs = 15_000
const largestChunk = 1_000

/** The calendars of tenants. A change reaches every job that names the calendar before it is acknowledged. */
export class Calendars {
  constructor(private readonly options: CalendarsOptions) {}

  async list(tenant: number): Promise<{ data: Calendar[] }> {
    const rows = await this.options.database.run(listStatement, { tenant, name: null })
    return { data: rows.map(view) }
  }

  async get(tenant: number, name: string): Promise<Calendar> {
    const [row] = await this.options.database.run(listStatement, { tenant, name })
    if (row === undefined) throw notFound(name)
    return view(row)
  }

  /**
   * Makes or replaces a calendar. Its jobs follow in order of their keys, so many in a transaction; the first of them
   * carries the calendar itself, so that with no more jobs than that all is changed at once. Where it is cut short in
   * the middle, the same call again sets the timers that are left.
   */
  async put(tenant: number, name: string, input: CalendarInput): Promise<Calendar> {
    checkCalendar(name, input)
    const { database, onChanged, chunk = largestChunk } = this.options
    const next: Content = { dates: input.dates, blackouts: input.blackouts ?? [] }
    let change: { version: number; old: Content | null; changed: boolean } | null = null
    let after = 0
    for (;;) {
      const { version, old, last }: { version: number; old: Content | null; last: number | null } =
        await database.transaction(async (runner) => {
          const now = change ?? (await replace(runner, tenant, name, next))
          if (change === null && now.changed) {
            const detail = {
              version: now.version,
              dates: next.dates.length,
              blackouts: next.blackouts?.length ?? 0,
            }
            await audit(runner, { tenant, subject: name, detail })
          }
          const page = await this.page(runner, { tenant, name, version: now.version, after, most: chunk })
          if (page.length > 0)
            await this.follow(runner, { tenant, name, jobs: page, old: now.old ?? next, next })
          return { ...now, last: page.length < chunk ? null : (page.at(-1) ?? null) }
        })
      onChanged()
      if (last === null) return this.get(tenant, name)
      change = { version, old, changed: false }
      after = last
    }
  }

  async delete(tenant: number, name: string): Promise<void> {
    await this.options.database.transaction(async (runner) => {
      const [locked] = await runner.run(lockStatement, { tenant, name })
      if (locked === undefined) throw notFound(name)
      const [user] = await runner.run(jobsNamingStatement, { tenant, name, after_job: 0, most: 1 })
      if (user !== undefined) throw inUse(name, user.name)
      await runner.run(deleteStatement, { tenant, name })
      await audit(runner, { tenant, subject: name })
    })
  }

  /** The jobs that come next. None once the calendar has changed again: then that change has all of them. */
  private async page(runner: Runner, { tenant, name, version, after, most }: PageOfJobs): Promise<number[]> {
    const [locked] = await runner.run(lockStatement, { tenant, name })
    if (locked?.version !== version) return []
    const jobs = await runner.run(jobsNamingStatement, { tenant, name, after_job: after, most })
    return jobs.map(({ job }) => job)
  }

  private follow(runner: Runner, change: Omit<Parameters<typeof followCalendar>[1], 'lateToleranceMs'>) {
    const { lateToleranceMs = defaultLateToleranceMs } = this.options
    return followCalendar(runner, { ...change, lateToleranceMs })
  }
}

interface PageOfJobs {
  tenant: number
  name: string
  version: number
  after: number
  most: number
}

/** Answers the version in force and what was in the calendar before. The same content again is no new version. */
async function replace(
  runner: Runner,
  tenant: number,
  name: string,
  next: Content,
): Promise<{ version: number; old: Content | null; changed: boolean }> {
  const [locked] = await runner.run(lockStatement, { tenant, name })
  if (locked !== undefined && isDeepStrictEqual(locked.definition, next)) {
    return { version: locked.version, old: locked.definition, changed: false }
  }
  const [put] = await runner.run(putStatement, { tenant, name, definition: JSON.stringify(next) })
  if (put === undefined) throw new Error(`The calendar ${name} was not stored.`)
  return { version: put.version, old: locked?.definition ?? null, changed: true }
}

function view(row: {
  name: string
  version: number
  definition: Content
  updated_at: number
  jobs: number
}): Calendar {
  const { name, version, definition, updated_at: updatedAt, jobs } = row
  return {
    name,
    version,
    dates: [...definition.dates],
    blackouts: (definition.blackouts ?? []).map((blackout) => ({ ...blackout })),
    updated_at: utcText(updatedAt),
    jobs,
  }
}

function notFound(name: string): CarillonError {
  return new CarillonError('calendar_not_found', {
    detail: `There is no calendar ${JSON.stringify(name.slice(0, 64))}.`,
  })
}

function inUse(name: string, job: string): CarillonError {
  return new CarillonError('calendar_in_use', {
    detail: `The calendar ${JSON.stringify(name)} is named by live jobs, ${JSON.stringify(job)} among them.`,
  })
}
