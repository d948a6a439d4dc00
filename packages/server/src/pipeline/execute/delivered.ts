import type { AttemptResult } from '../run.js'

/** How an attempt went, as the delivery tells it. */
export type Delivered = Pick<
  AttemptResult,
  'outcome' | 'retryable' | 'retryAfterMs' | 'reason' | 'error' | 'result'
>

/** The handler's own transaction has closed the run: there is nothing left to record. */
export const closedByHandler = { outcome: 'closed' } as const
export type Closed = typeof closedByHandler

export function isClosed(delivered: Delivered | Closed): delivered is Closed {
  return delivered.outcome === 'closed'
}
