import { type Calendar, type CalendarInput, CarillonError } from '@carillon/contract'
import type { CalendarsPort } from '../../src/http/api.js'

/** Calendars in memory, behind the port that the HTTP room is handed. */
export class MemoryCalendars implements CalendarsPort {
  readonly stored = new Map<string, Calendar>()
  /** Named by a live job: cannot be deleted. */
  readonly inUse = new Set<string>()

  list(): Promise<{ data: Calendar[] }> {
    return Promise.resolve({ data: [...this.stored.values()] })
  }

  get(_tenant: number, name: string): Promise<Calendar> {
    const calendar = this.stored.get(name)
    return calendar === undefined
      ? Promise.reject(new CarillonError('calendar_not_found'))
      : Promise.resolve(calendar)
  }

  put(_tenant: number, name: string, { dates, blackouts = [] }: CalendarInput): Promise<Calendar> {
    const version = (this.stored.get(name)?.version ?? 0) + 1
    const calendar = { name, version, dates, blackouts, updated_at: '2026-11-01T00:00:00Z', jobs: 0 }
    this.stored.set(name, calendar)
    return Promise.resolve(calendar)
  }

  async delete(tenant: number, name: string): Promise<void> {
    await this.get(tenant, name)
    if (this.inUse.has(name)) throw new CarillonError('calendar_in_use')
    this.stored.delete(name)
  }
}
