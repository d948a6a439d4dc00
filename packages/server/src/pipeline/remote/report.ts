import type { AttemptReport } from '@carillon/contract'
import { capText, storableText } from '../../targets/storable.js'
import { keepResult } from '../../targets/task-result.js'
import type { AttemptResult, LeasedRun, RunDefinition } from '../run.js'

/** What is known of the attempt beside what its worker says. */
export interface Circumstances {
  run: LeasedRun
  definition: RunDefinition | null
  leasedAt: number | null
  /** By the database's clock. */
  now: number
  /** Why it was told to stop, if it was. */
  stop: 'cancel_requested' | 'replaced' | null
}

const errorBytes = 4_096

/** What a worker over HTTP says of an attempt, as the record takes it: bounded like the word of a task in the process. */
export function resultOf(report: AttemptReport, circumstances: Circumstances): AttemptResult {
  const { run, definition, leasedAt, now } = circumstances
  const began = leasedAt ?? now
  // A clock that was set back since the lease may show a time before it, and before the tick: nothing started or ended then.
  const ended = Math.max(now, began)
  return {
    run,
    definition: definition?.definition ?? null,
    startedAt: startOf(report.started_at, began, ended),
    finishedAt: ended,
    retryable: report.retryable ?? true,
    retryAfterMs: report.retry_after_seconds === undefined ? null : report.retry_after_seconds * 1000,
    result: report.result === undefined ? undefined : keepResult(report.result),
    ...endingOf(report, circumstances, began),
  }
}

function endingOf(
  { outcome, error, retryable }: AttemptReport,
  { stop, definition, now }: Circumstances,
  began: number,
): Pick<AttemptResult, 'outcome' | 'reason' | 'error'> {
  if (outcome === 'success') return { outcome, reason: null, error: null }
  const said = capText(storableText(error ?? 'the worker gave no reason'), errorBytes)
  if (stop !== null) return { outcome: 'cancelled', reason: stop, error: said }
  const overTime = definition !== null && now - began >= definition.definition.timeout_seconds * 1000
  if (overTime) return { outcome: 'failed', reason: 'timeout', error: said }
  if (outcome === 'interrupted') return { outcome: 'failed', reason: 'worker_stopped', error: said }
  return {
    outcome: 'failed',
    reason: retryable === false ? 'task_non_retryable' : 'task_error',
    error: said,
  }
}

/** The worker's own clock may be anywhere: the start lies between the lease and the end. */
function startOf(text: string | undefined, began: number, ended: number): number {
  const said = text === undefined ? Number.NaN : Date.parse(text)
  return Number.isNaN(said) ? began : Math.min(Math.max(said, began), ended)
}
