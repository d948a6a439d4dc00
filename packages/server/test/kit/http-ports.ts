import {
  CarillonError,
  type Job,
  type JobDryRun,
  type JobInput,
  type Run,
  type RunDetail,
  type ServiceStatus,
  type Stats,
  type JobVersion,
} from '@carillon/contract'
import { pino } from 'pino'
import type {
  ApiPorts,
  BulkOutcome,
  HealthPort,
  JobsPort,
  MetricsPort,
  PageQuery,
  RunsPort,
  StatsPort,
  SchedulesPort,
} from '../../src/http/api.js'
import type { HttpOptions } from '../../src/http/server.js'
import { MemoryAudit, MemoryKeys, MemoryTenants, openAccess } from './access-port.js'
import { MemoryAccount } from './account-port.js'
import { MemoryAlerts, MemoryChannels, MemoryRules, MemorySilences } from './alerts-port.js'
import { MemoryIdempotency } from './idempotency-port.js'
import { MemoryLeases } from './leases-port.js'
import { MemoryCalendars } from './calendars-port.js'
import { MemoryDeadLetters, runDetailOf } from './dead-letters-port.js'
import { MemoryOperations } from './operations-port.js'
import { MemoryRunStreams } from './run-streams-port.js'
import { MemorySigningSecrets } from './signing-secrets-port.js'
import { MemoryTargets } from './targets-port.js'
import { MemoryBackfills, MemoryLoad, MemoryTicks } from './ticks-ports.js'

/** Jobs and runs in memory, behind the ports that the HTTP room is handed. */
export class MemoryPorts implements ApiPorts {
  readonly stored = new Map<string, Job>()
  readonly runsByJob = new Map<string, Run[]>()
  readonly created: { tenant: number; input: JobInput }[] = []
  readonly pages: PageQuery[] = []
  readonly account = new MemoryAccount()
  readonly leases = new MemoryLeases()
  readonly calendars = new MemoryCalendars()
  readonly deadLetters = new MemoryDeadLetters()
  readonly signingSecrets = new MemorySigningSecrets()
  readonly targets = new MemoryTargets()
  readonly alerts = new MemoryAlerts()
  readonly alertSilences = new MemorySilences()
  readonly alertRules = new MemoryRules()
  readonly alertChannels = new MemoryChannels()
  readonly idempotency = new MemoryIdempotency()
  readonly ticks = new MemoryTicks((jobId) => this.find(jobId))
  readonly backfills = new MemoryBackfills((jobId) => this.find(jobId))
  readonly load = new MemoryLoad()
  readonly keys = new MemoryKeys()
  readonly tenants = new MemoryTenants()
  readonly audit = new MemoryAudit()
  readonly runStreams = new MemoryRunStreams()
  readonly operations = new MemoryOperations()
  readonly stats: StatsPort = {
    get: () => Promise.resolve(noStats),
    recent: () => Promise.resolve({ now: noStats.now, through: noStats.now, step_seconds: 5, data: [] }),
    history: () => Promise.resolve({ now: noStats.now, through: noStats.now, step_seconds: 15, data: [] }),
  }
  /** Changes that were asked for, in order. */
  readonly changes: unknown[] = []

  readonly jobs: JobsPort = {
    create: (tenant, input) => {
      this.created.push({ tenant, input })
      const job = jobFrom(input, this.stored.size + 1)
      this.stored.set(job.job_id, job)
      return Promise.resolve(job)
    },
    createOnce: (tenant, input, call) =>
      this.idempotency.once(tenant, call, async () => {
        const job = await this.jobs.create(tenant, input)
        return { status: 201, body: JSON.stringify(job), location: `/api/v1/jobs/${job.job_id}` }
      }),
    createMany: async (tenant, items, { atomic }) => {
      const undone = atomic && items.some((item) => item instanceof CarillonError)
      const outcomes: BulkOutcome[] = []
      for (const item of items) {
        if (item instanceof CarillonError) outcomes.push({ status: 'failed', error: item })
        else if (undone) outcomes.push({ status: 'skipped' })
        else {
          const { job_id: jobId } = await this.jobs.create(tenant, item)
          outcomes.push({ status: 'created', jobId, nextRunAt: Date.UTC(2026, 11, 1) })
        }
      }
      return { outcomes, undone }
    },
    list: (_tenant, query) => {
      this.pages.push(query)
      const { slice, next } = pageOf([...this.stored.values()], query)
      return Promise.resolve({ data: slice, next_cursor: next })
    },
    get: (_tenant, jobId) => this.find(jobId),
    getByName: (_tenant, name) => this.findNamed(name),
    upsert: async (tenant, input, expected) => {
      this.changes.push({ upsert: input, expected })
      const known = [...this.stored.values()].find(({ name }) => name === input.name)
      return { job: known ?? (await this.jobs.create(tenant, input)), created: known === undefined }
    },
    versions: async (_tenant, jobId, query) => {
      this.pages.push(query)
      return { data: [versionOf(await this.find(jobId))], next_cursor: null }
    },
    version: async (_tenant, jobId, version) => {
      const job = await this.find(jobId)
      if (version !== job.version) throw new CarillonError('job_version_not_found')
      return versionOf(job)
    },
    rollback: (_tenant, jobId, input) => this.change(jobId, { rollback: input }),
    cancel: (_tenant, jobId, input) => this.change(jobId, { cancel: input }),
    delete: async (_tenant, jobId) => {
      await this.find(jobId)
      this.stored.delete(jobId)
    },
    pause: (_tenant, jobId, input) => this.change(jobId, { pause: input }),
    resume: (_tenant, jobId) => this.change(jobId, { resume: true }),
    edit: (_tenant, jobId, patch) => this.change(jobId, { edit: patch }),
    tryCreate: (_tenant, input) => {
      this.changes.push({ tryCreate: input })
      return Promise.resolve(dryRunOf(jobFrom(input, 0)))
    },
    tryEdit: async (_tenant, jobId, patch) => {
      this.changes.push({ tryEdit: patch })
      return dryRunOf(await this.find(jobId))
    },
    trigger: async (_tenant, jobId, inside) => {
      await this.change(jobId, { trigger: inside ?? true })
      return runOf(jobId, 1, { status: 'pending' })
    },
  }

  readonly schedules: SchedulesPort = {
    preview: (_tenant, input) => {
      this.changes.push({ preview: input })
      return Promise.resolve({ description: 'In words', timezone: 'UTC', warnings: [], ticks: [] })
    },
    explain: (_tenant, input) => {
      this.changes.push({ explain: input })
      return Promise.resolve({ description: 'In words', timezone: 'UTC', warnings: [], next_run_at: null })
    },
  }

  readonly runs: RunsPort = {
    listByJob: async (_tenant, jobId, query) => {
      this.pages.push(query)
      await this.find(jobId)
      const { slice, next } = pageOf(this.runsByJob.get(jobId) ?? [], query)
      return { runs: slice, next_cursor: next }
    },
    list: (_tenant, query) => {
      this.pages.push(query)
      const { slice, next } = pageOf([...this.runsByJob.values()].flat(), query)
      return Promise.resolve({ data: slice, next_cursor: next })
    },
    get: (_tenant, runId) => this.findRun(runId),
    cancel: (_tenant, runId) => {
      this.changes.push({ runId, cancel: true })
      return this.findRun(runId)
    },
    retry: (_tenant, runId, input) => {
      this.changes.push({ runId, retry: input })
      return this.findRun(runId)
    },
  }

  private findRun(runId: string): Promise<RunDetail> {
    const run = [...this.runsByJob.values()].flat().find(({ run_id }) => run_id === runId)
    return run === undefined
      ? Promise.reject(new CarillonError('run_not_found'))
      : Promise.resolve(runDetailOf(run))
  }

  private change(jobId: string, change: object): Promise<Job> {
    this.changes.push({ jobId, ...change })
    return this.find(jobId)
  }

  private findNamed(name: string): Promise<Job> {
    const job = [...this.stored.values()].find((one) => one.name === name)
    return job === undefined ? Promise.reject(new CarillonError('job_not_found')) : Promise.resolve(job)
  }

  private find(jobId: string): Promise<Job> {
    const job = this.stored.get(jobId)
    return job === undefined ? Promise.reject(new CarillonError('job_not_found')) : Promise.resolve(job)
  }
}

const noCounts = { fired: 0, success: 0, failed: 0, dead: 0, skipped: 0, lag_ms: null }
const noStats: Stats = {
  now: '2026-11-01T09:00:00Z',
  jobs: { active: 0, paused: 0, ended: 0, cancelled: 0 },
  queue: { ready: 0, waiting: 0, running: 0, waiting_retry: 0, parked: 0, oldest_ready_ms: null },
  last_minute: noCounts,
  last_hour: noCounts,
  dead_letters: 0,
  nodes: { alive: 1 },
  catch_up: { replays: 0, ticks: 0 },
}

export const statusOk: ServiceStatus = {
  ...{ state: 'ok', reasons: [], lag_ms: 0, oldest_ready_ms: 0, partitions_unowned: 0, counted_ms_ago: 100 },
  alive: { api: 1, scheduler: 1, worker: 1 },
  node: { node: 'node_1', roles: ['api'], version: '0.0.0', partitions: 256 },
}

export const healthy: HealthPort = {
  live: () => true,
  status: () => statusOk,
  ready: () => Promise.resolve({ ready: true, checks: { database: { ok: true } } }),
}

export const someMetrics: MetricsPort = {
  contentType: 'text/plain; version=0.0.4; charset=utf-8',
  render: () => Promise.resolve('carillon_runs_in_flight 0\n'),
}

export function httpOptions(given: Partial<HttpOptions> = {}): HttpOptions {
  return {
    host: '127.0.0.1',
    port: 0,
    maxBodyBytes: 64 * 1024,
    version: '0.0.0',
    log: pino({ level: 'silent' }),
    health: healthy,
    metrics: someMetrics,
    access: openAccess,
    api: new MemoryPorts(),
    dashboardDir: null,
    ...given,
  }
}

export function jobIdNumber(number: number): string {
  return `job_${String(number).padStart(26, '0')}`
}

export function jobFrom(input: JobInput, number: number): Job {
  return {
    job_id: jobIdNumber(number),
    name: input.name,
    description: input.description ?? null,
    tags: input.tags ?? [],
    managed_by: input.managed_by ?? null,
    last_run_at: null,
    last_run_status: null,
    cancelled_at: null,
    cancel_reason: null,
    state: 'active',
    version: 1,
    schedule: input.schedule,
    timezone: input.timezone ?? 'UTC',
    dst_gap: input.dst_gap ?? 'run_after',
    dst_overlap: input.dst_overlap ?? 'first',
    exclude: input.exclude ?? [],
    on_excluded: input.on_excluded ?? 'exclude',
    starts_at: input.starts_at ?? null,
    ends_at: input.ends_at ?? null,
    max_runs: input.max_runs ?? null,
    jitter_seconds: input.jitter_seconds ?? 0,
    fire_window_seconds: input.fire_window_seconds ?? 0,
    next_run_at: '2026-12-01T09:00:00Z',
    target: input.target ?? { type: 'task', task: 'log' },
    payload: input.payload ?? null,
    idempotency_key_template: input.idempotency_key_template ?? '{{job_id}}:{{scheduled_at_unix}}',
    max_retries: input.max_retries ?? 3,
    retry_backoff: input.retry_backoff ?? 'exponential',
    missed_window: input.missed_window ?? 'RUN_ONCE',
    max_missed: input.max_missed ?? 10,
    misfire_grace_seconds: input.misfire_grace_seconds ?? null,
    overlap_policy: input.overlap_policy ?? 'SKIP',
    max_concurrent: input.max_concurrent ?? null,
    priority: input.priority ?? 5,
    timeout_seconds: input.timeout_seconds ?? 300,
    expect: input.expect ?? null,
    created_at: '2026-11-01T00:00:00Z',
    updated_at: '2026-11-01T00:00:00Z',
    ended_at: null,
    paused_at: null,
    pause_reason: null,
    paused_until: null,
    warnings: [],
  }
}

function versionOf(job: Job): JobVersion {
  const { version, created_at: createdAt } = job
  return { version, created_at: createdAt, current: true, reason: null, changed: [], definition: job }
}

function dryRunOf(job: Job): JobDryRun {
  return {
    version: job.version,
    changed: [],
    definition: job,
    description: 'In words',
    ticks: [],
    warnings: [],
  }
}

export function runOf(jobId: string, number: number, given: Partial<Run> = {}): Run {
  return {
    run_id: `run_${String(number).padStart(30, '0')}`,
    job_id: jobId,
    scheduled_at: '2026-11-01T09:00:00Z',
    available_at: '2026-11-01T09:00:00Z',
    started_at: '2026-11-01T09:00:00.012Z',
    finished_at: '2026-11-01T09:00:01Z',
    duration_ms: null,
    status: 'success',
    attempt: 1,
    max_attempts: 4,
    error: null,
    reason: null,
    result: null,
    catch_up: false,
    version: 1,
    fencing_token: number,
    worker: 'worker-1',
    skipped_until: null,
    skipped_count: null,
    ...given,
  }
}

function pageOf<T>(all: readonly T[], { limit, cursor }: PageQuery): { slice: T[]; next: string | null } {
  const start = cursor === null ? 0 : Number(cursor)
  if (!Number.isInteger(start)) throw new CarillonError('invalid_cursor')
  const end = start + limit
  return { slice: all.slice(start, end), next: end < all.length ? String(end) : null }
}
