import type { Event } from '@carillon/contract'
import type { Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { iso, isoOrNull } from './words.js'

interface EventRow {
  alert: number
  tenant: number | null
  kind: string
  subject: string
  detail: unknown
  raised_at: number
  resolved_at: number | null
}

export interface EventQuery {
  /** Null: of all tenants. */
  tenant: number | null
  openOnly: boolean
  limit: number
}

const listStatement = statement<{ tenant: number | null; open_only: boolean; most: number }, EventRow>(
  new URL('./list-events.sql', import.meta.url),
)

/** Those that go on first, then the latest. */
export async function listEvents(runner: Runner, query: EventQuery): Promise<Event[]> {
  const rows = await runner.run(listStatement, {
    tenant: query.tenant,
    open_only: query.openOnly,
    most: query.limit,
  })
  return rows.map((row) => ({
    event: row.alert,
    kind: row.kind,
    scope: row.tenant === null ? 'fleet' : 'tenant',
    subject: row.subject,
    detail: row.detail,
    raised_at: iso(row.raised_at),
    resolved_at: isoOrNull(row.resolved_at),
  }))
}
