import type { JobDefinition } from '@carillon/contract'
import type { AttemptResult } from '../run.js'

/** What the ledger will say of an attempt, and when the next one may start. */
export interface Verdict {
  outcome: 'succeeded' | 'failed' | 'dead' | 'cancelled'
  retryAt: number | null
}

const baseMs = 1_000
const capMs = 300_000

/**
 * Decides what follows an attempt. A failure that may be tried again waits for its backoff; one that may not, or that
 * was the last, is a dead letter. `random` in [0, 1) spreads the waits, so that many failures do not come back at once.
 */
export function judge(result: AttemptResult, random: number): Verdict {
  const { outcome, run, definition, retryable, retryAfterMs, finishedAt } = result
  if (outcome !== 'failed') return { outcome, retryAt: null }
  if (!retryable || definition === null || run.attempt >= run.maxAttempts)
    return { outcome: 'dead', retryAt: null }
  const delayMs = retryAfterMs ?? backoffMs(definition.retry_backoff, run.attempt, random)
  return { outcome: 'failed', retryAt: finishedAt + Math.ceil(delayMs) }
}

/** Half of the wait is certain, half is jitter. */
export function backoffMs(kind: JobDefinition['retry_backoff'], attempt: number, random: number): number {
  const growth = { fixed: 1, linear: attempt, exponential: 2 ** Math.min(attempt - 1, 30) }[kind]
  const full = Math.min(capMs, baseMs * growth)
  return full / 2 + (full / 2) * random
}
