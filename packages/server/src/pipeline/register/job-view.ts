import {
  type Job,
  type JobDefinition,
  type JobDefinitionView,
  type JobState,
  type JobWarning,
  type RunStatus,
  retryViewOf,
} from '@carillon/contract'
import { jobIdOf } from '../../platform/ids.js'
import { utcText } from '../../time/iso-text.js'
import { warnOfTemplate } from '../../time/template.js'

/** A job as job-view.sql and list/show-jobs.sql answer it. */
export interface JobRow {
  job: number
  uuid: string
  state: JobState
  version: number
  definition: JobDefinition
  created_at: number
  updated_at: number
  ended_at: number | null
  paused_at: number | null
  pause_reason: string | null
  paused_until: number | null
  cancelled_at: number | null
  cancel_reason: string | null
  kind: string
  task: string
  next_due: number | null
  /** Where the cursor stands, if somebody asked something of a tick from there on; null: nobody did. */
  changed_from: number | null
  /** The newest tick of which a run is in flight, and of which there is a final row. */
  live_due: number | null
  live_status: 'running' | 'pending' | null
  last_due: number | null
  last_outcome: RunStatus | null
  served: boolean
}

export function jobView(row: JobRow): Job {
  const last = lastOf(row)
  return {
    job_id: jobIdOf(row.uuid),
    ...definitionView(row.definition),
    state: row.state,
    version: row.version,
    next_run_at: textOrNull(row.next_due),
    last_run_at: textOrNull(last.due),
    last_run_status: last.status,
    created_at: utcText(row.created_at),
    updated_at: utcText(row.updated_at),
    ended_at: textOrNull(row.ended_at),
    cancelled_at: textOrNull(row.cancelled_at),
    cancel_reason: row.cancel_reason,
    paused_at: textOrNull(row.paused_at),
    pause_reason: row.pause_reason,
    paused_until: textOrNull(row.paused_until),
    warnings: row.state === 'ended' || row.state === 'cancelled' ? [] : warningsOf(row),
  }
}

/** A definition as people see it, with the fields that it was stored without. */
export function definitionView({ anchor: _anchor, ...definition }: JobDefinition): JobDefinitionView {
  const { description = null, tags = [], managed_by = null } = definition
  // The rest is a copy of its own already: another one would cost as much as all else that is shown.
  return Object.assign(definition, { description, tags, managed_by }, retryViewOf(definition))
}

/** A run in flight is newer than the row of an earlier round of its tick. */
function lastOf(row: JobRow): { due: number | null; status: RunStatus | null } {
  const inFlight = row.live_due !== null && row.live_due >= (row.last_due ?? row.live_due)
  return inFlight
    ? { due: row.live_due, status: row.live_status }
    : { due: row.last_due, status: row.last_outcome }
}

function warningsOf(row: Pick<JobRow, 'definition' | 'served' | 'kind' | 'task'>): JobWarning[] {
  const timeless = warnOfTemplate(row.definition.idempotency_key_template)
  return [...(row.served ? [] : [unserved(row)]), ...(timeless === null ? [] : [timeless])]
}

/** What may keep a job with this definition from running as meant. */
export function jobWarnings(definition: JobDefinition, served: boolean): JobWarning[] {
  const { target } = definition
  return warningsOf({
    definition,
    served,
    kind: target.type,
    task: target.type === 'task' ? target.task : '',
  })
}

/** No live worker can run it. */
export function unserved(row: Pick<JobRow, 'kind' | 'task'>): JobWarning {
  if (row.kind === 'task') {
    return {
      code: 'no_worker_for_task',
      message: `No live worker serves the task ${JSON.stringify(row.task)}: its runs wait. Start one with --tasks FILE.`,
    }
  }
  if (row.kind === 'command') {
    return {
      code: 'no_worker_for_commands',
      message: 'No live worker runs commands: its runs wait. Start one with --allow-commands.',
    }
  }
  return {
    code: 'no_worker',
    message: 'No live worker: its runs wait. Start a process with the worker role.',
  }
}

function textOrNull(ms: number | null): string | null {
  return ms === null ? null : utcText(ms)
}
