import {
  type CancelJobInput,
  CarillonError,
  type Job,
  type JobDefinition,
  type JobDryRun,
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
import { despiteDeadlocks } from '../../db/deadlock.js'
import type { Database, Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { decodeCursor, encodeCursor } from '../../platform/cursor.js'
import { jobIdOf, newUuid, uuidOf } from '../../platform/ids.js'
import { namesCalendar } from '../calendars.js'
import { parkedUntil } from '../parked.js'
import { type Answer, Idempotency, type KeyedCall, type Replayable, replay } from '../idempotency.js'
import { Bulk, type BulkItem, type BulkOptions, type BulkOutcome } from './bulk.js'
import { type Candidate, locationOf, viewOf } from './candidate.js'
import { cancelJob } from './cancel.js'
import { type JobName, notFound, notFoundByName, shareCalendars, type Transactional } from './change.js'
import type { Quota } from './create.js'
import { allInside, Creating, eachForItself, type Stored } from './creating.js'
import { deleteJob } from './delete.js'
import { editJob, type EditPorts } from './edit.js'
import { Folding } from './folding.js'
import type { JobRow } from './job-view.js'
import { jobViews } from './next-run.js'
import { JobLister } from './list/job-list.js'
import { pauseJob } from './pause.js'
import { Rehearsal } from './rehearse.js'
import { resumeJob } from './resume.js'
import { Routes } from './routes.js'
import { triggerJob } from './trigger.js'
import { type ExpectedVersion, namedStatement, upsertJob } from './upsert.js'
import { allVersions, getVersion, listVersions, rollBack } from './versions.js'

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
  /** What a tenant may create that has no limits of its own. */
  quota?: Quota
  /** The most bytes that the definition of one job may have. */
  maxJobBytes?: number
  /** Calls that are repeated; one for a process, so that it knows all that are at work. */
  idempotency?: Idempotency
  /** A tick that starts later than this was missed. */
  lateToleranceMs?: number
  checkTarget: (target: JobDefinition['target']) => void
  /** Told after a job was registered or changed: its next tick may be near. */
  onChanged: () => void
  /** Told after a run was triggered: it can start. */
  onTriggered?: () => void
  /** Told how many jobs are registered together. */
  onBatch?: (jobs: number) => void
}

const defaultLateToleranceMs = 15_000
/** Well more than the time between two looks of the scheduler, and what it stages ahead. */
const nearMs = 10_000
const defaultQuota: Quota = { maxJobs: 100_000, createPerSecond: 0 }

/** Registers, shows, changes and removes jobs. What it acknowledges is committed. */
export class Registry {
  private readonly routes: Routes
  private readonly lister: JobLister
  private readonly creating: Creating
  private readonly folding: Folding
  private readonly bulk: Bulk
  private readonly idempotency: Idempotency

  constructor(private readonly options: RegistryOptions) {
    const { database, quota = defaultQuota, idempotency = new Idempotency(database) } = options
    this.idempotency = idempotency
    this.routes = new Routes(database)
    this.lister = new JobLister(options)
    this.creating = new Creating({ ...options, quota, routes: this.routes })
    const place = eachForItself(database)
    this.folding = new Folding((tenant, candidates) =>
      this.creating.store(place, { tenant, look: true }, candidates),
    )
    this.bulk = new Bulk(database, this.creating)
  }

  /** Shares its statement with other calls of the tenant at the same time, unless it names a calendar. */
  async create(tenant: number, input: JobInput): Promise<Job> {
    const stored = namesCalendar(input)
      ? await this.createAlone(tenant, input)
      : await this.folding.create(tenant, await this.candidate(tenant, input))
    return this.viewCreated(stored)
  }

  /** A repeated call is not done again: it has the answer of the first. */
  createOnce(tenant: number, input: JobInput, call: KeyedCall): Promise<Replayable> {
    const { idempotency } = this
    if (namesCalendar(input)) {
      return idempotency.once(tenant, call, async (inside) =>
        answerTo(this.viewCreated(await this.createInside(inside, tenant, input))),
      )
    }
    return idempotency.alone(tenant, call, async () => {
      let candidate: Candidate
      try {
        candidate = await this.candidate(tenant, input, call)
      } catch (error) {
        // It may have been right when it was first sent: an instant has passed since.
        const known = await idempotency.recall(tenant, call)
        if (known === null) throw error
        return known
      }
      const stored = await this.folding.create(tenant, candidate)
      if (stored.status === 'known') return replay(call, stored.known)
      if (stored.status !== 'created') {
        // The first call may have committed between the look at its key and the look at its name: this one has its answer.
        const known = await idempotency.recall(tenant, call)
        if (known !== null) return known
      }
      return { answer: this.answerKept(stored), replayed: false }
    })
  }

  /** What became of each, in their order. `inside`: in the caller's transaction, which must be undone if they were. */
  async createMany(
    tenant: number,
    items: readonly BulkItem[],
    options: BulkOptions,
    inside?: Runner,
  ): Promise<{ outcomes: BulkOutcome[]; undone: boolean }> {
    const done = await this.bulk.create(tenant, items, options, inside)
    const now = this.options.databaseClock.atLeast()
    const near = done.outcomes.some((one) => one.status === 'created' && isNear(one.nextRunAt, now))
    if (near) this.options.onChanged()
    return done
  }

  /** Registers a job under an id that somebody gave it before. */
  async createAs(tenant: number, uuid: string, input: JobInput): Promise<void> {
    this.viewCreated(await this.createAlone(tenant, input, uuid))
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

  /** What `create` would come to. Nothing is stored. */
  tryCreate(tenant: number, input: JobInput): Promise<JobDryRun> {
    return this.rehearsal().create(tenant, input)
  }

  /** What `edit` would come to. Nothing is changed. */
  tryEdit(tenant: number, jobId: string, { version, ...patch }: JobPatch): Promise<JobDryRun> {
    const name = { tenant, uuid: requireUuid(jobId) }
    const expected = version === undefined ? {} : { version }
    return despiteDeadlocks(() => this.rehearsal().edit(name, patch, expected))
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
      database: this.options.database,
      create: async (owner: number, wanted: JobInput) =>
        requireUuid((await this.create(owner, wanted)).job_id),
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

  /** `inside`: in the caller's transaction. */
  trigger(tenant: number, jobId: string, inside?: Runner): Promise<Run> {
    return this.triggerIn(inside === undefined ? this.options.database : allInside(inside), {
      tenant,
      uuid: requireUuid(jobId),
    })
  }

  /** Makes a run, and what `within` does in the same transaction. */
  triggerWith(tenant: number, uuid: string, within: (runner: Runner) => Promise<void>): Promise<Run> {
    const { database } = this.options
    const together: Transactional = {
      transaction: (work) =>
        database.transaction(async (runner) => {
          const result = await work(runner)
          await within(runner)
          return result
        }),
    }
    return this.triggerIn(together, { tenant, uuid })
  }

  private async triggerIn(place: Transactional, name: JobName): Promise<Run> {
    const { onChanged, onTriggered } = this.options
    const run = await triggerJob(place, name)
    onChanged()
    if (run.status === 'pending') onTriggered?.()
    return run
  }

  async delete(tenant: number, jobId: string): Promise<void> {
    const name = { tenant, uuid: requireUuid(jobId) }
    await despiteDeadlocks(() => deleteJob(this.options.database, name))
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
    await despiteDeadlocks(() => change({ tenant, uuid }))
    this.options.onChanged()
    return this.view(tenant, uuid)
  }

  /** The job, checked by what its tenant may ask for now. */
  private async candidate(tenant: number, input: JobInput, call?: KeyedCall): Promise<Candidate> {
    const define = () => this.creating.define(tenant, input, call === undefined ? {} : { call })
    try {
      return define()
    } catch (error) {
      if (!(await this.creating.eased(this.options.database, tenant, error))) throw error
      return define()
    }
  }

  private createAlone(tenant: number, input: JobInput, uuid?: string): Promise<Stored> {
    return despiteDeadlocks(() =>
      this.options.database.transaction((inside) => this.createInside(inside, tenant, input, uuid)),
    )
  }

  /** A calendar must not change between the look at it and the job that is computed from it. */
  private async createInside(
    inside: Runner,
    tenant: number,
    input: JobInput,
    uuid = newUuid(),
  ): Promise<Stored> {
    const calendars = await shareCalendars(inside, tenant)
    await this.creating.minIntervalMs(inside, tenant)
    const candidate = this.creating.define(tenant, input, { calendars }, uuid)
    const [stored] = await this.creating.store(allInside(inside), { tenant, look: true }, [candidate])
    if (stored === undefined) throw new Error('A job was neither stored nor refused.')
    // Thrown here, so that the transaction ends with it.
    if (stored.status === 'broken' || stored.status === 'refused') throw stored.error
    return stored
  }

  private viewCreated(stored: Stored): Job {
    const { candidate, served } = this.created(stored)
    return viewOf(candidate, served)
  }

  /** Or throws why it was not. The schedulers are told of it, if it starts soon. */
  private created(stored: Stored): Extract<Stored, { status: 'created' }> {
    if (stored.status !== 'created')
      throw stored.status === 'known' ? new Error('A key was kept.') : stored.error
    if (isNear(stored.candidate.startAt, stored.candidate.kind.now)) this.options.onChanged()
    return stored
  }

  /** To the letter what was kept with it. */
  private answerKept(stored: Stored): Answer {
    const { candidate, served } = this.created(stored)
    const { head, unserved, tail } = candidate.answer()
    return {
      status: 201,
      body: `${head}${served ? '' : unserved}${tail}`,
      location: locationOf(candidate.jobId),
    }
  }

  private rehearsal(): Rehearsal {
    const { database, quota = defaultQuota } = this.options
    return new Rehearsal({ database, quota, creating: this.creating, edit: this.editPorts() })
  }

  private editPorts(): EditPorts {
    const { database, lateToleranceMs = defaultLateToleranceMs, checkTarget } = this.options
    return {
      database,
      lateToleranceMs,
      checkTarget,
      checkAllowed: (runner, owner, definition) => this.creating.checkCommands(runner, owner, definition),
      routeOf: (runner, owner, definition) => this.routes.of(owner, definition, runner),
      minIntervalMs: (runner, owner) => this.creating.minIntervalMs(runner, owner),
    }
  }

  private async view(tenant: number, uuid: string): Promise<Job> {
    const [row] = await this.options.database.run(viewStatement, { tenant, uuid, parked_until: parkedUntil })
    if (row === undefined) throw notFound(jobIdOf(uuid))
    const [job] = await jobViews(this.options.database, tenant, [row])
    if (job === undefined) throw notFound(jobIdOf(uuid))
    return job
  }
}

/** Later ones are heard of by the scheduler's next look in time: a hint for each of thousands would keep it looking. */
function isNear(startAt: number, now: number): boolean {
  return startAt <= now + nearMs
}

function answerTo(job: Job): Answer {
  return { status: 201, body: JSON.stringify(job), location: locationOf(job.job_id) }
}

function requireUuid(jobId: string): string {
  const uuid = uuidOf(jobId)
  if (uuid === null) throw notFound(jobId)
  return uuid
}
