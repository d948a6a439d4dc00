import { once } from 'node:events'
import type { Client } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { seedOwner } from './options.js'
import { transaction } from './transaction.js'
import { withoutIndexes } from './without-indexes.js'

export interface SeedPlan {
  /** How many jobs there are to be more. */
  readonly count: number
  /** Their names begin with it; the number of the job follows. */
  readonly prefix: string
  /** A job as the server would register it: every one of the seed is like it, but for its name and its anchor. */
  readonly template: {
    readonly tenant: number
    readonly route: number
    readonly zoneData: string
    /** JSON, as it is stored. */
    readonly definition: string
    /** One that starts later than this is not told to the schedulers. */
    readonly farMs: number
  }
  /** Of the interval that the template's schedule says; the ticks are spread over it evenly. */
  readonly periodMs: number
  /** No tick of theirs lies before it, by the database's clock. */
  readonly firstTick: number
  /** Servers use the database meanwhile: indexes stay, and it is done in small transactions. */
  readonly beside: boolean
  /** The server's own: how a job's id is made, and which partition it belongs to. */
  readonly newUuid: () => string
  readonly partitionOf: (uuid: string) => number
  readonly onProgress?: (step: SeedStep, done: number, total: number) => void
}

export type SeedStep = 'jobs' | 'indexes' | 'statistics'

const chunks = { alone: 20_000, beside: 2_000 }

// What create-jobs.sql stores of a job, of rows that were copied into a table of this session. Not copied into the tables
// themselves: a login that row-level security applies to may only insert.
const insertJobs = `
INSERT INTO carillon.jobs (job, id, tenant, partition, name, definition, one_off, route, effective_from, zone_data,
                           created_at, updated_at, changed_at)
SELECT job, id, $1, partition, name, $2::jsonb || jsonb_build_object('name', name, 'anchor', due - $3::bigint), false, $4, $5::bigint, $6,
       $5, $5, CASE WHEN due > $5 + $7::bigint THEN 0 ELSE $5 END
FROM seed_rows`
const insertTimers = `
INSERT INTO carillon.timers (job, tenant, due, start_at, accounted_through, partition)
SELECT job, $1, due, due, $2, partition FROM seed_rows`

/**
 * Fills a database with jobs that are alike, by COPY. They are jobs like all others. Alone with the
 * database it is one transaction without the indexes that can be built afterwards: all of them or none.
 */
export async function seedJobs(client: Client, plan: SeedPlan): Promise<void> {
  const { count, beside, onProgress = () => undefined } = plan
  await client.query(
    "SET maintenance_work_mem = '256MB'; " +
      'CREATE TEMP TABLE seed_rows (job bigint, id uuid, partition smallint, name text, due bigint)',
  )
  const { rows } = await client.query<{ sequence: string }>(
    "SELECT pg_get_serial_sequence('carillon.jobs', 'job') AS sequence",
  )
  const load = new Load(client, plan, rows[0]?.sequence ?? '', (done) => onProgress('jobs', done, count))
  onProgress('jobs', 0, count)
  if (beside) {
    await transaction(client, () => note(client, plan))
    while (load.done < count) {
      const most = Math.min(chunks.beside, count - load.done)
      await transaction(client, async () => {
        await countJobs(client, plan.template.tenant, most)
        await load.next(most)
      })
    }
  } else {
    await transaction(client, async () => {
      await note(client, plan)
      await countJobs(client, plan.template.tenant, count)
      await withoutIndexes(
        client,
        ['carillon.jobs', 'carillon.timers'],
        async () => {
          while (load.done < count) await load.next(Math.min(chunks.alone, count - load.done))
        },
        (done, total) => onProgress('indexes', done, total),
      )
    })
  }
  onProgress('statistics', 0, 1)
  await client.query('VACUUM (ANALYZE) carillon.jobs, carillon.timers')
  onProgress('statistics', 1, 1)
}

/** Loads one part of the jobs after the other. */
class Load {
  done = 0

  constructor(
    private readonly client: Client,
    private readonly plan: SeedPlan,
    private readonly sequence: string,
    private readonly onRows: (done: number) => void,
  ) {}

  async next(count: number): Promise<void> {
    const { client, plan } = this
    const { tenant, route, zoneData, definition, farMs } = plan.template
    const { rows } = await client.query<{ now: string; keys: string[] }>(
      `SELECT carillon.now_ms() AS now, array_agg(nextval($2::regclass)::text) AS keys
       FROM generate_series(1, $1::int)`,
      [count, this.sequence],
    )
    const [{ now, keys } = { now: '0', keys: [] }] = rows
    const copy = client.query(copyFrom('COPY seed_rows FROM STDIN'))
    copy.end(keys.map((key, at) => this.line(key, this.done + at, Number(now))).join(''))
    await once(copy, 'finish')
    await client.query(insertJobs, [tenant, definition, plan.periodMs, route, now, zoneData, farMs])
    await client.query(insertTimers, [tenant, now])
    await client.query('TRUNCATE seed_rows')
    this.done += count
    this.onRows(this.done)
  }

  private line(key: string, at: number, now: number): string {
    const { newUuid, partitionOf, prefix } = this.plan
    const id = newUuid()
    return `${key}\t${id}\t${partitionOf(id)}\t${prefix}-${key}\t${dueOf(this.plan, at, now)}\n`
  }
}

/** The first tick of a job: its place in the period, or a later period where that has passed. */
export function dueOf(
  { count, periodMs, firstTick }: Pick<SeedPlan, 'count' | 'periodMs' | 'firstTick'>,
  at: number,
  now: number,
): number {
  const due = firstTick + Math.floor((at * periodMs) / count)
  return due > now ? due : due + Math.ceil((now + 1 - due) / periodMs) * periodMs
}

/** The counter before the jobs, as whoever registers does it: two never wait for each other. */
async function countJobs(client: Client, tenant: number, count: number): Promise<void> {
  // Without a counter there is nothing to keep right: the first to register counts all there are.
  await client.query('UPDATE carillon.tenant_jobs SET jobs = jobs + $2 WHERE tenant = $1', [tenant, count])
}

async function note(client: Client, { count, template }: SeedPlan): Promise<void> {
  await client.query(
    `INSERT INTO carillon.audit_log (tenant, actor, action, subject, detail, request_id)
     VALUES ($1, 'local', 'seedJobs', $2, jsonb_build_object('jobs', $3::int), 'database')`,
    [template.tenant, seedOwner, count],
  )
}
