import {
  type CancelJobInput,
  CarillonError,
  type Job,
  type JobDefinition,
  type JobFilter,
  type JobInput,
  type JobPatch,
  type JobVersion,
  type JobVersionList,
  type PauseInput,
  type RollbackInput,
  type Run,
} from '@carillon/contract'
import type { DatabaseClock } from '../../db/database-clock.js'
import type { Database, Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { decodeCursor, encodeCursor } from '../../platform/cursor.js'
import { jobIdOf, newUuid, uuidOf } from '../../platform/ids.js'
import { namesCalendar } from '../calendars.js'
import { parkedUntil } from '../parked.js'
import { cancelJob } from './cancel.js'
import { type JobName, notFound, notFoundByName, shareCalendars } from './change.js'
import { createJob } from './create.js'
import { defineJob } from './definition.js'
import { deleteJob } from './delete.js'
import { editJob, type EditPorts } from './edit.js'
import { type JobRow, jobView } from './job-view.js'
import { JobLister } from './list/job-list.js'
import { pauseJob } from './pause.js'
import { resumeJob } from './resume.js'
import { Routes } from './routes.js'
import { triggerJob } from './trigger.js'
import { type ExpectedVersion, namedStatement, upsertJob } from './upsert.js'
import { allVersions, getVersion, listVersions, rollBack } from './versions.js'

const tenantSettingsStatement = statement<{ tenant: number }, { min_interval_seconds: number | null }>(
  new URL('./tenant-settings.sql', import.meta.url),
)
const viewStatement = statement<{ tenant: number; uuid: string; parked_until: number }, JobRow>(
  new URL('./job-view.sql', import.meta.url),
)
const findStatement = statement<
  { tenant: number; uuid: string },
  { job: number; partition: number; state: string }
>(new URL('./find-job.sql', import.meta.url))

export interface RegistryOptions {
  database: Database
  /** Where the list finds keys; see JobLister. */
  finder?: Database
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
  private readonly lister: JobLister

  constructor(private readonly options: RegistryOptions) {
    this.routes = new Routes(options.database)
    this.lister = new JobLister(options)
  }

  async create(tenant: number, input: JobInput): Promise<Job> {
    return this.view(tenant, await this.register(tenant, input))
  }

  /** Registers a job and answers its UUID. */
  private async register(tenant: number, input: JobInput): Promise<string> {
    const { database, databaseClock, checkTarget, onChanged } = this.options
    const uuid = newUuid()
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
    return uuid
  }

  get(tenant: number, jobId: string): Promise<Job> {
    return this.view(tenant, requireUuid(jobId))
  }

  list(
    tenant: number,
    query: JobFilter & { limit: number; cursor: string | null },
  ): Promise<{ data: Job[]; next_cursor: string | null }> {
    return this.lister.list(tenant, query)
  }

  pause(tenant: number, jobId: string, input: PauseInput = {}): Promise<Job> {
    return this.changed(tenant, jobId, (name) => pauseJob(this.options.database, name, input))
  }

  resume(tenant: number, jobId: string): Promise<Job> {
    return this.changed(tenant, jobId, (name) => resumeJob(this.options.database, name))
  }

  cancel(tenant: number, jobId: string, input: CancelJobInput = {}): Promise<Job> {
    return this.changed(tenant, jobId, (name) => cancelJob(this.options.database, name, input))
  }

  /** `version` of the patch: the one that it was made for. */
  edit(tenant: number, jobId: string, { version, ...patch }: JobPatch): Promise<Job> {
    const expected = version === undefined ? {} : { version }
    return this.changed(tenant, jobId, (name) => editJob(this.editPorts(), name, patch, expected))
  }

  /** The live job of a name, or else the latest of the past ones. */
  async getByName(tenant: number, name: string): Promise<Job> {
    const [found] = await this.options.database.run(namedStatement, { tenant, name })
    if (found === undefined) throw notFoundByName(name)
    return this.view(tenant, found.uuid)
  }

  async upsert(
    tenant: number,
    input: JobInput,
    expected: ExpectedVersion,
  ): Promise<{ job: Job; created: boolean }> {
    const ports = {
      ...this.editPorts(),
      create: (owner: number, wanted: JobInput) => this.register(owner, wanted),
    }
    const { uuid, created } = await upsertJob(ports, tenant, input, expected)
    if (!created) this.options.onChanged()
    return { job: await this.view(tenant, uuid), created }
  }

  async versions(
    tenant: number,
    jobId: string,
    query: { limit: number; cursor: string | null },
  ): Promise<JobVersionList> {
    const [before, ...rest] = query.cursor === null ? [allVersions] : decodeCursor(query.cursor)
    if (before === undefined || before > allVersions || rest.length > 0)
      throw new CarillonError('invalid_cursor')
    const job = { tenant, uuid: requireUuid(jobId) }
    const { versions, more } = await listVersions(this.options.database, job, { before, limit: query.limit })
    const last = versions.at(-1)
    return {
      data: versions,
      next_cursor: more && last !== undefined ? encodeCursor([last.version]) : null,
    }
  }

  version(tenant: number, jobId: string, version: number): Promise<JobVersion> {
    return getVersion(this.options.database, { tenant, uuid: requireUuid(jobId) }, version)
  }

  rollback(tenant: number, jobId: string, input: RollbackInput): Promise<Job> {
    return this.changed(tenant, jobId, (name) => rollBack(this.editPorts(), name, input))
  }

  async trigger(tenant: number, jobId: string): Promise<Run> {
    const { database, onChanged, onTriggered } = this.options
    const run = await triggerJob(database, { tenant, uuid: requireUuid(jobId) })
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

  private editPorts(): EditPorts {
    const { database, lateToleranceMs = defaultLateToleranceMs, checkTarget } = this.options
    return {
      database,
      lateToleranceMs,
      checkTarget,
      routeOf: (runner, owner, definition) => this.routes.of(owner, definition, runner),
      minIntervalMs: (runner, owner) => this.minIntervalMs(runner, owner),
    }
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
