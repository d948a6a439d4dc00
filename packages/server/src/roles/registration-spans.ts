import type { Job } from '@carillon/contract'
import type { JobsPort } from '../http/api.js'
import { currentCaller } from '../platform/caller.js'
import { runIdentityOf } from '../platform/ids.js'
import {
  attemptSpanId,
  fireSpanId,
  parseTraceparent,
  registrationOf,
  runTraceId,
  type SpanRef,
} from '../platform/trace-ids.js'
import type { Tracing } from '../platform/tracing.js'

/**
 * Spans of registrations and triggers. A registration has a trace of its own, which runs of the job are linked to, however much later they come.
 * A caller that sent its context has a span of the call in its own trace as well, and the two are linked.
 */
export function traceJobs(jobs: JobsPort, tracing: Tracing, now: () => number): JobsPort {
  const timed = async <Result>(work: () => Promise<Result>, tell: (result: Result, from: number) => void) => {
    const from = now()
    const result = await work()
    tell(result, from)
    return result
  }
  const registered = (jobId: string, version: number, name: string, from: number) => {
    const span = registrationOf(jobId, version)
    if (!tracing.wants(span.traceId)) return
    const to = now()
    const attributes = { 'carillon.job.id': jobId, 'carillon.job.version': version }
    const call = tellCall(tracing, name, span, { from, to, attributes })
    tracing.end({
      ...{ ...span, name: 'carillon register', kind: 'internal', from, to, attributes },
      ...(call !== null && { links: [call] }),
    })
  }
  const ofJob = (name: string) => (job: Job, from: number) => registered(job.job_id, job.version, name, from)
  const traced: Partial<JobsPort> = {
    create: (tenant, input) => timed(() => jobs.create(tenant, input), ofJob('create')),
    createOnce: (tenant, input, call) =>
      timed(
        () => jobs.createOnce(tenant, input, call),
        ({ answer, replayed }, from) => {
          const jobId = /job_[0-9a-z]{26}/.exec(answer.location ?? '')?.[0]
          if (!replayed && jobId !== undefined) registered(jobId, 1, 'create', from)
        },
      ),
    createMany: (tenant, items, options, inside) =>
      timed(
        () => jobs.createMany(tenant, items, options, inside),
        ({ outcomes }, from) => {
          for (const outcome of outcomes)
            if (outcome.status === 'created') registered(outcome.jobId, 1, 'create many', from)
        },
      ),
    upsert: (tenant, input, expected) =>
      timed(
        () => jobs.upsert(tenant, input, expected),
        ({ job }, from) => ofJob('put')(job, from),
      ),
    edit: (tenant, jobId, patch) => timed(() => jobs.edit(tenant, jobId, patch), ofJob('edit')),
    rollback: (tenant, jobId, input) => timed(() => jobs.rollback(tenant, jobId, input), ofJob('rollback')),
    trigger: (tenant, jobId, inside) =>
      timed(
        () => jobs.trigger(tenant, jobId, inside),
        (run, from) => triggered(tracing, run, { from, to: now() }),
      ),
  }
  // All else is the registry's own.
  return Object.assign(Object.create(jobs) as JobsPort, traced)
}

/** A trigger makes a run at once: its span is the root of the run's trace, as a fire would be. */
function triggered(
  tracing: Tracing,
  run: { job_id: string; run_id: string; version: number | null },
  times: { from: number; to: number },
): void {
  const { job_id: jobId, run_id: runId, version: known } = run
  const version = known ?? 1
  const traceId = runTraceId(jobId, runId)
  const identity = runIdentityOf(runId)
  if (identity === null || !tracing.wants(traceId)) return
  const attributes = { 'carillon.job.id': jobId, 'carillon.run.id': runId, 'carillon.job.version': version }
  const span = { traceId, spanId: fireSpanId(jobId, runId) }
  const call = tellCall(tracing, 'trigger', span, { ...times, attributes })
  tracing.end({
    ...{ ...span, name: 'carillon trigger', kind: 'producer', ...times, attributes },
    links: [registrationOf(jobId, version), ...(call === null ? [] : [call])],
  })
}

/** The call in the trace of whoever made it; null where it sent no context, or does not want it kept. */
function tellCall(
  tracing: Tracing,
  what: string,
  about: SpanRef,
  { from, to, attributes }: { from: number; to: number; attributes: Record<string, string | number> },
): SpanRef | null {
  const caller = parseTraceparent(currentCaller()?.traceparent)
  if (caller === null || !caller.sampled) return null
  const span = {
    traceId: caller.traceId,
    spanId: attemptSpanId(caller.spanId, about.spanId, 0),
  }
  tracing.end({
    ...{ ...span, parentId: caller.spanId, name: `carillon ${what}`, kind: 'server', from, to },
    ...{ links: [about], attributes },
  })
  return span
}
