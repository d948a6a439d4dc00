import type { AlertKind } from '@carillon/contract'
import { jobIdOf } from '../../platform/ids.js'
import { utcText } from '../../time/iso-text.js'
import { ageText } from '../ages.js'
import { type Finding, fingerprintOf, type JobFacts, type Over } from './finding.js'
import type { EffectiveRule, RuleBook } from './rule-book.js'

/** What read-tail.sql says of one job. */
export interface TailRow extends JobFacts {
  failed_due: number | null
  succeeded: boolean
  error: string | null
  /** Runs in a row that failed, up to now. */
  failures: number
  missed: number
  missed_due: number | null
  ran_due: number | null
  /** Of the last ticks: passed over because the run before them was going on, and run. */
  overlapped: number
  ran: number
  period_ms: number | null
  schedule: unknown
  /** The longest that a first attempt began after its time, and the latest tick that began. */
  lag: number | null
  started_due: number | null
  took: number | null
  ended_due: number | null
  open: { kind: string; mark: number | null }[]
}

export interface Judged {
  raise: Finding[]
  resolve: Over[]
}

/** What was learned of how long runs of a job take. */
export interface Learned {
  samples: number
  p95: number
}

/** Attempts shorter than this are slow only where their job says so: nothing is learned of them. */
export const slowMs = 10_000

interface Case {
  row: TailRow
  rule: EffectiveRule
}

/** What a kind says of a job: a finding, that it is over, or nothing. */
type Verdict = Omit<Finding, 'tenant' | 'kind' | 'severity' | 'fingerprint' | 'job'> | 'over' | null

/** Judges what became of the ticks of some jobs. Pure: the rules, the rows and what was learned in, what to raise and to close out. */
export function judgeTail(
  rows: readonly TailRow[],
  rules: RuleBook,
  learned: ReadonlyMap<number, Learned>,
): Judged {
  const judged: Judged = { raise: [], resolve: [] }
  for (const row of rows) {
    for (const [kind, judge] of judges) {
      const rule = rules.find(row.tenant, kind, row)
      if (!rule.enabled) continue
      const verdict = judge({ row, rule }, learned.get(row.job))
      settle(judged, kind, row, rule, verdict)
    }
  }
  return judged
}

function settle(
  judged: Judged,
  kind: AlertKind,
  row: TailRow,
  { severity }: EffectiveRule,
  verdict: Verdict,
): void {
  const { tenant, job } = row
  const fingerprint = fingerprintOf(kind, row)
  if (verdict === 'over') {
    if (row.open.some((open) => open.kind === kind)) judged.resolve.push({ tenant, fingerprint })
  } else if (verdict !== null) {
    const detail = { job_id: jobIdOf(row.uuid), ...verdict.detail }
    judged.raise.push({ tenant, kind, severity, fingerprint, job, ...verdict, detail })
  }
}

function failedInRow({ row, rule }: Case): Verdict {
  if (row.failures === 0) return row.succeeded ? 'over' : null
  const { times } = rule.params
  if (row.failed_due === null || row.failures < (times ?? 1)) return null
  return {
    subject: `${row.name} failed ${row.failures} times in a row`,
    detail: {
      failures: row.failures,
      error: row.error,
      todo: `carillon runs list ${jobIdOf(row.uuid)}`,
    },
    mark: row.failed_due,
  }
}

function missedTick({ row }: Case): Verdict {
  if (row.missed === 0) return isLater(row, 'missed_tick', row.ran_due) ? 'over' : null
  const ticks = row.missed === 1 ? 'a tick' : `${row.missed} ticks`
  return {
    subject: `${row.name} missed ${ticks}`,
    detail: {
      ticks: row.missed,
      last_missed: row.missed_due === null ? null : utcText(row.missed_due),
      todo: `carillon why ${jobIdOf(row.uuid)}`,
    },
    mark: row.missed_due,
    found: Math.min(row.missed, 1_000_000),
  }
}

function lateStart({ row, rule }: Case): Verdict {
  const within = startWithinMs(row, rule)
  if (within === null || row.lag === null) return null
  if (row.lag <= within) return isLater(row, 'late_start', row.started_due) ? 'over' : null
  return late(row, within, row.lag, row.started_due)
}

/** A run that started too late, or waits. */
export function late(job: JobFacts, withinMs: number, lagMs: number, due: number | null) {
  return {
    subject: `${job.name} did not start within ${ageText(withinMs)}`,
    detail: {
      expected_ms: withinMs,
      waited_ms: lagMs,
      tick: due === null ? null : utcText(due),
      todo: `carillon why ${jobIdOf(job.uuid)}`,
    },
    mark: due,
  }
}

export function startWithinMs(
  { expect }: Pick<JobFacts, 'expect'>,
  { params }: EffectiveRule,
): number | null {
  const seconds = expect?.start_within_seconds ?? params['start_within_seconds'] ?? null
  return seconds === null ? null : seconds * 1000
}

function slowRun({ row, rule }: Case, learned: Learned | undefined): Verdict {
  const bound = slowBound(row, rule, learned)
  if (row.took === null) return null
  if (bound === null) return row.took < slowMs && isLater(row, 'slow_run', row.ended_due) ? 'over' : null
  if (row.took <= bound.ms) return isLater(row, 'slow_run', row.ended_due) ? 'over' : null
  return slow(row, bound, row.took, row.ended_due)
}

export interface SlowBound {
  ms: number
  learned: Learned | null
}

/** Beyond which an attempt is slow; null: nobody knows yet. */
export function slowBound(
  { expect }: Pick<JobFacts, 'expect'>,
  { params }: EffectiveRule,
  learned: Learned | undefined,
): SlowBound | null {
  if (expect?.finish_within_seconds !== undefined)
    return { ms: expect.finish_within_seconds * 1000, learned: null }
  if (learned === undefined || learned.samples < (params['min_samples'] ?? 0)) return null
  const ms = Math.max(learned.p95 * (params['factor'] ?? 1), (params['min_seconds'] ?? 0) * 1000)
  return { ms, learned }
}

/** An attempt that takes, or took, too long. */
export function slow(job: JobFacts, { ms, learned }: SlowBound, tookMs: number, due: number | null) {
  const usual = learned === null ? 'as expected' : `usually at most ${ageText(learned.p95)}`
  return {
    subject: `${job.name} takes longer than ${ageText(ms)}${learned === null ? '' : ` (${usual})`}`,
    detail: {
      bound_ms: ms,
      took_ms: tookMs,
      p95_ms: learned?.p95 ?? null,
      tick: due === null ? null : utcText(due),
      todo: `carillon jobs get ${jobIdOf(job.uuid)}`,
    },
    mark: due,
  }
}

function cadenceDrift({ row, rule }: Case): Verdict {
  const { overlapped, ran, period_ms: period } = row
  if (overlapped * 4 < overlapped + ran || overlapped === 0) return 'over'
  if (overlapped < (rule.params['skipped'] ?? 1) || overlapped < ran) return null
  const effective = period === null || ran === 0 ? null : Math.round((period * (overlapped + ran)) / ran)
  const words =
    period === null || effective === null
      ? 'runs take longer than its period'
      : `every ${ageText(period)} became about ${ageText(effective)}`
  return {
    subject: `${row.name}: ${words}`,
    detail: {
      period_ms: period,
      effective_period_ms: effective,
      ticks_passed_over: overlapped,
      ticks_run: ran,
      schedule: row.schedule,
      todo: 'Make the run shorter or the period longer, or let runs overlap: overlap_policy ALLOW.',
    },
    mark: null,
  }
}

const judges: readonly [AlertKind, (of: Case, learned: Learned | undefined) => Verdict][] = [
  ['failed_in_row', failedInRow],
  ['missed_tick', missedTick],
  ['late_start', lateStart],
  ['slow_run', slowRun],
  ['cadence_drift', cadenceDrift],
]

/** Whether a tick is later than the one that the open alert of this kind was raised for. */
function isLater({ open }: TailRow, kind: AlertKind, due: number | null): boolean {
  const alert = open.find((one) => one.kind === kind)
  return alert !== undefined && due !== null && due > (alert.mark ?? Number.NEGATIVE_INFINITY)
}
