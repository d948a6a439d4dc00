import type { Lease } from '@carillon/contract'
import { runIdOf } from '../../platform/ids.js'
import { type IsTraced, traceparent } from '../../targets/signing.js'
import { idempotencyKeyOf } from '../idempotency-key.js'
import type { LeasedRun, RunDefinition } from '../run.js'
import { utcText } from '../../time/iso-text.js'

/** A leased run as a worker over HTTP reads it. */
export function leaseView(
  run: LeasedRun,
  definition: RunDefinition,
  leasedAt: number,
  isTraced?: IsTraced,
): Lease {
  const { name, target, payload, timeout_seconds: timeout } = definition.definition
  const runId = runIdOf(run)
  return {
    run_id: runId,
    job_id: definition.jobId,
    job_name: name,
    task: target.type === 'task' ? target.task : '',
    payload: ('payload' in run ? run.payload : payload) ?? null,
    scheduled_at: utcText(run.due),
    attempt: run.attempt,
    max_attempts: run.maxAttempts,
    fencing_token: run.token,
    idempotency_key: idempotencyKeyOf(run, definition),
    catch_up: run.catchUp,
    traceparent: traceparent({ jobId: definition.jobId, runId, token: run.token }, isTraced),
    timeout_seconds: timeout,
    timeout_at: utcText(leasedAt + timeout * 1000),
  }
}
