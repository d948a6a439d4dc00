import { type AuditEntry, type AuditList, CarillonError } from '@carillon/contract'
import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { decodeCursor, encodeCursor } from '../../platform/cursor.js'
import { jobIdOf, keyIdOf, uuidOf, uuidOfKey } from '../../platform/ids.js'
import { latestTogether } from '../audit-together.js'
import { instantOf } from '../instant-of.js'
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
  /** One of several jobs that were registered together, and its name. */
  job: string | null
  name: string | null
}

/** With each: how much of the log was gone through for the page, and to where. */
type WalkRow = { walked: number; reached: number | null; reached_at: number | null } & (
  | EntryRow
  | { [Name in keyof EntryRow]: null }
)

interface ListParams {
  tenant: number
  actor: string | null
  actor_key: string | null
  action: string | null
  after: number | null
  before: number | null
  before_entry: number
  walk: number
  most: number
}

const listStatement = statement<ListParams, WalkRow>(new URL('./list-audit.sql', import.meta.url))
const listOfStatement = statement<
  ListParams & { subject: string; job: string | null; job_until: string | null },
  WalkRow
>(new URL('./list-audit-of.sql', import.meta.url))

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

/** Entries that are gone through for one page of those that a filter asks for. */
const defaultWalked = 10_000
/** An entry is written later than its instant by no more than this. */
const slackMs = 3_600_000

/** What was changed in a tenant, by whom. The rows are kept for as long as the database is. */
export class AuditLog {
  constructor(
    private readonly database: Database,
    private readonly options: { walked?: number } = {},
  ) {}

  async list(tenant: number, query: AuditQuery): Promise<AuditList> {
    const { limit, cursor, actor = null, action = null, subject = null } = query
    const [before] = cursor === null ? [Number.MAX_SAFE_INTEGER] : decodeCursor(cursor)
    if (before === undefined) throw new CarillonError('invalid_cursor')
    const key = actor === null ? null : uuidOfKey(actor)
    const after = instantOf(query.after, 'query:after')
    const narrows = [actor, action, query.after ?? null, query.before ?? null].some((given) => given !== null)
    const walk = narrows ? Math.max(this.options.walked ?? defaultWalked, limit + 1) : limit + 1
    const params: ListParams = {
      tenant,
      actor: key === null ? actor : null,
      actor_key: key,
      action,
      after,
      before: instantOf(query.before, 'query:before'),
      before_entry: before,
      walk,
      most: limit + 1,
    }
    const rows =
      subject === null
        ? await this.database.run(listStatement, params)
        : await this.database.run(listOfStatement, { ...params, subject, ...jobNamed(subject) })
    const found = rows.flatMap((row) => (row.entry === null ? [] : [row]))
    const page = found.slice(0, limit)
    const goOn = found.length > limit ? (page.at(-1)?.entry ?? null) : restOf(rows[0], walk, after)
    return { data: page.map(view), next_cursor: goOn === null ? null : encodeCursor([goOn]) }
  }
}

/** Where the walk ended, if there may be more that the filter asks for. */
function restOf(way: WalkRow | undefined, walk: number, after: number | null): number | null {
  if (way === undefined || way.walked < walk || way.reached_at === null) return null
  return after !== null && way.reached_at < after - slackMs ? null : way.reached
}

/** The job that a subject is, and the latest that can have been registered together with it. */
function jobNamed(subject: string): { job: string | null; job_until: string | null } {
  const job = uuidOf(subject)
  return { job, job_until: job === null ? null : latestTogether(job) }
}

function view({ entry, at, actor_key: key, job, name, ...row }: EntryRow): AuditEntry {
  return {
    entry_id: entry,
    at: utcText(at),
    actor: row.actor,
    actor_key_id: key === null ? null : keyIdOf(key),
    action: row.action,
    subject: job === null ? row.subject : jobIdOf(job),
    detail: job === null ? row.detail : { name },
    request_id: row.request_id,
  }
}
