import type { JobDefinition } from '@carillon/contract'
import { jobIdOf } from '../../platform/ids.js'
import type { Schedule } from '../../time/schedule.js'
import { spreadMs } from '../spread.js'
import type { TickChanges } from '../tick-changes.js'

/** How long after its ticks a job starts. The instant of a one-off is meant as it is. */
export function spreadOf({ uuid }: { uuid: string }, schedule: Schedule, definition: JobDefinition): number {
  return schedule.kind === 'once' ? 0 : spreadMs(jobIdOf(uuid), definition)
}

export function startOf(
  due: number | null,
  job: { uuid: string },
  schedule: Schedule,
  definition: JobDefinition,
): number | null {
  return due === null ? null : due + spreadOf(job, schedule, definition)
}

/** The same, but for a tick that somebody moved. */
export function changedStartOf(
  due: number | null,
  job: { uuid: string },
  schedule: Schedule,
  definition: JobDefinition,
  changes: TickChanges,
): number | null {
  return due === null ? null : (changes.movedTo(due) ?? startOf(due, job, schedule, definition))
}
