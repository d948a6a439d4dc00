import { TaskStoppedError } from '@carillon/sdk'
import type { Delivered } from './delivered.js'

/** How attempts end of which the target says nothing: the worker itself knows. */

export const cancelledBeforeStart: Delivered = {
  outcome: 'cancelled',
  retryable: false,
  retryAfterMs: null,
  reason: 'cancelled_before_start',
  error: null,
  result: undefined,
}

/** Why a run is told to stop, or not started at all, and how it ends when it obeys. */
export interface Ending {
  why: () => TaskStoppedError
  delivered: Delivered
}

export const endings = {
  replaced: {
    why: () => new TaskStoppedError('replaced', 'a newer run of this job takes the place of this one'),
    delivered: { ...cancelledBeforeStart, reason: 'replaced' },
  },
  /** A person cancelled this very run. */
  cancelled: {
    why: () => new TaskStoppedError('cancelled', 'the run was cancelled'),
    delivered: { ...cancelledBeforeStart, reason: 'cancel_requested' },
  },
} as const satisfies Record<string, Ending>

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
