import { CarillonError, type Run, type RunStatus } from '@carillon/contract'
import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { decodeCursor, encodeCursor } from '../../platform/cursor.js'
import { incarnationName, runIdOf } from '../../platform/ids.js'
import { parkedUntil } from '../parked.js'

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
    most: number
    parked_until: number
  },
  RunRow
>(new URL('./runs-of-job.sql', import.meta.url))

export interface HistoryPage {
  runs: Run[]
  next_cursor: string | null
}

/** What became of the ticks of a job, as people read it. */
export class History {
  constructor(private readonly database: Database) {}

  async ofJob(
    job: number,
    jobId: string,
    query: { limit: number; cursor: string | null },
  ): Promise<HistoryPage> {
    const [due, origin, seq] = query.cursor === null ? afterEverything : cursorOf(query.cursor)
    const rows = await this.database.run(runsOfJobStatement, {
      job,
      before_due: due,
      before_origin: origin,
      before_seq: seq,
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

/** The largest int of the database: a cursor that names more was not given by this server. */
const mostSeq = 2 ** 31 - 1

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
    scheduled_at: iso(row.due),
    available_at: isoOrNull(row.available_at),
    started_at: isoOrNull(row.started_at),
    finished_at: isoOrNull(row.finished_at),
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

function iso(ms: number): string {
  return new Date(ms).toISOString()
}

function isoOrNull(ms: number | null): string | null {
  return ms === null ? null : iso(ms)
}
