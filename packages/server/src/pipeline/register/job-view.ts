import { type Job, type JobDefinition, type JobState, type JobWarning, retryViewOf } from '@carillon/contract'
import { jobIdOf } from '../../platform/ids.js'
import { warnOfTemplate } from '../../time/template.js'

/** A job as job-view.sql and list-jobs.sql answer it. */
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
  kind: string
  task: string
  next_due: number | null
  served: boolean
}

export function jobView(row: JobRow): Job {
  const { anchor: _anchor, ...definition } = row.definition
  return {
    job_id: jobIdOf(row.uuid),
    ...definition,
    ...retryViewOf(definition),
    state: row.state,
    version: row.version,
    next_run_at: isoOrNull(row.next_due),
    created_at: new Date(row.created_at).toISOString(),
    updated_at: new Date(row.updated_at).toISOString(),
    ended_at: isoOrNull(row.ended_at),
    paused_at: isoOrNull(row.paused_at),
    pause_reason: row.pause_reason,
    paused_until: isoOrNull(row.paused_until),
    warnings: row.state === 'ended' ? [] : warningsOf(row),
  }
}

function warningsOf(row: JobRow): JobWarning[] {
  const timeless = warnOfTemplate(row.definition.idempotency_key_template)
  return [...(row.served ? [] : [unserved(row)]), ...(timeless === null ? [] : [timeless])]
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

function isoOrNull(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString()
}
