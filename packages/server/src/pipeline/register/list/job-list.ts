import type { Job, JobFilter, JobState } from '@carillon/contract'
import type { Database } from '../../../db/pool.js'
import { statement } from '../../../db/statement.js'
import { parkedUntil } from '../../parked.js'
import type { JobRow } from '../job-view.js'
import { jobViews } from '../next-run.js'
import { decodePosition, encodePosition, fingerprintOf, type Position } from './cursor.js'
import { type Conditions, type ReadFilter, readFilter } from './filter.js'

interface Scope extends Conditions {
  tenant: number
  most: number
}
interface StartKey {
  after_start: number
  after_partition: number
  after_job: number
}

const nearNewestStatement = statement<
  Scope & { states: string[]; before_job: number; look: number },
  { jobs: string[]; looked: number; reached: number | null }
>(new URL('./near-newest.sql', import.meta.url))
const nearNameStatement = statement<
  Scope & { states: string[]; after_name: string; after_job: number; look: number },
  { jobs: string[]; names: string[]; looked: number; reached_name: string | null; reached_job: number | null }
>(new URL('./near-name.sql', import.meta.url))
const nearNextStatement = statement<
  Scope & StartKey & { per_partition: number },
  { job: number | null; start_at: number; partition: number; reached_start: number | null }
>(new URL('./near-next.sql', import.meta.url))
const matchingStatement = statement<
  Scope & { states: string[]; rare_id: boolean; by_name: boolean; after_name: string; after_job: number },
  { job: number; name: string }
>(new URL('./matching.sql', import.meta.url))
const matchingNextStatement = statement<
  Scope & StartKey & { rare_id: boolean },
  { job: number; start_at: number; partition: number }
>(new URL('./matching-next.sql', import.meta.url))
const showStatement = statement<{ tenant: number; jobs: number[]; parked_until: number }, JobRow>(
  new URL('./show-jobs.sql', import.meta.url),
)
const searchableStatement = statement<Record<string, never>, { searchable: boolean }>(
  new URL('./searchable.sql', import.meta.url),
)

export interface JobListOptions {
  database: Database
  /**
   * Where the keys are found; what is shown is read through `database`. Row-level security keeps the indexes of a search
   * from being used, so where `database` is confined to a tenant, this is one that is not.
   */
  finder?: Database
  /** How many jobs are looked at in their order before an index is asked. */
  look?: number
  /** How many are looked at for one page where no index helps, or where some were met but not enough. */
  longLook?: number
  /** How many starts of each partition are looked at. */
  startsPerPartition?: number
}

/** Keys of a page, and where the next one begins; null at the end. */
interface Found {
  jobs: number[]
  next: Position | null
}

interface Look {
  tenant: number
  filter: ReadFilter
  states: JobState[]
  limit: number
}

const lastKey = Number.MAX_SAFE_INTEGER
const lastPartition = 255

/**
 * The list of jobs. A page is looked for in its order first, among a bounded number of jobs: that is quick where the filter
 * takes many. Where it takes few, an index finds them. Where there is none for it, the page ends where the look ended, and
 * may have fewer jobs than asked for, or none, and still a cursor.
 */
export class JobLister {
  private readonly finder: Database
  private searchable: Promise<boolean> | undefined

  constructor(private readonly options: JobListOptions) {
    this.finder = options.finder ?? options.database
  }

  async list(
    tenant: number,
    query: JobFilter & { limit: number; cursor: string | null },
  ): Promise<{ data: Job[]; next_cursor: string | null }> {
    const fingerprint = fingerprintOf(tenant, query)
    const from = query.cursor === null ? beginningOf(query) : decodePosition(query.cursor, fingerprint)
    const filter = await readFilter(this.finder, tenant, query)
    const { jobs, next } = await this.find(
      { tenant, filter, states: filter.states, limit: query.limit },
      from,
      query.order === 'next_run',
    )
    return {
      data: await this.show(tenant, jobs),
      next_cursor: next === null ? null : encodePosition(fingerprint, next),
    }
  }

  /** In the order of the keys. */
  private async show(tenant: number, jobs: number[]): Promise<Job[]> {
    if (jobs.length === 0) return []
    const rows = await this.options.database.run(showStatement, { tenant, jobs, parked_until: parkedUntil })
    return jobViews(this.options.database, tenant, rows)
  }

  private async find(look: Look, from: Position, byNextRun: boolean): Promise<Found> {
    if (from.section === 'name') return this.byName(look, from)
    // Those without a tick ahead come after all that have one.
    const resting = look.states.filter((state) => state !== 'active')
    if (from.section === 'newest') return this.newest(byNextRun ? { ...look, states: resting } : look, from)
    const timed = look.states.includes('active') ? await this.timed(look, from) : nothing
    if (timed.next !== null || resting.length === 0) return timed
    const left = look.limit - timed.jobs.length
    if (left === 0) return { jobs: timed.jobs, next: firstNewest }
    const rest = await this.newest({ ...look, states: resting, limit: left }, firstNewest)
    return { jobs: [...timed.jobs, ...rest.jobs], next: rest.next }
  }

  private async newest(look: Look, { key: [before] }: Position): Promise<Found> {
    const { limit, states, filter } = look
    const scope = { ...scopeOf(look), states, before_job: Number(before) }
    const indexed = await this.isIndexed(look)
    const at = (job: number | undefined): Position => ({ section: 'newest', key: [job ?? 0] })
    for (const lookAt of filter.narrows ? this.looks(look, indexed) : [limit + 1]) {
      const [near] = await this.finder.run(nearNewestStatement, { ...scope, look: lookAt })
      const { looked = 0, reached = null } = near ?? {}
      const jobs = keysOf(near)
      if (jobs.length > limit) return { jobs: jobs.slice(0, limit), next: at(jobs[limit - 1]) }
      if (looked < lookAt) return { jobs, next: null }
      if (!indexed) return { jobs, next: at(reached ?? 0) }
      if (jobs.length === 0) break
    }
    const found = await this.finder.run(matchingStatement, {
      ...scopeOf(look),
      states,
      rare_id: filter.rareId,
      by_name: false,
      after_name: '',
      after_job: Number(before),
    })
    return pageOf(found, limit, ({ job }) => at(job))
  }

  private async byName(look: Look, { key: [name, job] }: Position): Promise<Found> {
    const { limit, states, filter } = look
    const after = { after_name: String(name), after_job: Number(job) }
    const oneState = states.length === 1
    // Of a state that few jobs are in, an index knows which they are.
    const indexed = (await this.isIndexed(look)) || (oneState && !filter.narrows)
    const at = (row: { job: number; name: string }): Position => ({
      section: 'name',
      key: [row.name, row.job],
    })
    for (const lookAt of filter.narrows || oneState ? this.looks(look, indexed) : [limit + 1]) {
      const scope = { ...scopeOf(look), states, ...after }
      const [near] = await this.finder.run(nearNameStatement, { ...scope, look: lookAt })
      const { names = [], looked = 0 } = near ?? {}
      const taken = keysOf(near).map((key, index) => ({ job: key, name: names[index] ?? '' }))
      if (taken.length > limit || looked < lookAt) return pageOf(taken, limit, at)
      if (!indexed) {
        const reached = at({ name: near?.reached_name ?? '', job: near?.reached_job ?? 0 })
        return { jobs: taken.map((row) => row.job), next: reached }
      }
      if (taken.length === 0) break
    }
    const found = await this.finder.run(matchingStatement, {
      ...scopeOf(look),
      states,
      rare_id: filter.rareId,
      by_name: true,
      ...after,
    })
    return pageOf(found, limit, at)
  }

  private async timed(look: Look, { key: [start, partition, job] }: Position): Promise<Found> {
    const { limit, filter } = look
    const after = { after_start: Number(start), after_partition: Number(partition), after_job: Number(job) }
    const { startsPerPartition = 16 } = this.options
    const near = await this.finder.run(nearNextStatement, {
      ...scopeOf(look),
      ...after,
      per_partition: startsPerPartition,
    })
    const rows = near.flatMap(({ job: key, ...row }) => (key === null ? [] : [{ job: key, ...row }]))
    const at = (row: { job: number; start_at: number; partition: number }): Position => ({
      section: 'timed',
      key: [row.start_at, row.partition, row.job],
    })
    const reached = near[0]?.reached_start ?? null
    if (rows.length > limit || reached === null) return pageOf(rows, limit, at)
    // A tenant that has few of the next starts is small: all of its jobs are soon read.
    if (filter.narrows && !(await this.isIndexed(look))) {
      return {
        jobs: rows.map(({ job: key }) => key),
        next: at({ start_at: reached, partition: lastPartition, job: lastKey }),
      }
    }
    const scope = { ...scopeOf(look), ...after, rare_id: filter.rareId }
    return pageOf(await this.finder.run(matchingNextStatement, scope), limit, at)
  }

  /**
   * How many jobs are looked at in their order, one look after the other until a page is full. Where an index helps, it is
   * asked for what is rare. Of what a short look meets some of, but not enough, there may be so much that to sort all of it takes longer than a
   * long look; what it met nothing of is rare.
   */
  private looks({ limit }: Look, indexed: boolean): number[] {
    const { look = 2_000, longLook = 20_000 } = this.options
    const long = Math.max(longLook, limit + 1)
    return indexed ? [Math.max(look, limit + 1), long] : [long]
  }

  private async isIndexed({ filter }: Look): Promise<boolean> {
    this.searchable ??= this.finder
      .run(searchableStatement, {})
      .then(([row]) => row?.searchable ?? false)
      .catch((error: unknown) => {
        this.searchable = undefined
        throw error
      })
    return filter.indexed(await this.searchable)
  }
}

const nothing: Found = { jobs: [], next: null }
const firstNewest: Position = { section: 'newest', key: [lastKey] }

/** The driver reads an array of bigints as texts. */
function keysOf(near: { jobs: string[] } | undefined): number[] {
  return (near?.jobs ?? []).map(Number)
}

function beginningOf({ order }: JobFilter): Position {
  if (order === 'name') return { section: 'name', key: ['', 0] }
  return order === 'next_run' ? { section: 'timed', key: [0, 0, 0] } : firstNewest
}

/** One more than the page has: whether there is a next one. */
function scopeOf({ tenant, filter: { conditions }, limit }: Look): Scope {
  return { tenant, ...conditions, most: limit + 1 }
}

function pageOf<Row extends { job: number }>(rows: Row[], limit: number, at: (row: Row) => Position): Found {
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  return {
    jobs: page.map(({ job }) => job),
    next: rows.length > limit && last !== undefined ? at(last) : null,
  }
}
