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
import { jobIdOf, uuidOf } from '../../platform/ids.js'
import { namesCalendar } from '../calendars.js'
import { parkedUntil } from '../parked.js'
import { type Answer, Idempotency, type KeyedCall, type Replayable, replay } from '../idempotency.js'
import { Bulk, type BulkItem, type BulkOptions, type BulkOutcome } from './bulk.js'
import { type Candidate, locationOf, viewOf } from './candidate.js'
import { type JobName, notFound, shareCalendars } from './change.js'
import type { Quota } from './create.js'
import { allInside, Creating, eachForItself, type Stored } from './creating.js'
import { deleteJob } from './delete.js'
import { editJob } from './edit.js'
import { Folding } from './folding.js'
import { type JobRow, jobView } from './job-view.js'
import { pauseJob } from './pause.js'
import { resumeJob } from './resume.js'
import { Routes } from './routes.js'
import { triggerJob } from './trigger.js'

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
}

const defaultLateToleranceMs = 15_000
/** Well more than the time between two looks of the scheduler, and what it stages ahead. */
const nearMs = 10_000
const defaultQuota: Quota = { maxJobs: 100_000, createPerSecond: 0 }

/** Registers, shows, changes and removes jobs. What it acknowledges is committed. */
export class Registry {
  private readonly routes: Routes
  private readonly creating: Creating
  private readonly folding: Folding
  private readonly bulk: Bulk
  private readonly idempotency: Idempotency

  constructor(private readonly options: RegistryOptions) {
    const { database, quota = defaultQuota, idempotency = new Idempotency(database) } = options
    this.idempotency = idempotency
    this.routes = new Routes(database)
    this.creating = new Creating({ ...options, quota, routes: this.routes })
    const place = eachForItself(database)
    this.folding = new Folding((tenant, candidates) =>
      this.creating.store(place, { tenant, look: true }, candidates),
    )
    this.bulk = new Bulk(database, this.creating)
  }

  /** Shares its statement with other calls of the tenant at the same time, unless it names a calendar. */
  async create(tenant: number, input: JobInput): Promise<Job> {
    const { database } = this.options
    const stored = namesCalendar(input)
      ? await database.transaction((inside) => this.createInside(inside, tenant, input))
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
      return { answer: answerTo(this.viewCreated(stored)), replayed: false }
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
      minIntervalMs: (runner: Runner, owner: number) => this.creating.minIntervalMs(runner, owner),
    }
    const expected = version === undefined ? {} : { version }
    return this.changed(tenant, jobId, (name) => editJob(ports, name, patch, expected))
  }

  /** `inside`: in the caller's transaction. */
  async trigger(tenant: number, jobId: string, inside?: Runner): Promise<Run> {
    const { database, onChanged, onTriggered } = this.options
    const place = inside === undefined ? database : allInside(inside)
    const run = await triggerJob(place, { tenant, uuid: requireUuid(jobId) })
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

  /** A calendar must not change between the look at it and the job that is computed from it. */
  private async createInside(inside: Runner, tenant: number, input: JobInput): Promise<Stored> {
    const calendars = await shareCalendars(inside, tenant)
    await this.creating.minIntervalMs(inside, tenant)
    const candidate = this.creating.define(tenant, input, { calendars })
    const [stored] = await this.creating.store(allInside(inside), { tenant, look: true }, [candidate])
    if (stored === undefined) throw new Error('A job was neither stored nor refused.')
    // Thrown here, so that the transaction ends with it.
    if (stored.status === 'broken' || stored.status === 'refused') throw stored.error
    return stored
  }

  private viewCreated(stored: Stored): Job {
    if (stored.status !== 'created')
      throw stored.status === 'known' ? new Error('A key was kept.') : stored.error
    if (isNear(stored.candidate.job.startAt, stored.candidate.now)) this.options.onChanged()
    return viewOf(stored.candidate, stored.served)
  }

  private async view(tenant: number, uuid: string): Promise<Job> {
    const [row] = await this.options.database.run(viewStatement, { tenant, uuid, parked_until: parkedUntil })
    if (row === undefined) throw notFound(jobIdOf(uuid))
    return jobView(row)
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
