import type { WorkerPorts } from '../pipeline/execute/worker.js'
import { isClosed } from '../pipeline/execute/delivered.js'
import type { HandOver } from '../pipeline/fire/hand-over.js'
import type { AttemptResult, CloseAnswer, LeasedRun, RunDefinition } from '../pipeline/run.js'
import { runIdOf, type RunIdentity } from '../platform/ids.js'
import { attemptSpanId, fireSpanId, leaseSpanId, registrationOf, runTraceId } from '../platform/trace-ids.js'
import type { Tracing } from '../platform/tracing.js'

/** What was fired, by whom it is known. */
export interface FiredRun extends RunIdentity {
  jobId: string
  version: number
  at: number
  catchUp: boolean
}

type Attributes = Record<string, string | number | boolean>
/** Who closes a run, and how its delivery was called. */
interface Delivery {
  jobId: string
  runId: string
}

/**
 * The spans of runs: fire, lease, deliver, close, in the one trace that a run has over all attempts. They are made where the roles put the stages
 * together, so that the stages know nothing of them; ids are derived (platform/trace-ids.ts), so that nothing has to be handed on.
 */
export class RunSpans {
  /** When the lease of a run was asked for and answered. */
  private readonly leases = new WeakMap<LeasedRun, { from: number; to: number }>()
  private readonly deliveries = new WeakMap<LeasedRun, Delivery>()

  constructor(
    private readonly tracing: Tracing,
    private readonly now: () => number,
  ) {}

  fired({ jobId, version, at, catchUp, ...run }: FiredRun): void {
    const runId = runIdOf(run)
    const traceId = runTraceId(jobId, runId)
    if (!this.tracing.wants(traceId)) return
    this.tracing.end({
      ...{ traceId, spanId: fireSpanId(jobId, runId), name: 'carillon fire', kind: 'producer' },
      ...{ from: at, to: at },
      // The registration was long ago, in a trace of its own.
      links: [registrationOf(jobId, version)],
      attributes: {
        ...about(jobId, runId, run),
        'carillon.job.version': version,
        'carillon.catch_up': catchUp,
        'carillon.lateness_ms': Math.max(0, at - run.due),
      },
    })
  }

  /** Leased and delivered elsewhere: only the instant is known. */
  leasedFor(run: LeasedRun, jobId: string, at: number): void {
    this.leases.set(run, { from: at, to: at })
    this.leased(run, jobId, runIdOf(run))
  }

  /** The same ports, with spans around them. */
  around(ports: WorkerPorts): WorkerPorts {
    return {
      ...ports,
      lease: async (holder, most) => {
        const from = this.now()
        const runs = await ports.lease(holder, most)
        this.note(runs, from)
        return runs
      },
      deliver: async (run, definition, stop, begun) => {
        const { jobId } = definition
        const runId = runIdOf(run)
        const traceId = runTraceId(jobId, runId)
        if (!this.tracing.wants(traceId)) return ports.deliver(run, definition, stop, begun)
        this.leased(run, jobId, runId)
        this.deliveries.set(run, { jobId, runId })
        const delivered = await ports.deliver(run, definition, stop, begun)
        const closed = isClosed(delivered)
        this.delivered(run, definition, {
          ...{ runId, from: begun.startedAt, to: this.now() },
          outcome: closed ? 'success' : delivered.outcome,
          ...(!closed && delivered.outcome === 'failed' && { error: delivered.reason ?? 'failed' }),
        })
        return delivered
      },
      close: async (result) => {
        const delivery = this.deliveries.get(result.run)
        if (delivery === undefined) return ports.close(result)
        return this.closing(result, delivery, ports.close(result))
      },
    }
  }

  /** The same for a worker over HTTP, whose delivery is known when it is told. */
  async remoteClosed(
    result: AttemptResult,
    jobId: string,
    closing: Promise<CloseAnswer>,
  ): Promise<CloseAnswer> {
    const { run, definition, startedAt, finishedAt, outcome, reason } = result
    const runId = runIdOf(run)
    if (definition === null || !this.tracing.wants(runTraceId(jobId, runId))) return closing
    this.delivered(
      run,
      { jobId, definition },
      {
        ...{ runId, from: startedAt ?? finishedAt, to: finishedAt, outcome },
        ...(outcome === 'failed' && { error: reason ?? 'failed' }),
      },
    )
    return this.closing(result, { jobId, runId }, closing)
  }

  aroundHandOver(handOver: HandOver): HandOver {
    return {
      ...handOver,
      offer: (runs) => {
        const from = this.now()
        const offer = handOver.offer(runs)
        if (offer === null) return null
        const accept = (handed: LeasedRun[]) => {
          this.note(handed, from)
          offer.accept(handed)
        }
        return { ...offer, accept }
      },
    }
  }

  private note(runs: readonly LeasedRun[], from: number): void {
    const to = this.now()
    for (const run of runs) this.leases.set(run, { from, to })
  }

  private leased(run: LeasedRun, jobId: string, runId: string): void {
    const times = this.leases.get(run)
    const traceId = runTraceId(jobId, runId)
    if (times === undefined || !this.tracing.wants(traceId)) return
    this.tracing.end({
      ...{ traceId, spanId: leaseSpanId(jobId, runId, run.token), parentId: fireSpanId(jobId, runId) },
      ...{ name: 'carillon lease', kind: 'internal', ...times },
      attributes: { ...about(jobId, runId, run), ...ofAttempt(run) },
    })
  }

  private delivered(
    run: LeasedRun,
    { jobId, definition }: RunDefinition,
    how: { runId: string; from: number; to: number; outcome: string; error?: string },
  ): void {
    const { runId, from, to, outcome, error } = how
    this.tracing.end({
      traceId: runTraceId(jobId, runId),
      spanId: attemptSpanId(jobId, runId, run.token),
      parentId: leaseSpanId(jobId, runId, run.token),
      name: `carillon deliver ${definition.target.type}`,
      kind: definition.target.type === 'http' ? 'client' : 'consumer',
      ...{ from, to },
      attributes: {
        ...about(jobId, runId, run),
        ...ofAttempt(run),
        ...ofTarget(definition.target),
        'carillon.job.name': definition.name,
        'carillon.outcome': outcome,
      },
      ...(error !== undefined && { error }),
    })
  }

  private async closing(
    { run, outcome }: AttemptResult,
    { jobId, runId }: Delivery,
    closing: Promise<CloseAnswer>,
  ): Promise<CloseAnswer> {
    const from = this.now()
    const answer = await closing
    this.tracing.end({
      traceId: runTraceId(jobId, runId),
      // Nothing follows from it, but its own id must be the same whenever it is told again.
      spanId: attemptSpanId(jobId, `${runId} closed`, run.token),
      parentId: attemptSpanId(jobId, runId, run.token),
      ...{ name: 'carillon close', kind: 'internal', from, to: this.now() },
      attributes: {
        ...about(jobId, runId, run),
        ...ofAttempt(run),
        'carillon.outcome': outcome,
        'carillon.close': answer,
      },
      ...(answer === 'stale' && { error: 'the lease was lost' }),
    })
    return answer
  }
}

function about(jobId: string, runId: string, run: RunIdentity): Attributes {
  return {
    'carillon.job.id': jobId,
    'carillon.run.id': runId,
    'carillon.scheduled_at': new Date(run.due).toISOString(),
  }
}

function ofAttempt(run: LeasedRun): Attributes {
  return { 'carillon.attempt': run.attempt, 'carillon.round': run.round, 'carillon.fencing_token': run.token }
}

/** Neither path nor query, which may hold secrets. */
function ofTarget(target: RunDefinition['definition']['target']): Attributes {
  if (target.type === 'task') return { 'carillon.task': target.task }
  if (target.type !== 'http' || !URL.canParse(target.url)) return {}
  return { 'server.address': new URL(target.url).hostname, 'http.request.method': target.method ?? 'POST' }
}
