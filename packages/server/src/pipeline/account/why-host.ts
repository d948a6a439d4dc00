import type { QueueRow } from './why-facts.js'
import { utc } from './words.js'

/** What to add where its host holds a run back: which one, since when, and when it is tried next. */
export function hostHoldsBack(queued: QueueRow, now: number): string {
  const { reason, task: host, breaker_since: since, breaker_retry_at: retryAt } = queued
  const began = since === null ? '' : ` since ${utc(since)}`
  switch (reason) {
    case 'breaker_open': {
      const error = queued.target_error === null ? '' : ` (${queued.target_error})`
      return `: ${host}${began}${error}; ${nextTry(queued.breaker, retryAt, now)}`
    }
    case 'target_draining':
      return `: ${host}${began}`
    case 'target_rate':
      return `: ${host}, ${queued.target_rate} a second`
    case 'target_concurrency':
      return `: ${host}, ${queued.target_concurrent} at once`
    default:
      return ''
  }
}

function nextTry(state: QueueRow['breaker'], retryAt: number | null, now: number): string {
  if (state === 'half_open') return 'one run is on its way as a probe'
  return retryAt !== null && retryAt > now
    ? `the next one is let through at ${utc(retryAt)}`
    : 'the next one is let through as a probe'
}
