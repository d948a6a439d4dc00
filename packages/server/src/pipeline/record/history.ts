import { CarillonError, type Run, type RunStatus } from '@carillon/contract'
import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { decodeCursor, encodeCursor } from '../../platform/cursor.js'
import { incarnationName, runIdOf } from '../../platform/ids.js'
import { parkedUntil } from '../parked.js'
import { utcText } from '../../time/iso-text.js'

export interface RunRow {
  due: number
  origin: number
  seq: number
  partition: number
  status: RunStatus
  attempt: number
  max_attempts: number | null
  error: string | null
  reason: string | null
  result: unknown
  catch_up: boolean
  version: number
  token: number | null
  worker: number | null
  available_at: number | null
  started_at: number | null
  finished_at: number | null
  due_to: number | null
  ticks: number
}

const runsOfJobStatement = statement<
  {
    job: number
    before_due: number
    before_origin: number
    before_seq: number
    after: number
    status: string | null
    most: number
    parked_until: number
  },
  RunRow
>(new URL('./runs-of-job.sql', import.meta.url))

export interface HistoryQuery {
  limit: number
  cursor: string | null
  status?: RunStatus
  /** Instants: ticks from the one on, and before the other. */
  after?: string
  before?: string
}

export interface HistoryPage {
  runs: Run[]
  next_cursor: string | null
}

/** What became of the ticks of a job, as people read it. */
export class History {
  constructor(private readonly database: Database) {}

  async ofJob(job: number, jobId: string, query: HistoryQuery): Promise<HistoryPage> {
    const [due, origin, seq] = positionOf(query)
    const rows = await this.database.run(runsOfJobStatement, {
      job,
      before_due: due,
      before_origin: origin,
      before_seq: seq,
      after: query.after === undefined ? 0 : momentOf(query.after, 'query:after'),
      status: query.status ?? null,
      most: query.limit + 1,
      parked_until: parkedUntil,
    })
    const page = rows.slice(0, query.limit)
    const last = page.at(-1)
    const more = rows.length > query.limit && last !== undefined
    return {
      runs: page.map((row) => runView(row, job, jobId)),
      next_cursor: more ? encodeCursor([last.due, last.origin, last.seq]) : null,
    }
  }
}

/** Where the page begins: after the page before, or at the end of what is asked for. */
function positionOf({ cursor, before }: HistoryQuery): [number, number, number] {
  const from = cursor === null ? afterEverything : cursorOf(cursor)
  const end = before === undefined ? Number.MAX_SAFE_INTEGER : momentOf(before, 'query:before')
  return end < from[0] ? [end, 0, 0] : from
}

const latest = Date.UTC(9999, 11, 31)

export function momentOf(text: string, pointer: string): number {
  const ms = /(?:Z|[+-]\d{2}:\d{2})$/i.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isInteger(ms) && ms >= 0 && ms <= latest) return ms
  throw new CarillonError('validation_failed', {
    detail: `${JSON.stringify(text)} is no instant.`,
    errors: [{ pointer, message: 'must be an instant with an offset, such as 2026-12-01T09:00:00Z' }],
  })
}

/** The largest int of the database: a cursor that names more was not given by this server. */
export const mostSeq = 2 ** 31 - 1

const afterEverything: [number, number, number] = [Number.MAX_SAFE_INTEGER, 0, 0]

function cursorOf(cursor: string): [number, number, number] {
  const [due, origin, seq, ...rest] = decodeCursor(cursor)
  const complete = due !== undefined && origin !== undefined && seq !== undefined && rest.length === 0
  if (!complete || origin > 255 || seq > mostSeq) {
    throw new CarillonError('invalid_cursor', {
      errors: [{ pointer: 'query:cursor', message: 'is no cursor of this list' }],
    })
  }
  return [due, origin, seq]
}

export function runView(row: RunRow, job: number, jobId: string): Run {
  const ranges = row.ticks > 1
  return {
    run_id: runIdOf({ due: row.due, job, origin: row.origin, seq: row.seq, partition: row.partition }),
    job_id: jobId,
    scheduled_at: utcText(row.due),
    available_at: isoOrNull(row.available_at),
    started_at: isoOrNull(row.started_at),
    finished_at: isoOrNull(row.finished_at),
    duration_ms: took(row.started_at, row.finished_at),
    status: row.status,
    attempt: row.attempt,
    max_attempts: row.max_attempts,
    error: row.error,
    reason: row.reason,
    result: row.result,
    catch_up: row.catch_up,
    version: row.version,
    fencing_token: row.token,
    worker: row.worker === null ? null : incarnationName(row.worker),
    skipped_until: ranges ? isoOrNull(row.due_to) : null,
    skipped_count: row.status === 'skipped' ? row.ticks : null,
  }
}

/** How long an attempt took, which is known when it has ended. */
export function took(from: number | null, to: number | null): number | null {
  return from === null || to === null ? null : Math.max(0, to - from)
}

function isoOrNull(ms: number | null): string | null {
  return ms === null ? null : utcText(ms)
}
