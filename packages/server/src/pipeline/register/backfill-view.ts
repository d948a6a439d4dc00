import type { Backfill } from '@carillon/contract'
import { backfillIdOf, jobIdOf } from '../../platform/ids.js'
import { utcText } from '../../time/iso-text.js'

/** A backfill as show-backfills.sql answers it. */
export interface BackfillRow {
  replay: number
  uuid: string
  from_ms: number
  to_ms: number
  state: 'running' | 'paused' | 'done' | 'cancelled'
  total: number
  /** Runs that were made. */
  started: number
  per_minute: number
  only_missing: boolean
  reason: string
  created_at: number
  now: number
  in_flight: number
  done: number
  failed: number
}

export function backfillView(row: BackfillRow): Backfill {
  // Every run of it was made; it is done when they have ended.
  const state = row.state === 'done' && row.in_flight > 0 ? 'running' : row.state
  return {
    backfill_id: backfillIdOf(row.replay),
    job_id: jobIdOf(row.uuid),
    from: utcText(row.from_ms),
    to: utcText(row.to_ms),
    state,
    total: row.total,
    started: row.started,
    done: row.done,
    failed: row.failed,
    per_minute: row.per_minute,
    only_missing: row.only_missing,
    reason: row.reason === '' ? null : row.reason,
    created_at: utcText(row.created_at),
    eta_seconds: state === 'paused' ? null : state === 'running' ? etaOf(row) : 0,
  }
}

/** At its own pace, or at the one that it has kept so far where that is slower. */
function etaOf({
  total,
  started,
  done,
  per_minute: perMinute,
  created_at: createdAt,
  now,
}: BackfillRow): number {
  const paceMs = 60_000 / perMinute
  const keptMs = started < 2 ? 0 : (now - createdAt) / started
  return Math.ceil(((total - done) * Math.max(paceMs, keptMs)) / 1000)
}
