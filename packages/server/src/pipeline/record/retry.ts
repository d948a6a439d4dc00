import { type RetryPolicy, retryPolicyOf } from '@carillon/contract'
import type { AttemptResult } from '../run.js'

/** What the ledger will say of an attempt, and when the next one may start. */
export interface Verdict {
  outcome: 'success' | 'failed' | 'dead' | 'cancelled'
  retryAt: number | null
  /** Why no other attempt follows; null unless the run is dead. A stable word. */
  because: Ended | null
}

export type Ended =
  /** The failure itself says that a repetition would end the same. */
  | 'not_retryable'
  | 'attempts_used'
  /** The next attempt would start later than `max_elapsed_seconds` allows. */
  | 'time_used'
  /** It may have run, and the job must never run twice. */
  | 'lost'
  | 'definition_missing'

/** A target may ask for a longer wait than any backoff, but not for more than a day. */
const longestRetryAfterMs = 86_400_000

/**
 * Decides what follows an attempt. A failure that may be tried again waits for its backoff, or for as long as the target
 * asked; one that may not, or that was the last, is a dead letter. `random` in [0, 1) spreads the waits, so that many
 * failures do not come back at once.
 */
export function judge(result: AttemptResult, random: number): Verdict {
  const { outcome, run, definition, retryable, retryAfterMs, finishedAt, reason } = result
  if (outcome !== 'failed') return { outcome, retryAt: null, because: null }
  if (definition === null) return dead('definition_missing')
  if (!retryable) return dead('not_retryable')
  const policy = retryPolicyOf(definition)
  if (reason === 'worker_stopped' && policy.onLost === 'fail') return dead('lost')
  // The row has the last word: it was made with the definition of its time.
  if (run.attempt >= run.maxAttempts) return dead('attempts_used')
  const waitMs =
    retryAfterMs === null
      ? backoffMs(policy, run.attempt, random)
      : Math.min(Math.max(retryAfterMs, 0), longestRetryAfterMs)
  const retryAt = finishedAt + Math.ceil(waitMs)
  // A run that catches up or was re-driven is due long before it was made.
  const began = Math.max(run.due, run.firedAt)
  if (policy.maxElapsedMs !== null && retryAt > began + policy.maxElapsedMs) return dead('time_used')
  return { outcome: 'failed', retryAt, because: null }
}

function dead(because: Ended): Verdict {
  return { outcome: 'dead', retryAt: null, because }
}

/** Full jitter: anywhere between now and the whole wait, which is what spreads a crowd best. */
export function backoffMs(policy: RetryPolicy, attempt: number, random: number): number {
  const growth = {
    fixed: 1,
    linear: attempt,
    exponential: policy.factor ** (attempt - 1),
  }[policy.backoff]
  // A power beyond all numbers is capped like any other.
  return Math.min(policy.capMs, policy.baseMs * growth) * random
}
