import type { Delivered } from './worker.js'

/** How attempts end of which the target says nothing: the worker itself knows. */

export const cancelledBeforeStart: Delivered = {
  outcome: 'cancelled',
  retryable: false,
  retryAfterMs: null,
  reason: 'cancelled_before_start',
  error: null,
  result: undefined,
}

/** Stopped, or not started, because a newer run of its job takes its place. */
export const replacedByNewer: Delivered = { ...cancelledBeforeStart, reason: 'replaced' }

export const definitionGone: Delivered = {
  outcome: 'failed',
  retryable: false,
  retryAfterMs: null,
  reason: 'definition_missing',
  error: 'the definition this run was fired with is not in the database',
  result: undefined,
}

export function deliveryBroke(error: unknown): Delivered {
  const message = error instanceof Error ? (error.stack ?? error.message) : String(error)
  return {
    outcome: 'failed',
    retryable: true,
    retryAfterMs: null,
    reason: 'internal_error',
    error: message,
    result: undefined,
  }
}
