import type { Calendar } from '@carillon/sdk'
import { renderFacts } from '../output/facts.js'
import type { Look } from '../output/look.js'
import { renderTable } from '../output/table.js'
import { when, whenInZone } from '../output/time.js'
import { visible } from '../output/visible.js'

export function calendarTable(calendars: readonly Calendar[], look: Look): string {
  return renderTable<Calendar>(
    [
      { title: 'NAME', cell: ({ name }) => visible(name), least: 10 },
      { title: 'DATES', cell: ({ dates }) => String(dates.length) },
      { title: 'BLACKOUTS', cell: ({ blackouts }) => String(blackouts.length) },
      { title: 'JOBS', cell: ({ jobs }) => String(jobs) },
      { title: `UPDATED (${look.timeZone})`, cell: ({ updated_at: at }) => when(at, look), optional: true },
    ],
    calendars,
    look,
  )
}

export function calendarDetails(calendar: Calendar, look: Look): string {
  const facts: [string, string][] = [
    ['Name', look.colors.bold(visible(calendar.name))],
    ['Version', String(calendar.version)],
    ['Named by', `${calendar.jobs} live jobs`],
    ['Updated', whenInZone(calendar.updated_at, look)],
    ...calendar.dates.map((date): [string, string] => ['Date', visible(date)]),
    ...calendar.blackouts.map(({ from, to, reason }): [string, string] => [
      'Blackout',
      visible(`${from} to ${to}: ${reason}`),
    ]),
  ]
  return renderFacts(facts, look)
}
