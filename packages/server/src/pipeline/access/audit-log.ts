import { type AuditEntry, type AuditList, CarillonError } from '@carillon/contract'
import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { decodeCursor, encodeCursor } from '../../platform/cursor.js'
import { keyIdOf, uuidOfKey } from '../../platform/ids.js'
import { instantOf } from './moment.js'
import { utcText } from '../../time/iso-text.js'

interface EntryRow {
  entry: number
  at: number
  actor: string
  actor_key: string | null
  action: string
  subject: string
  detail: unknown
  request_id: string | null
}

const listStatement = statement<
  {
    tenant: number
    actor: string | null
    actor_key: string | null
    action: string | null
    subject: string | null
    after: number | null
    before: number | null
    before_entry: number
    most: number
  },
  EntryRow
>(new URL('./list-audit.sql', import.meta.url))

export interface AuditQuery {
  limit: number
  cursor: string | null
  /** The name of a key, or its id. */
  actor?: string
  action?: string
  subject?: string
  after?: string
  before?: string
}

/** What was changed in a tenant, by whom. The rows are kept for as long as the database is. */
export class AuditLog {
  constructor(private readonly database: Database) {}

  async list(tenant: number, query: AuditQuery): Promise<AuditList> {
    const { limit, cursor, actor = null, action = null, subject = null } = query
    const [before] = cursor === null ? [Number.MAX_SAFE_INTEGER] : decodeCursor(cursor)
    if (before === undefined) throw new CarillonError('invalid_cursor')
    const key = actor === null ? null : uuidOfKey(actor)
    const rows = await this.database.run(listStatement, {
      tenant,
      actor: key === null ? actor : null,
      actor_key: key,
      action,
      subject,
      after: instantOf(query.after, 'query:after'),
      before: instantOf(query.before, 'query:before'),
      before_entry: before,
      most: limit + 1,
    })
    const page = rows.slice(0, limit)
    const last = page.at(-1)
    const more = rows.length > limit && last !== undefined
    return { data: page.map(view), next_cursor: more ? encodeCursor([last.entry]) : null }
  }
}

function view({ entry, at, actor_key: key, ...row }: EntryRow): AuditEntry {
  return {
    entry_id: entry,
    at: utcText(at),
    actor: row.actor,
    actor_key_id: key === null ? null : keyIdOf(key),
    action: row.action,
    subject: row.subject,
    detail: row.detail,
    request_id: row.request_id,
  }
}
