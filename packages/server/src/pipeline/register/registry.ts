import {
  CarillonError,
  type Job,
  type JobDefinition,
  type JobInput,
  type JobPatch,
  type PauseInput,
  type Run,
} from '@carillon/contract'
import type { DatabaseClock } from '../../db/database-clock.js'
import type { Database, Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { decodeCursor, encodeCursor } from '../../platform/cursor.js'
import { jobIdOf, newUuid, uuidOf } from '../../platform/ids.js'
import { namesCalendar } from '../calendars.js'
import { parkedUntil } from '../parked.js'
import { type JobName, notFound, shareCalendars } from './change.js'
import { createJob } from './create.js'
import { defineJob } from './definition.js'
import { deleteJob } from './delete.js'
import { editJob } from './edit.js'
import { type JobRow, jobView } from './job-view.js'
import { pauseJob } from './pause.js'
import { resumeJob } from './resume.js'
import { Routes } from './routes.js'
import { triggerJob } from './trigger.js'

const tenantSettingsStatement = statement<{ tenant: number }, { min_interval_seconds: number | null }>(
  new URL('./tenant-settings.sql', import.meta.url),
)
const viewStatement = statement<{ tenant: number; uuid: string; parked_until: number }, JobRow>(
  new URL('./job-view.sql', import.meta.url),
)
const listStatement = statement<
  { tenant: number; before_job: number; most: number; parked_until: number },
  JobRow
>(new URL('./list-jobs.sql', import.meta.url))
const findStatement = statement<
  { tenant: number; uuid: string },
  { job: number; partition: number; state: string }
>(new URL('./find-job.sql', import.meta.url))

export interface RegistryOptions {
  database: Database
  databaseClock: DatabaseClock
  minIntervalMs: number
  /** A tick that starts later than this was missed. */
  lateToleranceMs?: number
  checkTarget: (target: JobDefinition['target']) => void
  /** Told after a job was registered or changed: its next tick may be near. */
  onChanged: () => void
  /** Told after a run was triggered: it can start. */
  onTriggered?: () => void
}

const defaultLateToleranceMs = 15_000

/** Registers, shows, changes and removes jobs. What it acknowledges is committed. */
export class Registry {
  private readonly routes: Routes

  constructor(private readonly options: RegistryOptions) {
    this.routes = new Routes(options.database)
  }

  async create(tenant: number, input: JobInput): Promise<Job> {
    const uuid = newUuid()
    await this.createAs(tenant, uuid, input)
    return this.view(tenant, uuid)
  }

  /** Registers a job under an id that somebody gave it before. */
  async createAs(tenant: number, uuid: string, input: JobInput): Promise<void> {
    const { database, databaseClock, checkTarget, onChanged } = this.options
    const minIntervalMs = await this.minIntervalMs(database, tenant)
    const register = async (runner: Runner) => {
      const calendars = namesCalendar(input) ? await shareCalendars(runner, tenant) : {}
      const now = databaseClock.atLeast()
      const job = defineJob(input, { jobId: jobIdOf(uuid), now, minIntervalMs, calendars })
      checkTarget(job.definition.target)
      const route = await this.routes.of(tenant, job.definition, runner)
      await createJob(runner, { uuid, tenant, route }, input, job)
    }
    // A calendar must not change between the look at it and the job that is computed from it.
    await (namesCalendar(input) ? database.transaction(register) : register(database))
    onChanged()
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
      parked_until: parkedUntil,
    })
    const page = rows.slice(0, query.limit)
    const last = page.at(-1)
    return {
      data: page.map(jobView),
      next_cursor: rows.length > query.limit && last !== undefined ? encodeCursor([last.job]) : null,
    }
  }

  pause(tenant: number, jobId: string, input: PauseInput = {}): Promise<Job> {
    return this.changed(tenant, jobId, (name) => pauseJob(this.options.database, name, input))
  }

  resume(tenant: number, jobId: string): Promise<Job> {
    return this.changed(tenant, jobId, (name) => resumeJob(this.options.database, name))
  }

  /** `version` of the patch: the one that it was made for. */
  edit(tenant: number, jobId: string, { version, ...patch }: JobPatch): Promise<Job> {
    const { database, lateToleranceMs = defaultLateToleranceMs, checkTarget } = this.options
    const ports = {
      database,
      lateToleranceMs,
      checkTarget,
      routeOf: (runner: Runner, owner: number, definition: JobDefinition) =>
        this.routes.of(owner, definition, runner),
      minIntervalMs: (runner: Runner, owner: number) => this.minIntervalMs(runner, owner),
    }
    const expected = version === undefined ? {} : { version }
    return this.changed(tenant, jobId, (name) => editJob(ports, name, patch, expected))
  }

  trigger(tenant: number, jobId: string): Promise<Run> {
    return this.triggerWith(tenant, requireUuid(jobId))
  }

  /** Makes a run, and what `within` does in the same transaction. */
  async triggerWith(
    tenant: number,
    uuid: string,
    within: (runner: Runner) => Promise<void> = () => Promise.resolve(),
  ): Promise<Run> {
    const { database, onChanged, onTriggered } = this.options
    const together: Pick<Database, 'transaction'> = {
      transaction: (work) =>
        database.transaction(async (runner) => {
          const result = await work(runner)
          await within(runner)
          return result
        }),
    }
    const run = await triggerJob(together, { tenant, uuid })
    onChanged()
    if (run.status === 'pending') onTriggered?.()
    return run
  }

  async delete(tenant: number, jobId: string): Promise<void> {
    await deleteJob(this.options.database, { tenant, uuid: requireUuid(jobId) })
    this.options.onChanged()
  }

  /** The key of a job that lives or ever lived. */
  async find(tenant: number, jobId: string): Promise<number> {
    const [row] = await this.options.database.run(findStatement, { tenant, uuid: requireUuid(jobId) })
    if (row === undefined) throw notFound(jobId)
    return row.job
  }

  private async changed(
    tenant: number,
    jobId: string,
    change: (name: JobName) => Promise<unknown>,
  ): Promise<Job> {
    const uuid = requireUuid(jobId)
    await change({ tenant, uuid })
    this.options.onChanged()
    return this.view(tenant, uuid)
  }

  /** A tenant's own limit, or the server's. */
  private async minIntervalMs(runner: Runner, tenant: number): Promise<number> {
    const [settings] = await runner.run(tenantSettingsStatement, { tenant })
    const own = settings?.min_interval_seconds ?? null
    return own === null ? this.options.minIntervalMs : own * 1000
  }

  private async view(tenant: number, uuid: string): Promise<Job> {
    const [row] = await this.options.database.run(viewStatement, { tenant, uuid, parked_until: parkedUntil })
    if (row === undefined) throw notFound(jobIdOf(uuid))
    return jobView(row)
  }
}

function requireUuid(jobId: string): string {
  const uuid = uuidOf(jobId)
  if (uuid === null) throw notFound(jobId)
  return uuid
}
