import type { Calendar, CalendarInput, CalendarList } from '@carillon/contract'
import type { Call } from './transport.js'

export interface CalendarCalls {
  readonly calendars: {
    list(): Promise<CalendarList>
    get(name: string): Promise<Calendar>
    /** Makes or replaces it. Every live job that names it has followed when this answers. */
    put(name: string, content: CalendarInput): Promise<Calendar>
    delete(name: string): Promise<void>
  }
}

const calendarsPath = '/api/v1/calendars'

export function calendarCalls(call: <T>(what: Call) => Promise<T>): CalendarCalls {
  return {
    calendars: {
      list: () => call<CalendarList>({ method: 'GET', path: calendarsPath }),
      get: async (name) => await call<Calendar>({ method: 'GET', path: pathOf(name) }),
      put: async (name, content) =>
        await call<Calendar>({ method: 'PUT', path: pathOf(name), body: content }),
      async delete(name) {
        await call({ method: 'DELETE', path: pathOf(name) })
      },
    },
  }
}

function pathOf(name: string): string {
  // As a path segment an empty name, "." or ".." would address something else than a calendar.
  if (/^\.{0,2}$/.test(name)) throw new TypeError(`"${name}" cannot be the name of a calendar.`)
  return `${calendarsPath}/${encodeURIComponent(name)}`
}
