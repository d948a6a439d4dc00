// What a leasing pass costs with many lanes (tenants × hosts): one that finds nothing, and one with a backlog in every
// lane. Passes take turns, so that a noisy machine is noisy for all of them.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { pino } from 'pino'
import { DatabaseClock } from '../packages/server/dist/db/database-clock.js'
import { joinEmbeddedPostgres } from '../packages/server/dist/db/embedded/index.js'
import { migrate } from '../packages/server/dist/db/migrate.js'
import { Database } from '../packages/server/dist/db/pool.js'
import { Leasing } from '../packages/server/dist/pipeline/queue/leasing.js'
import { systemClock as clock } from '../packages/server/dist/platform/clock.js'

const log = pino({ level: 'silent' })
const holder = 1
const hostsPerTenant = 10
const most = 100

/** `n`: runs of the backlog, over all lanes. */
export async function measure({ n = 20_000 }) {
  const dataDir = mkdtempSync(join(tmpdir(), 'carillon-bench-'))
  const postgres = await joinEmbeddedPostgres({ dataDir })
  const client = new pg.Client({ connectionString: postgres.url })
  await client.connect()
  const database = new Database({
    url: postgres.url,
    poolSize: 5,
    statementTimeoutMs: 60_000,
    applicationName: 'carillon bench',
    log,
  })
  try {
    await migrate(client, clock)
    await client.query(
      `INSERT INTO carillon.incarnations (incarnation, host, pid, roles, code_version)
       VALUES ($1, 'bench', 1, '{worker}', 'bench')`,
      [holder],
    )
    const figures = []
    for (const lanes of [1, 1_000, 10_000]) {
      await arrange(client, lanes)
      const empty = await passes(database, 15)
      await putRuns(client, lanes, 10)
      const few = await passes(database, 1)
      await client.query('TRUNCATE carillon.queue')
      await putRuns(client, lanes, n)
      figures.push({ lanes, empty, few, backlog: await passes(database, 7) })
    }
    return { workload: 'lanes', n, figures }
  } finally {
    await database.close()
    await client.end()
    await postgres.leave()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

export function table({ n, figures }) {
  return [
    'a leasing pass, median ms',
    ...figures.map(
      ({ lanes, empty, few, backlog }) =>
        `  ${String(lanes).padStart(6)} lanes   empty ${empty}   10 runs ${few}   ${n} runs due, 100 leased ${backlog}`,
    ),
  ].join('\n')
}

async function arrange(client, lanes) {
  await client.query('TRUNCATE carillon.queue')
  await client.query('DELETE FROM carillon.routes')
  await client.query(
    `INSERT INTO carillon.tenants (tenant, name)
     SELECT n, 'tenant ' || n FROM generate_series(2, 1 + $1::int / $2) n ON CONFLICT DO NOTHING`,
    [lanes, hostsPerTenant],
  )
  await client.query(
    `INSERT INTO carillon.routes (route, tenant, kind, name)
     SELECT n, 1 + (n - 1) / $2::int, 'http', 'host-' || n FROM generate_series(1, $1::int) n`,
    [lanes, hostsPerTenant],
  )
  await client.query('ANALYZE carillon.routes, carillon.tenants, carillon.queue')
}

/** Due over the last minute, evenly over the lanes. */
async function putRuns(client, lanes, count) {
  await client.query(
    `INSERT INTO carillon.queue (due, job, tenant, route, version, epoch, max_attempts, available_at, fired_at, partition)
     SELECT at, n, r.tenant, r.route, 1, 1, 1, at, at, n % 256
     FROM generate_series(1, $2::int) n
     JOIN carillon.routes r ON r.route = 1 + (n::bigint * 7919) % $1::int
     CROSS JOIN LATERAL (SELECT carillon.now_ms() - 60000 + n % 50000 AS at) instant`,
    [lanes, count],
  )
  await client.query('ANALYZE carillon.queue')
}

async function passes(database, count) {
  const databaseClock = new DatabaseClock(clock, () => undefined)
  const times = []
  const leasing = new Leasing({ clock, database, databaseClock, tasks: [], aheadMs: 1_000 })
  await leasing.lease(holder, 1)
  for (let pass = 0; pass < count; pass++) {
    const begun = performance.now()
    await leasing.lease(holder, most)
    times.push(performance.now() - begun)
  }
  times.sort((a, b) => a - b)
  return Math.round((times[Math.floor(times.length / 2)] ?? 0) * 100) / 100
}
