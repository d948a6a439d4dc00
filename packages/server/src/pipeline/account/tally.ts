import type { Finding, FindingKind, Verification } from '@carillon/contract'
import type { Verdict } from './verdict.js'
import { utcText } from '../../time/iso-text.js'

export const mostFindings = 100

type Counter = Exclude<
  keyof Verification,
  'from' | 'to' | 'skipped_by_reason' | 'findings' | 'notes' | 'next_cursor'
>

/** The numbers of a verification, as they add up. */
export class Tally {
  readonly counts: Record<Counter, number> = {
    jobs: 0,
    expected: 0,
    ran: 0,
    late: 0,
    caught_up: 0,
    skipped: 0,
    in_flight: 0,
    paused: 0,
    pending: 0,
    unaccounted: 0,
    doubled: 0,
    unexpected: 0,
    wrong_count: 0,
    tz_changed: 0,
    failed: 0,
    not_verifiable: 0,
  }
  readonly skippedByReason = new Map<string, number>()
  readonly findings: Finding[] = []

  /** One expected tick. It counts in exactly one class; `doubled` and `failed` come on top. */
  add({ became, reason, failed, doubled }: Verdict): void {
    this.counts.expected++
    this.counts[became]++
    if (failed) this.counts.failed++
    if (doubled !== null) this.counts.doubled++
    if (became === 'skipped') {
      const why = reason ?? 'unknown'
      this.skippedByReason.set(why, (this.skippedByReason.get(why) ?? 0) + 1)
    }
  }

  find(
    life: { jobId: string; row: { name: string } },
    tick: number | null,
    kind: FindingKind,
    detail: string,
  ): void {
    if (this.findings.length >= mostFindings) return
    const at = tick === null ? null : utcText(tick)
    this.findings.push({ job_id: life.jobId, job: life.row.name, tick: at, kind, detail })
  }

  result(rest: Pick<Verification, 'from' | 'to' | 'notes' | 'next_cursor'>): Verification {
    return {
      from: rest.from,
      to: rest.to,
      ...this.counts,
      skipped_by_reason: Object.fromEntries([...this.skippedByReason].sort(([a], [b]) => a.localeCompare(b))),
      findings: this.findings,
      notes: rest.notes,
      next_cursor: rest.next_cursor,
    }
  }
}
