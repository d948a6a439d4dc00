import { CarillonError, type JobDefinition } from '@carillon/contract'
import { isUniqueViolation } from '../../db/errors.js'
import type { Database, Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import type { Calendar, CalendarSet } from '../../time/schedule.js'
import { jobIdOf } from '../../platform/ids.js'
import { noTickChanges, readTickChanges, type TickChanges } from '../tick-changes.js'
import { utcText } from '../../time/iso-text.js'

/** A run in flight, as look-at-runs.sql answers it. */
export interface QueuedRun {
  job: number
  due: number
  origin: number
  seq: number
  slot: number | null
  places: number | null
  attempt: number
  round: number
  catch_up: boolean
  holder: number | null
  available_at: number
}

interface JobNow {
  job: number
  uuid: string
  tenant: number
  partition: number
  name: string
  state: 'active' | 'paused' | 'ended' | 'cancelled' | 'deleted' | 'collected'
  version: number
  definition: JobDefinition | null
  one_off: boolean
  route: number
  effective_from: number
  zone_data: string
  paused_until: number | null
  ticks_changed_until: number | null
  cancelled_at: number | null
  due: number | null
  start_at: number | null
  runs: number
  accounted_through: number
  now: number
}

/** A job under the lock of its timer, with its runs in flight: all that a change is decided by. */
export interface Situation extends JobNow {
  state: 'active' | 'paused' | 'ended' | 'cancelled'
  definition: JobDefinition
  queued: QueuedRun[]
  /** What was asked of single ticks, ahead and in the past. */
  changes: TickChanges
}

const lockTimerStatement = statement<{ tenant: number; uuid: string }, { job: number }>(
  new URL('./lock-timer.sql', import.meta.url),
)
const lockTimersStatement = statement<{ jobs: number[] }, { job: number }>(
  new URL('./lock-timers.sql', import.meta.url),
)
const lookAtRunsStatement = statement<{ jobs: number[] }, QueuedRun>(
  new URL('./look-at-runs.sql', import.meta.url),
)
const lookAtJobsStatement = statement<{ jobs: number[] }, JobNow>(
  new URL('./look-at-jobs.sql', import.meta.url),
)
const shareCalendarsStatement = statement<{ tenant: number }, { name: string; definition: Calendar }>(
  new URL('./share-calendars.sql', import.meta.url),
)

export interface JobName {
  tenant: number
  uuid: string
}

/** How the audit names a job. */
export function subjectOf({ tenant, uuid }: JobName): { tenant: number; subject: string } {
  return { tenant, subject: jobIdOf(uuid) }
}

/** Who gives a change its transaction: the database, or one that is under way. */
export type Transactional = Pick<Database, 'transaction'>

/**
 * One change of one job in one transaction. The calendars are locked against change, then the timer is locked, then the
 * runs are looked at and locked, and then the job is read: what a fire, a lease or another change did before is seen, and
 * nothing comes in between. A job that was cancelled is not changed any more, unless the change is made for it.
 */
export async function changing<Result>(
  database: Transactional,
  job: JobName,
  work: (situation: Situation, calendars: CalendarSet, runner: Runner) => Promise<Result>,
  { alsoCancelled = false } = {},
): Promise<Result> {
  try {
    return await database.transaction(async (runner) => {
      const calendars = await shareCalendars(runner, job.tenant)
      const situation = await situationOf(runner, job)
      if (!alsoCancelled) refuseCancelled(situation)
      return work(situation, calendars, runner)
    })
  } catch (error) {
    throw isUniqueViolation(error, 'jobs_live_name') ? nameTaken(error) : error
  }
}

async function situationOf(runner: Runner, job: JobName): Promise<Situation> {
  const [locked] = await runner.run(lockTimerStatement, job)
  const [situation] = locked === undefined ? [] : await lookAt(runner, [locked.job])
  if (situation === undefined) throw notFound(jobIdOf(job.uuid))
  return situation
}

export async function shareCalendars(runner: Runner, tenant: number): Promise<CalendarSet> {
  const rows = await runner.run(shareCalendarsStatement, { tenant })
  return Object.fromEntries(rows.map(({ name, definition }) => [name, definition]))
}

/** Locks the timers of many jobs by key, and answers those that live, as they are under the locks. */
export async function lockAndLook(runner: Runner, jobs: number[]): Promise<Situation[]> {
  const locked = await runner.run(lockTimersStatement, { jobs })
  return lookAt(
    runner,
    locked.map(({ job }) => job),
  )
}

/** The runs first: looking at them waits for leases in progress, and the clock is read after that. */
async function lookAt(runner: Runner, jobs: number[]): Promise<Situation[]> {
  const queued = await runner.run(lookAtRunsStatement, { jobs })
  const rows = await runner.run(lookAtJobsStatement, { jobs })
  const changed = rows.filter(({ ticks_changed_until: until }) => until !== null)
  const changes = await readTickChanges(
    runner,
    changed.map(({ job }) => ({ job, after: 0 })),
  )
  const runs = new Map<number, QueuedRun[]>(rows.map(({ job }) => [job, []]))
  for (const run of queued) runs.get(run.job)?.push(run)
  return rows.flatMap((row) => {
    const { state, definition } = row
    if (state === 'deleted' || state === 'collected' || definition === null) return []
    return [
      {
        ...row,
        state,
        definition,
        queued: runs.get(row.job) ?? [],
        changes: changes.get(row.job) ?? noTickChanges,
      },
    ]
  })
}

/** A job that was cancelled is not changed any more. */
export function refuseCancelled({ uuid, state, cancelled_at: at }: Situation): void {
  if (state !== 'cancelled') return
  const when = at === null ? '' : ` at ${utcText(at)}`
  throw new CarillonError('job_cancelled', { detail: `The job ${jobIdOf(uuid)} was cancelled${when}.` })
}

export function notFound(jobId: string): CarillonError {
  return new CarillonError('job_not_found', {
    detail: `There is no job ${JSON.stringify(jobId.slice(0, 64))}.`,
  })
}

export function notFoundByName(name: string): CarillonError {
  return new CarillonError('job_not_found', { detail: `There is no job named ${JSON.stringify(name)}.` })
}

export function nameTaken(cause?: unknown, name?: string): CarillonError {
  return new CarillonError('job_name_taken', {
    ...(name !== undefined && { detail: `A live job is named ${JSON.stringify(name)} already.` }),
    errors: [{ pointer: '/name', message: 'is taken by a live job' }],
    cause,
  })
}
