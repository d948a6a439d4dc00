import {
  CarillonError,
  type DeadLetter,
  type DeadLetterFilter,
  type DeadLetterGroup,
  type RedriveInput,
} from '@carillon/contract'
import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { decodeCursor, encodeCursor } from '../../platform/cursor.js'
import type { RunIdentity } from '../../platform/ids.js'
import { parkedUntil } from '../parked.js'
import { audit } from '../audit.js'
import { filterOf } from './filter.js'
import { identityOf, notFound } from './identity.js'
import {
  type GroupRow,
  groupView,
  type LetterDetail,
  type LetterDetailRow,
  type LetterRow,
  letterDetail,
  letterView,
} from './letter-view.js'

type Name = { tenant: number } & RunIdentity

const listStatement = statement<
  {
    tenant: number
    job: number | null
    fingerprint: string | null
    before_dead_at: number
    before_due: number
    before_job: number
    before_origin: number
    before_seq: number
    most: number
  },
  LetterRow
>(new URL('./list-letters.sql', import.meta.url))
const groupStatement = statement<{ tenant: number; job: number | null; most: number }, GroupRow>(
  new URL('./group-letters.sql', import.meta.url),
)
const showStatement = statement<Name, LetterDetailRow>(new URL('./show-letter.sql', import.meta.url))
const redriveStatement = statement<
  Name & { current: boolean; payload: string | null; parked_until: number },
  { round: number }
>(new URL('./redrive-letter.sql', import.meta.url))
const discardStatement = statement<Name, { job: number }>(new URL('./discard-letter.sql', import.meta.url))
const discardManyStatement = statement<
  {
    tenant: number
    job: number | null
    fingerprint: string | null
    after: number
    before: number
    most: number
  },
  { job: number }
>(new URL('./discard-letters.sql', import.meta.url))

export interface DeadLettersOptions {
  database: Database
  /** Told after a run went back to the queue: it can start. */
  onRedriven?: () => void
}

export interface LetterQuery {
  limit: number
  cursor: string | null
  /** The key of the job, where only its letters are wanted. */
  job: number | null
  fingerprint: string | null
}

const mostGroups = 100
const mostPerStatement = 1_000

/** Runs that used up their attempts: to look at, to re-drive, to discard. */
export class DeadLetters {
  constructor(private readonly options: DeadLettersOptions) {}

  async list(
    tenant: number,
    { limit, cursor, job, fingerprint }: LetterQuery,
  ): Promise<{ data: DeadLetter[]; next_cursor: string | null }> {
    const rows = await this.options.database.run(listStatement, {
      tenant,
      job,
      fingerprint,
      ...positionOf(cursor),
      most: limit + 1,
    })
    const page = rows.slice(0, limit)
    const last = page.at(-1)
    const more = rows.length > limit && last !== undefined
    return {
      data: page.map(letterView),
      next_cursor: more ? encodeCursor([last.dead_at, last.due, last.job, last.origin, last.seq]) : null,
    }
  }

  async groups(tenant: number, job: number | null): Promise<{ data: DeadLetterGroup[] }> {
    const rows = await this.options.database.run(groupStatement, { tenant, job, most: mostGroups })
    return { data: rows.map(groupView) }
  }

  async get(tenant: number, runId: string): Promise<LetterDetail> {
    const [row] = await this.options.database.run(showStatement, nameOf(tenant, runId))
    if (row === undefined) throw notFound('dead_letter_not_found', runId)
    return letterDetail(row)
  }

  /** Puts the run back into the queue, in a new round. `payload`: in place of the job's, for this run alone. `version`: which is run. */
  async redrive(tenant: number, runId: string, given: RedriveInput = {}): Promise<void> {
    const { database, onRedriven } = this.options
    const name = nameOf(tenant, runId)
    const redriven = await database.transaction(async (runner) => {
      const [row] = await runner.run(redriveStatement, {
        ...name,
        current: given.version === 'current',
        payload: given.payload === undefined ? null : JSON.stringify(given.payload),
        parked_until: parkedUntil,
      })
      const detail = { version: given.version ?? 'recorded', own_payload: given.payload !== undefined }
      if (row !== undefined) await audit(runner, { tenant, subject: runId, detail: { ...row, ...detail } })
      return row
    })
    if (redriven === undefined) throw await this.whyNot(name, runId)
    onRedriven?.()
  }

  async discard(tenant: number, runId: string): Promise<void> {
    const name = nameOf(tenant, runId)
    const gone = await this.options.database.transaction(async (runner) => {
      const [row] = await runner.run(discardStatement, name)
      if (row !== undefined) await audit(runner, { tenant, subject: runId })
      return row
    })
    if (gone === undefined) throw notFound('dead_letter_not_found', runId)
  }

  /** Answers how many there were. Some may be discarded and the rest not, where the database fails in between. */
  async discardMany(tenant: number, filter: DeadLetterFilter, job: number | null): Promise<number> {
    const bounds = filterOf(filter, job, 'query:')
    let discarded = 0
    for (;;) {
      const gone = await this.options.database.transaction(async (runner) => {
        const rows = await runner.run(discardManyStatement, { tenant, ...bounds, most: mostPerStatement })
        // One entry for the call, with its first statement: what the others add is told by its answer.
        const subject = filter.job_id ?? 'dead letters'
        if (discarded === 0 && rows.length > 0)
          await audit(runner, { tenant, subject, detail: { ...filter } })
        return rows
      })
      discarded += gone.length
      if (gone.length < mostPerStatement) return discarded
    }
  }

  private async whyNot(name: Name, runId: string): Promise<CarillonError> {
    const [letter] = await this.options.database.run(showStatement, name)
    if (letter === undefined) return notFound('dead_letter_not_found', runId)
    return new CarillonError('job_deleted', {
      detail: `The job "${letter.name}" of this run was deleted: nothing of it starts any more.`,
    })
  }
}

function nameOf(tenant: number, runId: string): Name {
  return { tenant, ...identityOf(runId, 'dead_letter_not_found') }
}

const mostSmallint = 2 ** 15 - 1
const mostInt = 2 ** 31 - 1

function positionOf(cursor: string | null) {
  const [deadAt, due, job, origin, seq, ...rest] =
    cursor === null
      ? [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, 0, 0]
      : decodeCursor(cursor)
  const complete =
    deadAt !== undefined &&
    due !== undefined &&
    job !== undefined &&
    origin !== undefined &&
    seq !== undefined
  if (!complete || rest.length > 0 || origin > mostSmallint || seq > mostInt) {
    throw new CarillonError('invalid_cursor', {
      errors: [{ pointer: 'query:cursor', message: 'is no cursor of this list' }],
    })
  }
  return {
    before_dead_at: deadAt,
    before_due: due,
    before_job: job,
    before_origin: origin,
    before_seq: seq,
  }
}
