import type { AttemptResult, LeasedRun, RunDefinition } from '../run.js'
import { hostOf } from '../host.js'
import type { HostOutcome } from './reports.js'

type Delivered = Pick<AttemptResult, 'outcome' | 'reason' | 'error' | 'result' | 'retryAfterMs'>

/**
 * What an attempt says of the host that it called; null where it never called it, or was cut short by its worker. No
 * connection, no answer in time, 5xx and "too many requests" speak against the host. Any other refusal is an answer of a
 * host that is well.
 */
export function outcomeOf(
  run: LeasedRun,
  { definition }: RunDefinition,
  delivered: Delivered,
): HostOutcome | null {
  const host = hostOf(definition.target)
  if (host === null) return null
  const { outcome, reason, retryAfterMs } = delivered
  const error = withoutPaths(delivered.error)
  const said = { tenant: run.tenant, host, probe: run.guard?.probe ?? false }
  const well = { ...said, ok: true, error: null, retryAfterMs: null }
  if (outcome === 'success') return well
  if (reason === 'timeout' || reason === 'connection') return { ...said, ok: false, error, retryAfterMs }
  if (reason !== 'http_status') return null
  const status = statusOf(delivered.result)
  return status === 429 || status >= 500 ? { ...said, ok: false, error, retryAfterMs } : well
}

/** The path of a webhook is often its secret, and what a host is said to have done goes into logs and events. */
function withoutPaths(error: string | null): string | null {
  return error?.replace(/(\b[a-z]+:\/\/[^/\s?#]+)[^\s:,;]*/gi, '$1') ?? null
}

function statusOf(result: unknown): number {
  const { status } = (result ?? {}) as { status?: unknown }
  return typeof status === 'number' ? status : 0
}
