import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createLog, loadConfig, openPostgres, partitionOf } from '@carillon/server'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  bin,
  carillon,
  type Ended,
  jsonOf,
  newFolder,
  removeFolder,
  startServer,
  until,
} from './support/carillon.js'

interface Seeded {
  jobs: number
  period_seconds: number
  firings_per_second: number
  first_tick: string
  beside_servers: boolean
}

/** Jobs may fire as often as they like. */
const often = { CARILLON_MIN_INTERVAL_SECONDS: '1' }

let folder: string
let postgres: Awaited<ReturnType<typeof openPostgres>>

beforeAll(async () => {
  folder = newFolder()
  const config = loadConfig({ env: { CARILLON_DATA_DIR: join(folder, 'data') } })
  postgres = await openPostgres(config, createLog({ level: 'silent', format: 'json' }))
  writeFileSync(join(folder, 'tasks.mjs'), 'export default { noop: () => ({}) }\n')
  await sql(postgres.url, 'CREATE DATABASE migrated')
  await carillon(['migrate'], { env: { DATABASE_URL: urlOf('migrated') } })
})

afterAll(async () => {
  await postgres.leave()
  removeFolder(folder)
})

async function sql<Row extends pg.QueryResultRow>(
  url: string,
  text: string,
  values: unknown[] = [],
): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Row>(text, values)).rows
  } finally {
    await client.end()
  }
}

function urlOf(name: string): string {
  const url = new URL(postgres.url)
  url.pathname = `/${name}`
  return url.href
}

/** A migrated database of its own. */
async function newDatabase(): Promise<string> {
  const name = `seed_${Math.random().toString(36).slice(2)}`
  await sql(postgres.url, ['CREATE DATABASE', name, 'TEMPLATE migrated'].join(' '))
  return urlOf(name)
}

function seed(url: string, ...args: string[]): Promise<Ended> {
  return carillon(['bench', 'seed', ...args], { env: { DATABASE_URL: url, ...often }, cwd: folder })
}

/** Every index of the two tables, and how it is made. */
function indexesOf(url: string) {
  return sql(
    url,
    `SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'carillon' AND tablename IN ('jobs', 'timers') ORDER BY 1`,
  )
}

/** Live jobs, and what their tenant counts. */
async function countOf(url: string) {
  const [row] = await sql<{ jobs: number; timers: number; counted: number | null }>(
    url,
    `SELECT (SELECT count(*)::int FROM carillon.jobs WHERE state = 'active') AS jobs,
            (SELECT count(*)::int FROM carillon.timers) AS timers,
            (SELECT jobs FROM carillon.tenant_jobs WHERE tenant = 1) AS counted`,
  )
  return row
}

describe('with the database to itself', () => {
  it('loads jobs whose ticks are spread evenly, with all indexes as they were', async () => {
    const url = await newDatabase()
    const before = await indexesOf(url)
    expect(before.length).toBeGreaterThan(10)
    const seeded = jsonOf<Seeded>(await seed(url, '--n', '25k', '--rate', '500', '--json'))
    expect(seeded).toMatchObject({
      jobs: 25_000,
      period_seconds: 50,
      firings_per_second: 500,
      beside_servers: false,
    })
    expect(await indexesOf(url)).toEqual(before)
    expect(await countOf(url)).toMatchObject({ jobs: 25_000, timers: 25_000 })
    const first = Date.parse(seeded.first_tick)
    const perSecond = await sql<{ jobs: number }>(
      url,
      'SELECT (due - $1::bigint) / 1000 AS second, count(*)::int AS jobs FROM carillon.timers GROUP BY 1 ORDER BY 1',
      [first],
    )
    expect(perSecond.map(({ jobs }) => jobs)).toEqual(Array.from({ length: 50 }, () => 500))
    const ids = await sql<{ id: string; partition: number }>(
      url,
      `SELECT j.id, t.partition FROM carillon.jobs j JOIN carillon.timers t USING (job, partition, tenant)
       WHERE t.due = t.start_at AND t.due > t.accounted_through AND t.accounted_through = j.effective_from
         AND (j.definition ->> 'anchor')::bigint = t.due - 50000`,
    )
    expect(ids).toHaveLength(25_000)
    // All start soon: schedulers are told of them.
    expect(await sql(url, 'SELECT FROM carillon.jobs WHERE changed_at = 0 LIMIT 1')).toEqual([])
    for (const { id, partition } of ids) expect(partition).toBe(partitionOf(id))
    const [noted] = await sql(url, "SELECT actor, detail FROM carillon.audit_log WHERE action = 'seedJobs'")
    expect(noted).toEqual({ actor: 'local', detail: { jobs: 25_000 } })
  })

  it('leaves nothing behind where it is killed amid it', async () => {
    const url = await newDatabase()
    const before = await indexesOf(url)
    const child = spawn(process.execPath, [bin, 'bench', 'seed', '--n', '5M', '--json'], {
      env: { ...process.env, DATABASE_URL: url },
      stdio: 'ignore',
    })
    const exited = once(child, 'exit')
    const busy = `SELECT FROM pg_stat_activity WHERE application_name = 'carillon bench seed' AND datname = current_database()`
    await until(async () =>
      (await sql(url, `${busy} AND query LIKE '%INSERT INTO carillon.timers%'`)).length === 0 ? null : true,
    )
    child.kill('SIGKILL')
    await exited
    await until(async () => ((await sql(url, busy)).length === 0 ? true : null))
    expect(await indexesOf(url)).toEqual(before)
    expect(await countOf(url)).toMatchObject({ jobs: 0, timers: 0 })
  })

  it('works with a login that row-level security applies to', async () => {
    await sql(
      postgres.url,
      "CREATE ROLE plain_seeder LOGIN PASSWORD 'secret'; GRANT carillon_fleet, carillon_api TO plain_seeder",
    )
    await sql(postgres.url, 'CREATE DATABASE of_plain_seeder OWNER plain_seeder')
    const url = Object.assign(new URL(urlOf('of_plain_seeder')), {
      username: 'plain_seeder',
      password: 'secret',
    }).href
    // Empty: the schema is made on the way.
    expect(jsonOf(await seed(url, '--n', '10', '--json'))).toMatchObject({ jobs: 10 })
    expect(await countOf(url)).toMatchObject({ jobs: 10, timers: 10 })
    // Spread over a day: what starts only hours from now is left to be read when it is near, as with registered ones.
    const [far] = await sql(url, 'SELECT count(*)::int AS jobs FROM carillon.jobs WHERE changed_at = 0')
    expect(far).toEqual({ jobs: 9 })
  })
})

it('beside a server: jobs are as registered ones, run at their ticks, are accounted for, and go away again', async () => {
  const url = await newDatabase()
  const server = await startServer(['--tasks', join(folder, 'tasks.mjs')], { DATABASE_URL: url, ...often })
  const ask = async (...args: string[]) => carillon([...args, '--url', server.url, '--json'])
  try {
    const mine = ['--schedule', '@every 5s', '--task', 'noop', '--owner', 'carillon-bench-seed']
    jsonOf(await ask('jobs', 'create', 'registered', ...mine))
    const done = await seed(url, '--n', '2500', '--over', '5s', '--json')
    expect(jsonOf<Seeded>(done)).toMatchObject({ jobs: 2_500, beside_servers: true })
    expect(done.stderr).toContain('A server is running')
    expect(await countOf(url)).toEqual({ jobs: 2_501, timers: 2_501, counted: 2_501 })

    // Column by column, but for what is each one's own.
    const own =
      "ARRAY['job','id','partition','name','definition','created_at','updated_at','changed_at','effective_from']"
    const kinds = await sql(
      url,
      `SELECT DISTINCT to_jsonb(j) - ${own} AS job, j.definition - ARRAY['name','anchor'] AS definition,
              to_jsonb(t) - ARRAY['job','partition','due','start_at','accounted_through','runs'] AS timer
       FROM carillon.jobs j JOIN carillon.timers t USING (job)`,
    )
    expect(kinds).toHaveLength(1)
    const [one] = await sql<{ name: string }>(
      url,
      "SELECT name FROM carillon.jobs WHERE name LIKE 'seed-%' LIMIT 1",
    )
    expect(jsonOf(await ask('jobs', 'get', one?.name ?? ''))).toMatchObject({ state: 'active', version: 1 })
    const listed = jsonOf<{ data: unknown[] }>(
      await ask('jobs', 'list', '--managed-by', 'carillon-bench-seed'),
    )
    expect(listed.data).toHaveLength(20)

    const ran = await until(async () => {
      const [row] = await sql<{ jobs: number }>(
        url,
        "SELECT count(DISTINCT job)::int AS jobs FROM carillon.ledger WHERE outcome = 'success'",
      )
      return row !== undefined && row.jobs === 2_501 ? row : null
    })
    expect(ran.jobs).toBe(2_501)
    const verified = await carillon(['verify', '--from', '10m', '--json'], { env: { DATABASE_URL: url } })
    expect(jsonOf(verified)).toMatchObject({ unaccounted: 0, doubled: 0 })

    const refused = await seed(url, '--remove', '--yes')
    expect(refused.stderr).toContain('A server uses this database')
    expect(refused.code).toBe(2)
  } finally {
    await server.stop()
  }
  await sql(
    url,
    "UPDATE carillon.jobs SET definition = definition || '{\"managed_by\":null}' WHERE name = 'registered'",
  )
  // Some that never ran: they leave nothing, those with a history their name.
  jsonOf(await seed(url, '--n', '10', '--name', 'never', '--beside-others', '--json'))
  expect(jsonOf(await seed(url, '--remove', '--yes', '--json'))).toEqual({ removed: 2_510 })
  expect(await countOf(url)).toEqual({ jobs: 1, timers: 1, counted: 1 })
  const left = await sql(
    url,
    'SELECT state, left(name, 4) AS name, count(*)::int AS jobs FROM carillon.jobs GROUP BY 1, 2 ORDER BY 1',
  )
  expect(left).toEqual([
    { state: 'active', name: 'regi', jobs: 1 },
    { state: 'collected', name: 'seed', jobs: 2_500 },
  ])
  expect((await seed(url, '--remove', '--yes')).stdout).toBe('Nothing was seeded here.\n')
})

describe('what is refused', () => {
  it('a database that has jobs of somebody else, unless told', async () => {
    const url = await newDatabase()
    jsonOf(await seed(url, '--n', '2', '--json'))
    await sql(
      url,
      'UPDATE carillon.jobs SET definition = definition || \'{"managed_by":null}\' WHERE job = 1',
    )
    const { code, stderr } = await seed(url, '--n', '2')
    expect(stderr).toContain('"seed-1" for one')
    expect(code).toBe(2)
    expect((await seed(url, '--n', '2', '--beside-others')).stdout).toMatch(/^✓ 2 jobs in /)
    expect(await countOf(url)).toMatchObject({ jobs: 4 })
  })

  it('a database elsewhere, where nobody can be asked', async () => {
    const { code, stderr } = await seed('postgres://me:hunter2@db.example.com/prod', '--n', '2')
    expect(stderr).toContain('Load 2 jobs into prod at db.example.com?')
    expect(stderr).not.toContain('hunter2')
    expect(code).toBe(2)
  })

  it('removing without a word', async () => {
    const url = await newDatabase()
    jsonOf(await seed(url, '--n', '2', '--json'))
    const { code, stderr } = await seed(url, '--remove')
    expect(stderr).toContain('Remove 2 seeded jobs from')
    expect(code).toBe(2)
    expect(await countOf(url)).toMatchObject({ jobs: 2 })
  })

  it('a schema that is not of this version', async () => {
    const url = await newDatabase()
    await sql(url, "INSERT INTO carillon.migrations (version, name, checksum) VALUES (9999, 'future', '')")
    expect((await seed(url, '--n', '2')).stderr).toContain('schema version 9999')
  })

  it('what the API would refuse', async () => {
    const url = await newDatabase()
    const blocked = await seed(url, '--n', '2', '--http', 'http://169.254.169.254/')
    expect(blocked.stderr).toContain('169.254.169.254')
    expect(blocked.code).toBe(2)
    expect((await seed(url, '--n', '2', '--tenant', 'nobody')).stderr).toContain('nobody')
    const rare = await carillon(['bench', 'seed', '--n', '100', '--rate', '10'], {
      env: { DATABASE_URL: url },
    })
    expect(rare.stderr).toContain('--rate or --over')
  })
})
