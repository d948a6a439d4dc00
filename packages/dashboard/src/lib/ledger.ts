import type { Run } from '@carillon/contract'

/** What a cell of the ledger strip says; each has an icon, a word and a hue. */
export type Outcome =
  | 'success'
  | 'late'
  | 'caught_up'
  | 'failed'
  | 'dead'
  | 'skipped'
  | 'missed'
  | 'paused'
  | 'cancelled'
  | 'running'
  | 'pending'
  | 'retrying'

export const outcomeWords: Record<Outcome, string> = {
  success: 'on time',
  late: 'late',
  caught_up: 'caught up',
  failed: 'failed',
  dead: 'dead',
  skipped: 'skipped',
  missed: 'missed',
  paused: 'paused',
  cancelled: 'cancelled',
  running: 'running',
  pending: 'waiting',
  retrying: 'retrying',
}

/** Later than this after its tick is late; the server's own tolerance decides what counts as missed. */
export const lateAfterMs = 1_000

export interface Cell {
  runId: string
  at: number
  outcome: Outcome
  reason: string | null
  error: string | null
  lagMs: number | null
  durationMs: number | null
  attempt: number
  /** More than one: the row stands for a range of ticks. */
  ticks: number
  until: number | null
}

export function cellOf(run: Run): Cell {
  const at = Date.parse(run.scheduled_at)
  const lagMs = run.started_at === null ? null : Math.max(0, Date.parse(run.started_at) - at)
  return {
    runId: run.run_id,
    at,
    outcome: outcomeOf(run, lagMs),
    reason: run.reason,
    error: run.error,
    lagMs,
    durationMs: run.duration_ms,
    attempt: run.attempt,
    ticks: run.skipped_count ?? 1,
    until: run.skipped_until === null ? null : Date.parse(run.skipped_until),
  }
}

function outcomeOf(run: Run, lagMs: number | null): Outcome {
  switch (run.status) {
    case 'success':
    case 'stale':
      if (run.catch_up) return 'caught_up'
      // Of a later attempt the start says nothing about how late the tick was.
      return run.attempt === 1 && lagMs !== null && lagMs > lateAfterMs ? 'late' : 'success'
    case 'failed':
      return 'failed'
    case 'dead':
      return 'dead'
    case 'skipped':
      if (run.reason === 'missed' || run.reason === 'overload') return 'missed'
      return run.reason === 'paused' ? 'paused' : 'skipped'
    case 'cancelled':
      return 'cancelled'
    case 'running':
      return 'running'
    case 'pending':
      return run.attempt > 1 ? 'retrying' : 'pending'
  }
}

/** The newest last, as time goes; at most so many. The server's order is newest first. */
export function stripOf(runs: readonly Run[], most = 60): Cell[] {
  return runs
    .slice(0, most)
    .map(cellOf)
    .sort((a, b) => a.at - b.at)
}

export interface Tally {
  ran: number
  failed: number
  skipped: number
  inFlight: number
  /** The reasons of what did not run, the most frequent first. */
  reasons: [string, number][]
}

/** One line about a strip: what a person reads before any cell. */
export function tallyOf(cells: readonly Cell[]): Tally {
  const tally: Tally = { ran: 0, failed: 0, skipped: 0, inFlight: 0, reasons: [] }
  const reasons = new Map<string, number>()
  for (const { outcome, ticks, reason } of cells) {
    if (outcome === 'success' || outcome === 'late' || outcome === 'caught_up') tally.ran += ticks
    else if (outcome === 'failed' || outcome === 'dead') tally.failed += ticks
    else if (outcome === 'running' || outcome === 'pending' || outcome === 'retrying') tally.inFlight += ticks
    else tally.skipped += ticks
    const tells = outcome !== 'success' && outcome !== 'running' && outcome !== 'pending'
    if (tells && reason !== null) reasons.set(reason, (reasons.get(reason) ?? 0) + ticks)
  }
  tally.reasons = [...reasons].sort((a, b) => b[1] - a[1])
  return tally
}

/** A stable word as people read it. */
export function reasonText(reason: string): string {
  return reason.replaceAll('_', ' ')
}
