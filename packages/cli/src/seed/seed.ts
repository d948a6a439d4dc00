import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Client } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { copyLine } from './copy-text.js'
import { withoutIndexes } from './without-indexes.js'

export interface SeedOptions {
  /** How many jobs there are to be more. */
  count: number
  /** The name of an interval job ("@every …") that was registered as usual: the others are its copies. */
  template: string
  /** Its period; the copies' ticks are spread evenly over it. */
  periodMs: number
  /** The server's own: how a job's id is made, and which partition it belongs to. */
  newUuid: () => string
  partitionOf: (uuid: string) => number
  onProgress?: (step: SeedStep, done: number, total: number) => void
}

export type SeedStep = 'jobs' | 'timers' | 'indexes'

export interface Seeded {
  jobs: number
  /** No tick of theirs lies before it. */
  firstTick: number
  tookMs: number
}

type Row = Record<string, unknown>

const perChunk = 2_000
/** Timers are loaded and indexed at least this fast: before their first tick they have to be there. */
const timersPerSecond = 30_000

/**
 * Fills a database with copies of a job, by COPY and without the indexes that can be built afterwards: millions of jobs in
 * minutes. For measurements; nothing may use the database meanwhile. The copies are jobs like all others: every column is
 * that of the template, but for name, id, partition and the anchor of the interval.
 */
export async function seedJobs(client: Client, options: SeedOptions): Promise<Seeded> {
  const { count, onProgress = () => undefined } = options
  const begun = performance.now()
  const { job, timer } = await readTemplate(client, options.template)
  const seeds = new Seeds(options, Number(job['job']), Number((job['definition'] as Row)['anchor']))
  await withoutIndexes(client, 'carillon.jobs', () =>
    load(
      client,
      'carillon.jobs',
      job,
      count,
      (i) => seeds.job(i, job),
      (done) => onProgress('jobs', done, count),
    ),
  ).built((done, total) => onProgress('indexes', done, total))
  const firstTick = (await databaseNow(client)) + 2_000 + (count / timersPerSecond) * 1_000
  await withoutIndexes(client, 'carillon.timers', () =>
    load(
      client,
      'carillon.timers',
      timer,
      count,
      (i) => seeds.timer(i, firstTick),
      (done) => onProgress('timers', done, count),
    ),
  ).built((done, total) => onProgress('indexes', done, total))
  await client.query(
    "SELECT setval(pg_get_serial_sequence('carillon.jobs', 'job'), max(job)) FROM carillon.jobs",
  )
  await client.query(
    'UPDATE carillon.tenant_jobs SET jobs = jobs + $2, recounted_at = carillon.now_ms() WHERE tenant = $1',
    [job['tenant'], count],
  )
  await client.query('VACUUM (ANALYZE) carillon.jobs, carillon.timers')
  return { jobs: count, firstTick, tookMs: performance.now() - begun }
}

/** What each copy has of its own. */
class Seeds {
  private readonly partitions: Uint8Array

  constructor(
    private readonly options: SeedOptions,
    private readonly template: number,
    private readonly anchor: number,
  ) {
    this.partitions = new Uint8Array(options.count)
  }

  private offset(i: number): number {
    return Math.floor((i / this.options.count) * this.options.periodMs)
  }

  job(i: number, template: Row): Row {
    const id = this.options.newUuid()
    const partition = this.options.partitionOf(id)
    this.partitions[i] = partition
    const name = `${this.options.template}-${i}`
    const definition = { ...(template['definition'] as Row), name, anchor: this.anchor + this.offset(i) }
    return { job: this.template + 1 + i, id, partition, name, definition }
  }

  /** The first tick of its interval that is not before `first`. */
  timer(i: number, first: number): Row {
    const { periodMs } = this.options
    const phase = this.anchor + this.offset(i)
    const due = phase + Math.ceil((first - phase) / periodMs) * periodMs
    return {
      job: this.template + 1 + i,
      due,
      start_at: due,
      accounted_through: due - 1,
      partition: this.partitions[i],
    }
  }
}

async function readTemplate(client: Client, name: string): Promise<{ job: Row; timer: Row }> {
  const jobs = await client.query<{ row: Row }>(
    "SELECT to_jsonb(j) AS row FROM carillon.jobs j WHERE name = $1 AND state = 'active'",
    [name],
  )
  const job = jobs.rows[0]?.row
  if (job === undefined) throw new Error(`There is no active job named "${name}" to make copies of.`)
  const timers = await client.query<{ row: Row }>(
    'SELECT to_jsonb(t) AS row FROM carillon.timers t WHERE job = $1',
    [job['job']],
  )
  return { job, timer: timers.rows[0]?.row ?? {} }
}

/** Rows of a table by COPY: those of the template, with what `own` says in its place. */
async function load(
  client: Client,
  table: string,
  template: Row,
  count: number,
  own: (i: number) => Row,
  onRows: (done: number) => void,
): Promise<void> {
  const columns = await writableColumns(client, table)
  let i = 0
  const source = new Readable({
    highWaterMark: 4 * 1024 * 1024,
    read() {
      if (i >= count) {
        this.push(null)
        return
      }
      const lines: string[] = []
      for (const end = Math.min(count, i + perChunk); i < end; i++) {
        const row = { ...template, ...own(i) }
        lines.push(copyLine(columns.map((column) => row[column])))
      }
      onRows(i)
      this.push(lines.join(''))
    },
  })
  await pipeline(
    source,
    client.query(copyFrom(['COPY', table, `(${columns.join(', ')})`, 'FROM STDIN'].join(' '))),
  )
}

/** Columns that are no sum of others. */
async function writableColumns(client: Client, table: string): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT attname AS name FROM pg_attribute
     WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
     ORDER BY attnum`,
    [table],
  )
  return rows.map(({ name }) => name)
}

async function databaseNow(client: Client): Promise<number> {
  const { rows } = await client.query<{ now: string }>('SELECT carillon.now_ms() AS now')
  return Number(rows[0]?.now)
}
