import type { JobDefinition } from '@carillon/contract'
import { type CalendarSet, parseSchedule, type Schedule } from '../../time/schedule.js'

/** What a job's ticks are computed from. */
export interface Terms {
  definition: JobDefinition
  calendars: CalendarSet
}

/** The schedule, or null where it cannot be read: that must keep nobody from pausing, deleting or repairing the job. */
export function readable({ definition, calendars }: Terms): Schedule | null {
  try {
    return parseSchedule({ ...definition, calendars })
  } catch {
    return null
  }
}
