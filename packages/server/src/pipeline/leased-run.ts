import type { RunIdentity } from '../platform/ids.js'
import type { LeasedRun } from './run.js'

/** A run in flight, as the statements that read one answer it. */
export interface RunRow extends RunIdentity {
  tenant: number
  version: number
  epoch: number
  attempt: number
  max_attempts: number
  round: number
  fired_at: number
  available_at: number
  catch_up: boolean
}

/** The same under the holder and the token that somebody speaks for. */
export function leasedRunOf(row: RunRow, holder: number, token: number): LeasedRun {
  return {
    due: row.due,
    job: row.job,
    origin: row.origin,
    seq: row.seq,
    partition: row.partition,
    tenant: row.tenant,
    version: row.version,
    epoch: row.epoch,
    attempt: row.attempt,
    maxAttempts: row.max_attempts,
    round: row.round,
    availableAt: row.available_at,
    firedAt: row.fired_at,
    token,
    place: null,
    holder,
    catchUp: row.catch_up,
  }
}
