import type { Runner } from '../db/pool.js'
import { statement } from '../db/statement.js'
import type { Calendar, CalendarSet } from '../time/schedule.js'

const calendarsStatement = statement<
  { tenants: number[] },
  { tenant: number; name: string; definition: Calendar }
>(new URL('./calendars.sql', import.meta.url))

/** Whether a job leaves something out by a calendar's name, and not only by dates of its own. */
export function namesCalendar({ exclude }: { exclude?: readonly string[] | undefined }): boolean {
  return exclude?.some((entry) => !/^\d{4}-\d{2}-\d{2}/.test(entry)) ?? false
}

/** The calendars of tenants, by tenant. None are read for nobody. */
export async function readCalendars(
  runner: Runner,
  tenants: readonly number[],
): Promise<Map<number, CalendarSet>> {
  const wanted = [...new Set(tenants)]
  if (wanted.length === 0) return new Map()
  const sets = new Map<number, Record<string, Calendar>>(wanted.map((tenant) => [tenant, {}]))
  for (const { tenant, name, definition } of await runner.run(calendarsStatement, { tenants: wanted })) {
    const set = sets.get(tenant)
    if (set !== undefined) set[name] = definition
  }
  return sets
}
