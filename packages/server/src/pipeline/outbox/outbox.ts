import { CarillonError, type JobInput, limits } from '@carillon/contract'
import type { Logger } from 'pino'
import { isAboutARow } from '../../db/errors.js'
import type { Database, Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { type Caller, onBehalfOf } from '../../platform/caller.js'
import { jobIdOf } from '../../platform/ids.js'
import { utcText } from '../../time/iso-text.js'

interface Request {
  entry: number
  tenant: number
  uuid: string
  definition: { task: string; payload: unknown } & Partial<Omit<JobInput, 'schedule' | 'target' | 'payload'>>
  due: number | null
  triggers: string | null
  made: boolean
  /** Who asked; null for what was asked before that was noted. */
  login: string | null
}

const claimStatement = statement<{ claim_ms: number; longest_ms: number; most: number }, Request>(
  new URL('./claim.sql', import.meta.url),
)
const finishStatement = statement<{ entry: number }, { entry: number }>(
  new URL('./finish.sql', import.meta.url),
)
const refuseStatement = statement<{ entry: number; error: string }, { entry: number }>(
  new URL('./refuse.sql', import.meta.url),
)
const forgetStatement = statement<{ retention_ms: number; most: number }, { entry: number }>(
  new URL('./forget.sql', import.meta.url),
)

export interface OutboxOptions {
  database: Database
  log: Logger
  ports: {
    /** Registers a job under an id that is given. */
    create(tenant: number, uuid: string, input: JobInput): Promise<void>
    /** Makes a run of a job, and `within` in the same transaction. */
    trigger(tenant: number, uuid: string, within: (runner: Runner) => Promise<void>): Promise<void>
  }
  raise: (event: RefusedRequest) => void
}

export interface RefusedRequest {
  tenant: number
  kind: 'enqueue_refused'
  fingerprint: string
  subject: string
  detail: Record<string, unknown>
}

/** How long one who took a request may be at it before another one tries. */
const claimMs = 30_000
/** What fails is tried again after twice the time, up to this. */
const longestMs = 300_000
/** Requests at once. */
const atOnce = 50
const retentionMs = 86_400_000
const forgottenAtOnce = 1_000

/**
 * Does what callers asked for inside their own transactions: registers one-off jobs and makes runs, each once. A job is
 * made under the id that its request has, so that a second try finds it made; a run is made in the transaction that
 * finishes its request.
 */
export class Outbox {
  constructor(private readonly options: OutboxOptions) {}

  /** Answers true when there is probably more. */
  async runOnce(): Promise<boolean> {
    const { database } = this.options
    const requests = await database.run(claimStatement, {
      claim_ms: claimMs,
      longest_ms: longestMs,
      most: atOnce,
    })
    const results = await Promise.allSettled(
      requests.map((request) => onBehalfOf(callerOf(request), () => this.serve(request))),
    )
    const failure = results.find((result) => result.status === 'rejected')
    if (failure !== undefined) throw failure.reason
    return requests.length === atOnce
  }

  async forgetOnce(): Promise<boolean> {
    const most = forgottenAtOnce
    const gone = await this.options.database.run(forgetStatement, { retention_ms: retentionMs, most })
    return gone.length === most
  }

  private async serve(request: Request): Promise<void> {
    const { entry } = request
    try {
      if (request.due === null) await this.trigger(request)
      else await this.create(request)
    } catch (error) {
      if (error instanceof FinishedByAnother) return
      // A value that no table holds: it fails again, however often it is tried.
      if (isAboutARow(error))
        return this.refuse(request, new CarillonError('internal_error', { cause: error }))
      if (!(error instanceof CarillonError) || error.status >= 500) throw error
      // A quota or a rate: the same request succeeds later, and is tried again when its claim is over.
      if (error.status === 429) this.options.log.warn({ entry, err: error }, 'an enqueued job has to wait')
      else await this.refuse(request, error)
    }
  }

  private async create({ entry, tenant, uuid, definition, due, made }: Request): Promise<void> {
    const { database, ports } = this.options
    const { task, payload, ...options } = definition
    if (!made) {
      await ports.create(tenant, uuid, {
        ...options,
        name: options.name ?? `${beginning(task)} ${jobIdOf(uuid)}`,
        schedule: utcText(due ?? 0),
        target: { type: 'task', task },
        payload,
        // It was asked for in time: however late its transaction commits, it runs.
        misfire_grace_seconds: limits.graceSeconds,
      })
    }
    await database.run(finishStatement, { entry })
  }

  private async trigger({ entry, tenant, triggers }: Request): Promise<void> {
    if (triggers === null) throw new CarillonError('job_not_found')
    await this.options.ports.trigger(tenant, triggers, async (runner) => {
      const [finished] = await runner.run(finishStatement, { entry })
      if (finished === undefined) throw new FinishedByAnother()
    })
  }

  /** Nobody waits for an answer: people hear of it as an event. */
  private async refuse(
    { entry, tenant, definition, triggers }: Request,
    error: CarillonError,
  ): Promise<void> {
    const { database, log, raise } = this.options
    const what = triggers === null ? `task ${definition.task}` : jobIdOf(triggers)
    const [refused] = await database.run(refuseStatement, { entry, error: error.message })
    if (refused === undefined) {
      await database.run(finishStatement, { entry })
      return
    }
    log.error({ entry, tenant, err: error }, `an enqueued request was refused: ${what}`)
    raise({
      tenant,
      kind: 'enqueue_refused',
      fingerprint: `enqueue_refused:${entry}`,
      subject: what,
      detail: { code: error.code, error: error.message },
    })
  }
}

const longestBeginning = 160

/** As much of a task's name as the name of a job has room for. Half a character is none that a table holds. */
function beginning(task: string): string {
  return task.slice(0, longestBeginning).replace(/[\uD800-\uDBFF]$/, '')
}

const never = new AbortController().signal

/** Whom the audit names: the login that asked, by way of the database. */
function callerOf({ entry, tenant, due, login }: Request): Caller {
  return {
    tenant,
    tenantName: '',
    role: 'operator',
    actor: login === null ? 'database' : `database:${login}`,
    key: null,
    expiresAt: null,
    operation: due === null ? 'enqueueTrigger' : 'enqueueTask',
    requestId: `outbox_${entry}`,
    signal: never,
  }
}

/** Rolls the transaction back: the run that it would make is there already. */
class FinishedByAnother extends Error {}
