import {
  CarillonError,
  type HeartbeatAnswer,
  type HeartbeatInput,
  type LeaseAnswer,
  type LeaseInput,
  type RunRef,
} from '@carillon/contract'
import type { Logger } from 'pino'
import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { incarnationName, incarnationOf, type RunIdentity, runIdOf } from '../../platform/ids.js'
import type { Metrics } from '../../platform/metrics.js'
import type { IsTraced } from '../../targets/signing.js'
import { DefinitionCache } from '../definition-cache.js'
import type { AttemptResult, CloseAnswer, LeasedRun, RunDefinition } from '../run.js'
import { leaseView } from './lease-view.js'
import type { Ask } from './polls.js'

export type HeldRun = RunIdentity & { token: number }
type HeldByWorker = HeldRun & { cancel_requested: boolean; held_ms: number }

const heldStatement = statement<{ holder: number }, HeldByWorker>(
  new URL('./held-by-worker.sql', import.meta.url),
)

/** What roles/ hands over: the lives of the workers, the queue before them and the record after them. */
export interface RemotePorts {
  enrol(tenant: number, name: string, tasks: readonly string[]): Promise<number>
  /** A life sign; null: the tenant has no such worker. */
  sign(tenant: number, worker: number, tasks: readonly string[] | null): Promise<'alive' | 'gone' | null>
  leave(worker: number): Promise<void>
  wait(ask: Ask, waitMs: number, signal: AbortSignal): Promise<LeasedRun[]>
  handBack(worker: number, runs: readonly HeldRun[]): Promise<void>
  /** Runs of a worker that somebody asked to cancel, and whether also when they are under way. */
  revoked(worker: number): Promise<(HeldRun & { replaced: boolean; stop_requested: boolean })[] | null>
  definitions(wanted: readonly { job: number; version: number }[]): Promise<Map<string, RunDefinition>>
  close(result: AttemptResult): Promise<CloseAnswer>
}

export interface RemoteLeasesOptions {
  ports: RemotePorts
  database: Database
  /** A lower bound of the database's clock. */
  databaseNow: () => number
  log: Logger
  metrics: Metrics
  leaseMs: number
  /** Told of every run that a worker gets, where somebody traces them. */
  told?: (run: LeasedRun, definition: RunDefinition, at: number) => void
  /** Which traces are kept: a worker is told so with the run. */
  isTraced?: IsTraced
}

/**
 * An answer that names runs has arrived by now, or never will: longer than the longest wait and than any client should wait
 * for the answer beyond it.
 */
const arrivedMs = 60_000

/** Runs for workers over HTTP, and their heartbeats. It keeps nothing: any process may answer the next call. */
export class RemoteLeases {
  private readonly definitions: DefinitionCache

  constructor(private readonly options: RemoteLeasesOptions) {
    this.definitions = new DefinitionCache((wanted) => options.ports.definitions(wanted))
  }

  /** `signal`: the caller hung up before it had the answer. What was leased for it is handed back then. */
  async lease(tenant: number, input: LeaseInput, signal: AbortSignal): Promise<LeaseAnswer> {
    const { ports, leaseMs } = this.options
    const tasks = [...new Set(input.tasks)]
    const worker = await this.workerOf(tenant, input, tasks)
    if (input.runs !== undefined) await this.handBackUnnamed(worker, await this.held(worker), input.runs)
    // A worker that says nothing but this must not be dead before it is answered.
    const waitMs = Math.min((input.wait_seconds ?? 0) * 1000, leaseMs / 2)
    const ask = { tenant, holder: worker, tasks, most: input.max ?? 1 }
    const runs = ask.most === 0 ? [] : await ports.wait(ask, waitMs, signal)
    return { ...this.terms(worker), data: await this.handOut(worker, runs, signal) }
  }

  async heartbeat(tenant: number, input: HeartbeatInput): Promise<HeartbeatAnswer> {
    const worker = await this.alive(tenant, input.worker_id, null)
    const held = await this.held(worker)
    const named = input.runs ?? held.map(refOf)
    if (input.runs !== undefined) {
      const old = held.filter(({ held_ms: ms }) => ms >= arrivedMs)
      await this.handBackUnnamed(worker, old, input.runs)
    }
    const stop = await this.toStop(worker, held)
    const stopping = new Set(stop.map(keyOf))
    const still = new Set(held.map((run) => keyOf(refOf(run))))
    return {
      ...this.terms(worker),
      held: named.filter((run) => still.has(keyOf(run)) && !stopping.has(keyOf(run))),
      stop,
      lost: named.filter((run) => !still.has(keyOf(run))),
    }
  }

  /** The runs of a worker that are to end although they are under way, and why. */
  async toStop(
    worker: number,
    held: readonly { cancel_requested: boolean }[],
  ): Promise<HeartbeatAnswer['stop']> {
    if (!held.some(({ cancel_requested: asked }) => asked)) return []
    const revoked = await this.options.ports.revoked(worker)
    // Null: lost to others a moment ago, which its next life sign tells.
    return (revoked ?? []).flatMap((run) => {
      const reason = stopReasonOf(run)
      return reason === null ? [] : [{ ...refOf(run), reason }]
    })
  }

  /** The worker of this id, with a life sign on record. Refuses one that is gone. */
  private async alive(tenant: number, workerId: string, tasks: readonly string[] | null): Promise<number> {
    const worker = incarnationOf(workerId)
    const state = worker === null ? null : await this.options.ports.sign(tenant, worker, tasks)
    if (worker === null || state === null) throw unknownWorker(workerId)
    if (state === 'gone') {
      throw new CarillonError('worker_gone', {
        detail: `The worker ${workerId} was silent for longer than ${this.options.leaseMs / 1000} s, or has left.`,
      })
    }
    return worker
  }

  private workerOf(tenant: number, input: LeaseInput, tasks: readonly string[]): Promise<number> {
    return input.worker_id === undefined
      ? this.options.ports.enrol(tenant, input.worker ?? 'worker', tasks)
      : this.alive(tenant, input.worker_id, tasks)
  }

  private terms(worker: number) {
    const { leaseMs } = this.options
    return {
      worker_id: incarnationName(worker),
      lease_seconds: leaseMs / 1000,
      heartbeat_seconds: Math.floor(leaseMs / 300) / 10,
    }
  }

  private held(worker: number): Promise<HeldByWorker[]> {
    return this.options.database.run(heldStatement, { holder: worker })
  }

  /** Runs that this worker has by the tables and does not know of: the answer that named them was lost. */
  private async handBackUnnamed(
    worker: number,
    held: readonly HeldByWorker[],
    named: readonly RunRef[],
  ): Promise<void> {
    const known = new Set(named.map(keyOf))
    const unknown = held.filter((run) => !known.has(keyOf(refOf(run))))
    if (unknown.length > 0) await this.handBack(worker, unknown)
  }

  private async handBack(worker: number, runs: readonly HeldRun[]): Promise<void> {
    const { ports, metrics, log } = this.options
    await ports.handBack(worker, runs)
    metrics.remoteHandedBack.inc(runs.length)
    log.info({ worker: incarnationName(worker), runs: runs.length }, 'handed back runs that never arrived')
  }

  /** The runs as the worker reads them. Whatever keeps them from arriving gives them back. */
  private async handOut(
    worker: number,
    runs: LeasedRun[],
    signal: AbortSignal,
  ): Promise<LeaseAnswer['data']> {
    if (runs.length === 0) return []
    const { log, metrics } = this.options
    const undeliverable = () =>
      this.handBack(worker, runs).catch((error: unknown) =>
        log.warn(
          { err: error },
          'runs that never arrived were not handed back: their worker does, or their time ends them',
        ),
      )
    if (signal.aborted) {
      await undeliverable()
      return []
    }
    signal.addEventListener('abort', () => void undeliverable(), { once: true })
    metrics.leased.inc(runs.length)
    try {
      return await this.views(runs)
    } catch (error) {
      await undeliverable()
      throw error
    }
  }

  private async views(runs: LeasedRun[]): Promise<LeaseAnswer['data']> {
    const { ports, databaseNow, metrics, isTraced } = this.options
    const now = databaseNow()
    const views: LeaseAnswer['data'] = []
    for (const run of runs) {
      const definition = await this.definitions.get(run, runs)
      metrics.startLag.observe(Math.max(0, now - run.availableAt) / 1000)
      if (definition !== null) this.options.told?.(run, definition, now)
      if (definition !== null) views.push(leaseView(run, definition, now, isTraced))
      else await ports.close(withoutDefinition(run, now))
    }
    return views
  }
}

export function unknownWorker(workerId: string): CarillonError {
  return new CarillonError('worker_not_found', { detail: `There is no worker ${JSON.stringify(workerId)}.` })
}

/** Asked to cancel means: do not start. Only a person who cancels this very run, or a replacement, ends what is under way. */
function stopReasonOf(run: {
  replaced: boolean
  stop_requested: boolean
}): HeartbeatAnswer['stop'][number]['reason'] | null {
  if (run.stop_requested) return 'cancel_requested'
  return run.replaced ? 'replaced' : null
}

function withoutDefinition(run: LeasedRun, now: number): AttemptResult {
  return {
    run,
    definition: null,
    outcome: 'failed',
    startedAt: null,
    finishedAt: now,
    retryable: false,
    retryAfterMs: null,
    reason: 'definition_missing',
    error: 'the definition this run was fired with is not in the database',
    result: undefined,
  }
}

function refOf(run: HeldRun): RunRef {
  return { run_id: runIdOf(run), fencing_token: run.token }
}

/** A token is of one lease of one run: both together, so that a mix-up of a client's is no match. */
function keyOf({ run_id, fencing_token }: RunRef): string {
  return `${run_id} ${fencing_token}`
}
