import { CarillonError, type Run, type RunStatus } from '@carillon/contract'
import { byIndex } from '../../db/by-index.js'
import type { Database, Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import type { Clock } from '../../platform/clock.js'
import { decodeCursor, encodeCursor } from '../../platform/cursor.js'
import { jobIdOf } from '../../platform/ids.js'
import { parkedUntil } from '../parked.js'
import { momentOf, mostSeq, type RunRow, runView } from './history.js'

interface FoundRun extends RunRow {
  job: number
  /** Null: the job is forgotten. */
  uuid: string | null
}

const floorStatement = statement<Record<string, never>, { now: number; floor: number }>(
  new URL('./ledger-floor.sql', import.meta.url),
)
const endsStatement = statement<
  {
    tenant: number
    from_at: number
    to_at: number
    before_job: number
    before_due: number
    before_origin: number
    before_seq: number
    status: string | null
    tags: string[] | null
    most: number
  },
  FoundRun & { recorded_at: number }
>(new URL('./ends-between.sql', import.meta.url))
const liveStatement = statement<
  {
    tenant: number
    before_due: number
    before_job: number
    before_origin: number
    before_seq: number
    after: number
    status: string | null
    tags: string[] | null
    most: number
    parked_until: number
  },
  FoundRun
>(new URL('./live-runs.sql', import.meta.url))

const tagsStatement = statement<{ tenant: number; job: number; tags: string[] }, { tagged: boolean }>(
  new URL('./has-tags.sql', import.meta.url),
)

export interface AcrossQuery {
  limit: number
  cursor: string | null
  status?: RunStatus
  /** Of jobs that have all of them now. */
  tags?: string[]
  /** Instants: ended from the one on, and before the other; a run in flight counts by its tick. */
  after?: string
  before?: string
}

export interface AcrossOptions {
  database: Database
  clock: Clock
  /** How long a page may look for runs that match, before it comes back short. */
  budgetMs?: number
}

/** In flight: the identity of the last run shown, by due. Ended: where the walk through the ledger is. */
type Place =
  | { in: 'queue'; due: number; job: number; origin: number; seq: number }
  | { in: 'ledger'; at: number; job: number; due: number; origin: number; seq: number }

const everything = Number.MAX_SAFE_INTEGER
const top = { job: everything, due: everything, origin: 255, seq: mostSeq } as const
const bottom = { job: 0, due: 0, origin: 0, seq: 0 } as const
const defaultBudgetMs = 200

/** The first stretch of the ledger that is looked through. The next are longer or shorter, by how long it took. */
const firstStretchMs = 1_000
const quickMs = 15
const slowMs = 60

/**
 * The runs of all jobs of a tenant: those in flight, then those that ended, the latest first. The ledger has no index in
 * that order, for every row would pay for it. It is walked backwards by time, in stretches that its summary by pages
 * finds; a page works no longer than its budget, and may come back short, with a cursor from which the next goes on.
 */
export class RunsAcross {
  constructor(private readonly options: AcrossOptions) {}

  async list(tenant: number, query: AcrossQuery): Promise<{ data: Run[]; next_cursor: string | null }> {
    const place = query.cursor === null ? null : placeOf(query.cursor)
    return this.options.database.snapshot(async (runner) => {
      const live = await this.live(runner, tenant, query, place)
      if (live.next !== null) return page(live.runs, live.next)
      const left = query.limit - live.runs.length
      const ended = await this.ended(runner, tenant, { ...query, limit: left }, place)
      return page([...live.runs, ...ended.runs], ended.next)
    })
  }

  /** Whether a job has all of these tags now. */
  async hasTags(tenant: number, job: number, tags: string[]): Promise<boolean> {
    const [row] = await this.options.database.run(tagsStatement, { tenant, job, tags })
    return row?.tagged ?? false
  }

  private async live(runner: Runner, tenant: number, query: AcrossQuery, place: Place | null) {
    const { limit, status, after, before } = query
    const isOfQueue = status === undefined || status === 'pending' || status === 'running'
    if (!isOfQueue || place?.in === 'ledger') return { runs: [], next: null }
    const { due, ...from } = place ?? {
      ...top,
      due: before === undefined ? everything : instant(before, 'before'),
    }
    const rows = await runner.run(liveStatement, {
      tenant,
      before_due: due,
      before_job: place === null && before !== undefined ? 0 : from.job,
      before_origin: from.origin,
      before_seq: from.seq,
      after: after === undefined ? 0 : instant(after, 'after'),
      status: status ?? null,
      tags: query.tags ?? null,
      most: limit + 1,
      parked_until: parkedUntil,
    })
    const runs = rows.slice(0, limit)
    const last = runs.at(-1)
    if (rows.length <= limit || last === undefined) return { runs, next: null }
    return { runs, next: { in: 'queue', ...identity(last) } as const }
  }

  private async ended(runner: Runner, tenant: number, query: AcrossQuery, place: Place | null) {
    const { limit, status, after, before } = query
    if (status === 'pending' || status === 'running') return { runs: [], next: null }
    await byIndex(runner)
    const [ledger] = await runner.run(floorStatement, {})
    if (ledger === undefined) throw new Error('The ledger did not say where it begins.')
    const floor = Math.max(ledger.floor, after === undefined ? 0 : instant(after, 'after'))
    const end = before === undefined ? everything : instant(before, 'before') - 1
    const from = place?.in === 'ledger' ? place : { at: end, ...top }
    // A page that the queue has filled: what ended comes on the next one.
    if (limit === 0) return { runs: [], next: { in: 'ledger', ...from } as const }
    const narrowed = { status: status ?? null, tags: query.tags ?? null }
    return this.walk(runner, { tenant, floor, now: ledger.now, from, limit, ...narrowed })
  }

  private async walk(
    runner: Runner,
    search: {
      tenant: number
      floor: number
      now: number
      from: Omit<Extract<Place, { in: 'ledger' }>, 'in'>
      limit: number
      status: string | null
      tags: string[] | null
    },
  ): Promise<{ runs: FoundRun[]; next: Place | null }> {
    const { clock, budgetMs = defaultBudgetMs } = this.options
    const { tenant, floor, now, limit, status, tags } = search
    const runs: FoundRun[] = []
    const begun = clock.monotonic()
    let { from } = search
    let stretch = firstStretchMs
    for (;;) {
      const lowest = Math.max(floor, Math.min(from.at, now) - stretch)
      const looked = clock.monotonic()
      const found = await runner.run(endsStatement, {
        tenant,
        from_at: lowest,
        to_at: from.at,
        before_job: from.job,
        before_due: from.due,
        before_origin: from.origin,
        before_seq: from.seq,
        status,
        tags,
        most: limit - runs.length + 1,
      })
      runs.push(...found)
      const last = runs[limit - 1] as (FoundRun & { recorded_at: number }) | undefined
      if (runs.length > limit && last !== undefined) {
        return { runs: runs.slice(0, limit), next: { in: 'ledger', at: last.recorded_at, ...identity(last) } }
      }
      if (lowest <= floor) return { runs, next: null }
      from = { at: lowest, ...bottom }
      if (clock.monotonic() - begun >= budgetMs) return { runs, next: { in: 'ledger', ...from } }
      stretch *= growth(clock.monotonic() - looked)
    }
  }
}

function growth(tookMs: number): number {
  if (tookMs < quickMs) return 4
  return tookMs > slowMs ? 0.5 : 1
}

function page(rows: FoundRun[], next: Place | null): { data: Run[]; next_cursor: string | null } {
  const data = rows.flatMap((row) => (row.uuid === null ? [] : [runView(row, row.job, jobIdOf(row.uuid))]))
  return { data, next_cursor: next === null ? null : cursorOf(next) }
}

function identity({ job, due, origin, seq }: FoundRun) {
  return { job, due, origin, seq }
}

function cursorOf(place: Place): string {
  const { job, due, origin, seq } = place
  return encodeCursor(
    place.in === 'queue' ? [0, 0, job, due, origin, seq] : [1, place.at, job, due, origin, seq],
  )
}

function placeOf(cursor: string): Place {
  const [kind, at, job, due, origin, seq, ...rest] = decodeCursor(cursor)
  const isWhole =
    at !== undefined && job !== undefined && due !== undefined && origin !== undefined && seq !== undefined
  if (!isWhole || rest.length > 0 || origin > 255 || seq > mostSeq || (kind !== 0 && kind !== 1)) {
    throw new CarillonError('invalid_cursor', {
      errors: [{ pointer: 'query:cursor', message: 'is no cursor of this list' }],
    })
  }
  return kind === 0 ? { in: 'queue', due, job, origin, seq } : { in: 'ledger', at, job, due, origin, seq }
}

function instant(text: string, name: 'after' | 'before'): number {
  return momentOf(text, `query:${name}`)
}
