import type { Target as TargetDefinition } from '@carillon/contract'
import { runIdOf } from '../../platform/ids.js'
import type { Attempt, AttemptEffects, Outcome, Target } from '../../targets/target.js'
import { idempotencyKeyOf } from '../idempotency-key.js'
import type { LeasedRun, RunDefinition } from '../run.js'
import { type Closed, closedByHandler, type Delivered } from './delivered.js'

export type Targets = {
  [Kind in TargetDefinition['type']]: Target<Extract<TargetDefinition, { type: Kind }>>
}

/** Hands one attempt to its target and translates what came of it. */
export async function deliver(
  targets: Targets,
  run: LeasedRun,
  { jobId, definition }: RunDefinition,
  signal: AbortSignal,
  offers: {
    confirm?: () => Promise<void>
    effects?: (idempotencyKey: string) => AttemptEffects
  } = {},
): Promise<Delivered | Closed> {
  const idempotencyKey = idempotencyKeyOf(run, { jobId, definition })
  const attempt: Attempt = {
    tenant: run.tenant,
    jobId,
    jobName: definition.name,
    runId: runIdOf(run),
    scheduledAt: run.due,
    attempt: run.attempt,
    token: run.token,
    catchUp: run.catchUp,
    idempotencyKey,
    payload: 'payload' in run ? run.payload : definition.payload,
    timeoutMs: Math.min(definition.timeout_seconds * 1000, run.guard?.timeoutMs ?? Number.POSITIVE_INFINITY),
    ...(offers.confirm !== undefined && { confirm: offers.confirm }),
    ...(offers.effects !== undefined && { effects: offers.effects(idempotencyKey) }),
  }
  const { target } = definition
  const kind: Target<TargetDefinition> = targets[target.type]
  return delivered(await kind.deliver(target, attempt, signal), signal)
}

function delivered(outcome: Outcome, signal: AbortSignal): Delivered | Closed {
  if (outcome.kind === 'closed') return closedByHandler
  if (outcome.kind === 'success') {
    return {
      outcome: 'success',
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
