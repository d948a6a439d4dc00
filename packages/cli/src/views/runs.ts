import type { Run } from '@carillon/sdk'
import type { NameOf } from '../job-names.js'
import type { Look } from '../output/look.js'
import { renderTable } from '../output/table.js'
import { duration, localTime, when } from '../output/time.js'
import { firstLine, visible } from '../output/visible.js'
import { paintStatus, statusText } from './status.js'

/** So wide a terminal has room for how far away a tick is. */
const roomy = 120

/** Of one job, or of all: then each row says whose it is. The id stays, whatever else has to go: it opens the rest. */
export function runTable(runs: readonly Run[], look: Look, nameOf?: NameOf): string {
  return renderTable<Run>(
    [
      ...(nameOf === undefined
        ? []
        : [{ title: 'JOB', cell: (run: Run) => visible(nameOf(run.job_id)), least: 8 }]),
      {
        title: `SCHEDULED (${look.timeZone})`,
        cell: ({ scheduled_at: at }) =>
          look.width < roomy ? localTime(new Date(at), look.timeZone) : when(at, look),
      },
      {
        title: 'STATUS',
        cell: (run) => statusText(visible(run.status)),
        paint: (text, run) => paintStatus(text, run.status, look.colors),
      },
      { title: 'ATTEMPT', cell: attemptOf, optional: 'first' },
      { title: 'DELAY', cell: (run) => between(run.scheduled_at, run.started_at), optional: 'first' },
      { title: 'TOOK', cell: (run) => between(run.started_at, run.finished_at), optional: 'first' },
      { title: 'WHY', cell: (run) => whyOf(run, look), least: 8, optional: true },
      { title: 'ID', cell: (run) => visible(run.run_id) },
    ],
    runs,
    look,
  )
}

/** A decision not to run has no attempt. */
function attemptOf(run: Run): string {
  if (run.attempt === 0) return '–'
  return run.max_attempts === null ? String(run.attempt) : `${run.attempt} of ${run.max_attempts}`
}

function between(from: string | null, to: string | null): string {
  if (from === null || to === null) return '–'
  return duration(Math.max(0, Date.parse(to) - Date.parse(from)))
}

function whyOf(run: Run, look: Look): string {
  const parts = [
    ...(run.catch_up ? ['caught up'] : []),
    ...(run.reason === null ? [] : [visible(run.reason)]),
    ...(run.error === null ? [] : [firstLine(run.error)]),
    ...ticksOf(run, look),
  ]
  return parts.join('; ')
}

/** One row may stand for many ticks of one gap. */
function ticksOf(run: Run, look: Look): string[] {
  if (run.skipped_count === null || run.skipped_until === null) return []
  return [`${run.skipped_count} ticks until ${localTime(new Date(run.skipped_until), look.timeZone)}`]
}
