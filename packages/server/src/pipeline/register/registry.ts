import { CarillonError, type Job, type JobDefinition, type JobInput, type JobState } from '@carillon/contract'
import type { DatabaseClock } from '../../db/database-clock.js'
import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { decodeCursor, encodeCursor } from '../../platform/cursor.js'
import { jobIdOf, newUuid, uuidOf } from '../../platform/ids.js'
import { partitionOf } from '../../platform/partition.js'
import { namesCalendar, readCalendars } from '../calendars.js'
import { defineJob } from './definition.js'
import { type OwedTicks, owedTicks } from './owed.js'
import { Routes } from './routes.js'

interface CreateParams {
  uuids: string[]
  tenants: number[]
  partitions: number[]
  names: string[]
  definitions: string[]
  one_offs: boolean[]
  routes: number[]
  froms: number[]
  dues: number[]
  start_ats: number[]
  zone_data: string
}

interface JobRow {
  job: number
  uuid: string
  state: JobState
  version: number
  definition: JobDefinition
  created_at: number
  updated_at: number
  ended_at: number | null
  kind: string
  task: string
  next_due: number | null
  served: boolean
}

const tenantSettingsStatement = statement<{ tenant: number }, { min_interval_seconds: number | null }>(
  new URL('./tenant-settings.sql', import.meta.url),
)
const createStatement = statement<CreateParams, { uuid: string }>(
  new URL('./create-jobs.sql', import.meta.url),
)
const viewStatement = statement<{ tenant: number; uuid: string }, JobRow>(
  new URL('./job-view.sql', import.meta.url),
)
const listStatement = statement<{ tenant: number; before_job: number; most: number }, JobRow>(
  new URL('./list-jobs.sql', import.meta.url),
)
const findStatement = statement<
  { tenant: number; uuid: string },
  { job: number; partition: number; state: string }
>(new URL('./find-job.sql', import.meta.url))
const lockTimerStatement = statement<
  { tenant: number; uuid: string },
  { due: number | null; definition: JobDefinition | null; now: number }
>(new URL('./lock-timer.sql', import.meta.url))
const deleteStatement = statement<{ tenant: number; uuid: string } & OwedTicks, { job: number }>(
  new URL('./delete-job.sql', import.meta.url),
)

export interface RegistryOptions {
  database: Database
  databaseClock: DatabaseClock
  minIntervalMs: number
  checkTarget: (target: JobDefinition['target']) => void
  /** Told after a job was registered: its first tick may be near. */
  onChanged: () => void
}

/** Registers, shows and removes jobs. What it acknowledges is committed. */
export class Registry {
  private readonly routes: Routes

  constructor(private readonly options: RegistryOptions) {
    this.routes = new Routes(options.database)
  }

  async create(tenant: number, input: JobInput): Promise<Job> {
    const { database, databaseClock, checkTarget, onChanged } = this.options
    const uuid = newUuid()
    const calendars = namesCalendar(input) ? (await readCalendars(database, [tenant])).get(tenant) : undefined
    const job = defineJob(input, {
      jobId: jobIdOf(uuid),
      now: databaseClock.atLeast(),
      minIntervalMs: await this.minIntervalMs(tenant),
      calendars: calendars ?? {},
    })
    checkTarget(job.definition.target)
    const [made] = await database.run(createStatement, {
      uuids: [uuid],
      tenants: [tenant],
      partitions: [partitionOf(uuid)],
      names: [job.definition.name],
      definitions: [JSON.stringify(job.definition)],
      one_offs: [job.oneOff],
      routes: [await this.routes.of(tenant, job.definition.target)],
      froms: [job.from],
      dues: [job.due],
      start_ats: [job.startAt],
      zone_data: process.versions.tz ?? 'unknown',
    })
    if (made === undefined) {
      throw new CarillonError('job_name_taken', {
        detail: `A live job is named ${JSON.stringify(input.name)} already.`,
        errors: [{ pointer: '/name', message: 'is taken by a live job' }],
      })
    }
    onChanged()
    return this.view(tenant, uuid)
  }

  get(tenant: number, jobId: string): Promise<Job> {
    return this.view(tenant, requireUuid(jobId))
  }

  async list(
    tenant: number,
    query: { limit: number; cursor: string | null },
  ): Promise<{ data: Job[]; next_cursor: string | null }> {
    const [before] = query.cursor === null ? [Number.MAX_SAFE_INTEGER] : decodeCursor(query.cursor)
    if (before === undefined) throw new CarillonError('invalid_cursor')
    const rows = await this.options.database.run(listStatement, {
      tenant,
      before_job: before,
      most: query.limit + 1,
    })
    const page = rows.slice(0, query.limit)
    const last = page.at(-1)
    return {
      data: page.map(jobView),
      next_cursor: rows.length > query.limit && last !== undefined ? encodeCursor([last.job]) : null,
    }
  }

  async delete(tenant: number, jobId: string): Promise<void> {
    const job = { tenant, uuid: requireUuid(jobId) }
    const [gone] = await this.options.database.transaction(async (runner) => {
      const [timer] = await runner.run(lockTimerStatement, job)
      if (timer === undefined) return []
      return runner.run(deleteStatement, { ...job, ...owedTicks(timer.due, timer.definition, timer.now) })
    })
    if (gone === undefined) throw notFound(jobId)
  }

  /** The key of a job that lives or ever lived. */
  async find(tenant: number, jobId: string): Promise<number> {
    const [row] = await this.options.database.run(findStatement, { tenant, uuid: requireUuid(jobId) })
    if (row === undefined) throw notFound(jobId)
    return row.job
  }

  /** A tenant's own limit, or the server's. */
  private async minIntervalMs(tenant: number): Promise<number> {
    const [settings] = await this.options.database.run(tenantSettingsStatement, { tenant })
    const own = settings?.min_interval_seconds ?? null
    return own === null ? this.options.minIntervalMs : own * 1000
  }

  private async view(tenant: number, uuid: string): Promise<Job> {
    const [row] = await this.options.database.run(viewStatement, { tenant, uuid })
    if (row === undefined) throw notFound(jobIdOf(uuid))
    return jobView(row)
  }
}

function requireUuid(jobId: string): string {
  const uuid = uuidOf(jobId)
  if (uuid === null) throw notFound(jobId)
  return uuid
}

function notFound(jobId: string): CarillonError {
  return new CarillonError('job_not_found', {
    detail: `There is no job ${JSON.stringify(jobId.slice(0, 64))}.`,
  })
}

function jobView(row: JobRow): Job {
  const { anchor: _anchor, ...definition } = row.definition
  return {
    job_id: jobIdOf(row.uuid),
    ...definition,
    state: row.state,
    version: row.version,
    next_run_at: isoOrNull(row.next_due),
    created_at: new Date(row.created_at).toISOString(),
    updated_at: new Date(row.updated_at).toISOString(),
    ended_at: isoOrNull(row.ended_at),
    warnings: row.served || row.state === 'ended' ? [] : [unserved(row)],
  }
}

function unserved(row: JobRow): { code: string; message: string } {
  return row.kind === 'task'
    ? {
        code: 'no_worker_for_task',
        message: `No live worker serves the task ${JSON.stringify(row.task)}: its runs wait. Start one with --tasks FILE.`,
      }
    : { code: 'no_worker', message: 'No live worker: its runs wait. Start a process with the worker role.' }
}

function isoOrNull(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString()
}
