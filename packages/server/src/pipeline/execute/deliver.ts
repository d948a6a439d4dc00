import type { Target as TargetDefinition } from '@carillon/contract'
import { runIdOf } from '../../platform/ids.js'
import type { Attempt, Outcome, Target } from '../../targets/target.js'
import { renderTemplate } from '../../time/template.js'
import type { LeasedRun, RunDefinition } from '../run.js'
import type { Delivered } from './worker.js'

export type Targets = {
  [Kind in TargetDefinition['type']]: Target<Extract<TargetDefinition, { type: Kind }>>
}

/** Hands one attempt to its target and translates what came of it. */
export async function deliver(
  targets: Targets,
  run: LeasedRun,
  { jobId, definition }: RunDefinition,
  signal: AbortSignal,
): Promise<Delivered> {
  const attempt: Attempt = {
    jobId,
    jobName: definition.name,
    runId: runIdOf(run),
    scheduledAt: run.due,
    attempt: run.attempt,
    token: run.token,
    catchUp: run.catchUp,
    idempotencyKey: renderTemplate(definition.idempotency_key_template, {
      jobId,
      scheduledAt: run.due,
      timezone: definition.timezone,
    }),
    payload: definition.payload,
    timeoutMs: definition.timeout_seconds * 1000,
  }
  const { target } = definition
  const outcome =
    target.type === 'http'
      ? await targets.http.deliver(target, attempt, signal)
      : await targets.task.deliver(target, attempt, signal)
  return delivered(outcome, signal)
}

function delivered(outcome: Outcome, signal: AbortSignal): Delivered {
  if (outcome.kind === 'succeeded') {
    return {
      outcome: 'succeeded',
      retryable: false,
      retryAfterMs: null,
      reason: null,
      error: null,
      result: outcome.result,
    }
  }
  // Stopped by this worker, not by a fault of the run's.
  const stopped = signal.aborted && outcome.reason === 'cancelled'
  return {
    outcome: 'failed',
    retryable: outcome.retryable,
    retryAfterMs: outcome.retryAfterMs ?? null,
    reason: stopped ? 'worker_stopped' : outcome.reason,
    error: outcome.error,
    result: outcome.result,
  }
}
