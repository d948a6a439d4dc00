import type { TickClass } from '@carillon/contract'
import type { Life } from './life.js'
import type { LedgerRecord, ReplayRecord, TickRecords } from './records.js'

/** What became of one tick, as the tables say. */
export interface Verdict {
  became: Exclude<TickClass, 'future' | 'no_tick' | 'not_verifiable'>
  /** Why it did not run, where it did not. */
  reason: string | null
  /** It ran, and ended as failed or dead. */
  failed: boolean
  /** How often and where it is on record, if more than once. */
  doubled: string | null
}

/** All that is on record about a tick. */
export interface Evidence {
  tick: number
  records: TickRecords
  /** Ranges that cover it. */
  ranges: readonly LedgerRecord[]
  /** Replays that have it still before them. */
  replays: readonly ReplayRecord[]
}

/** Pure: the same tables give the same verdict, whoever asks. */
export function judge(life: Life, evidence: Evidence, lateToleranceMs: number): Verdict {
  const doubled = doubledBy(evidence)
  const { records, ranges, replays, tick } = evidence
  const last = lastRound(records.finals)
  // A re-drive puts a tick that ended into the queue again, in a new round.
  if (records.queued !== null && (last === undefined || records.queued > last.round))
    return { became: 'in_flight', reason: null, failed: false, doubled }
  if (last !== undefined) return { ...ended(last, records, lateToleranceMs), doubled }
  const [range] = ranges
  if (range !== undefined)
    return { became: 'skipped', reason: range.reason ?? 'unknown', failed: false, doubled }
  if (records.letter !== null) return { became: 'ran', reason: null, failed: true, doubled }
  const became = replays.length > 0 ? 'in_flight' : notReached(life, tick)
  return { became, reason: null, failed: false, doubled }
}

/** A tick without any record: it lies ahead of the cursor, or it is lost. */
function notReached({ row }: Life, tick: number): 'paused' | 'pending' | 'unaccounted' {
  if (row.accounted_through === null || tick <= row.accounted_through) return 'unaccounted'
  if (row.state === 'paused') return 'paused'
  // Between what is accounted for and the cursor there is no tick, or it was jumped.
  return row.state === 'active' && row.due !== null && tick >= row.due ? 'pending' : 'unaccounted'
}

function ended(
  last: LedgerRecord,
  records: TickRecords,
  lateToleranceMs: number,
): Pick<Verdict, 'became' | 'reason' | 'failed'> {
  // A re-drive that was cancelled before it started changes nothing about the round before, which ran.
  const began = lastRound(records.finals.filter((row) => !neverBegan(row)))
  if (last.outcome === 'skipped' || (neverBegan(last) && began === undefined))
    return { became: 'skipped', reason: last.reason ?? last.outcome, failed: false }
  if (began !== undefined && began !== last) return ended(began, records, lateToleranceMs)
  const failed = last.outcome === 'failed' || last.outcome === 'dead'
  if (last.catch_up) return { became: 'caught_up', reason: null, failed }
  const lateBy = lateness(records.first ?? last)
  return { became: lateBy > lateToleranceMs ? 'late' : 'ran', reason: null, failed }
}

function neverBegan({ outcome, started_at: startedAt }: LedgerRecord): boolean {
  return outcome === 'cancelled' && startedAt === null
}

/** How long after its time the first attempt began. Whoever died with it recorded only that he had it. */
export function lateness({ available_at, started_at, leased_at }: LedgerRecord): number {
  const began = started_at ?? leased_at
  return available_at === null || began === null ? 0 : Math.max(0, began - available_at)
}

function lastRound(finals: readonly LedgerRecord[]): LedgerRecord | undefined {
  return finals.reduce<LedgerRecord | undefined>(
    (last, row) => (last === undefined || row.round > last.round ? row : last),
    undefined,
  )
}

function doubledBy({ records, ranges, replays }: Evidence): string | null {
  const { finals, queued, letter } = records
  const rounds = new Set(finals.map(({ round }) => round))
  const last = lastRound(finals)
  const found: string[] = []
  if (rounds.size < finals.length) found.push(`${finals.length} final records in ${rounds.size} round(s)`)
  if (queued !== null && last !== undefined && queued <= last.round)
    found.push(`ended in round ${last.round + 1}, and in the queue in round ${queued + 1}`)
  if (queued !== null && letter !== null) found.push('in the queue, and a dead letter')
  const elsewhere = finals.length > 0 || queued !== null || letter !== null
  if (ranges.length > 1) found.push(`covered by ${ranges.length} ranges of skipped ticks`)
  if (ranges.length > 0 && elsewhere)
    found.push('covered by a range of skipped ticks, and has records of its own')
  if (replays.length > 1) found.push(`before ${replays.length} catch-ups`)
  if (replays.length > 0 && (elsewhere || ranges.length > 0))
    found.push('still before a catch-up, and on record already')
  return found.length === 0 ? null : found.join('; ')
}
