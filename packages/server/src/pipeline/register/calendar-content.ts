import type { JobDefinition } from '@carillon/contract'
import type { Calendar, CalendarSet } from '../../time/schedule.js'

/** What the calendars that a job names have in them, or null where it names none. */
export function calendarsNamed(
  { exclude }: Pick<JobDefinition, 'exclude'>,
  calendars: CalendarSet,
): Record<string, Calendar> | null {
  const named = exclude.flatMap((name) => {
    const calendar = Object.hasOwn(calendars, name) ? calendars[name] : undefined
    return calendar === undefined ? [] : [[name, calendar] as const]
  })
  return named.length === 0 ? null : Object.fromEntries(named)
}
