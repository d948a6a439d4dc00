import type { Run } from '@carillon/sdk'
import type { Look } from '../output/look.js'
import { duration, localTime } from '../output/time.js'
import { firstLine, visible } from '../output/visible.js'
import { paintStatus, statusText } from './status.js'

export function isFailure({ status }: Run): boolean {
  return status === 'failed' || status === 'dead'
}

/** One change of a run in one line: when, what, how long, why. */
export function runLine(run: Run, look: Look, name = run.job_id): string {
  const at = run.finished_at ?? run.started_at ?? run.scheduled_at
  const took = run.duration_ms === null ? '' : duration(run.duration_ms)
  const attempt = run.attempt > 1 ? `attempt ${run.attempt}` : ''
  const why = [run.reason, run.error]
    .filter((text) => text !== null)
    .map(firstLine)
    .join('; ')
  const status = paintStatus(statusText(visible(run.status)).padEnd(11), run.status, look.colors)
  const parts = [
    localTime(new Date(at), look.timeZone),
    status,
    visible(name),
    visible(run.run_id),
    took,
    attempt,
    why,
  ]
  return `${parts.filter((part) => part !== '').join('  ')}\n`
}
