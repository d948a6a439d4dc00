// One worker, two tenants: A has a backlog, B ten runs a second. How late B's runs start, alone and beside A. Then passes
// that find nothing while an old transaction keeps the entries of runs that are gone, and while many wait for a place.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { pino } from 'pino'
import { DatabaseClock } from '../packages/server/dist/db/database-clock.js'
import { joinEmbeddedPostgres } from '../packages/server/dist/db/embedded/index.js'
import { migrate } from '../packages/server/dist/db/migrate.js'
import { Database } from '../packages/server/dist/db/pool.js'
import { Worker } from '../packages/server/dist/pipeline/execute/worker.js'
import { Leasing } from '../packages/server/dist/pipeline/queue/leasing.js'
import { Closer } from '../packages/server/dist/pipeline/record/closer.js'
import { systemClock as clock } from '../packages/server/dist/platform/clock.js'
import { Metrics } from '../packages/server/dist/platform/metrics.js'

const log = pino({ level: 'silent' })
const holder = 1
const seconds = 20
const perSecond = 10
const concurrency = 100
const taskMs = 20
const pollMs = 50
const stagedMs = 500
const gone = 300_000
const waiting = 10_000

export async function measure({ n = 200_000 }) {
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
    await arrange(client)
    const alone = await lagOfB(client, database)
    await putRuns(client, 1, n)
    const beside = await lagOfB(client, database)
    await client.query('TRUNCATE carillon.queue')
    return { workload: 'fairness', n, alone, beside, ...(await emptyPasses(client, database, postgres.url)) }
  } finally {
    await database.close()
    await client.end()
    await postgres.leave()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

export function table({ n, alone, beside, pinned, waits }) {
  const lag = ({ p50, p99, max }) => `p50 ${p50}   p99 ${p99}   max ${max}`
  const pass = ({ full, quick }) => `from the bottom ${full}   from the watermark ${quick}`
  return [
    `tenant B, ${perSecond} runs a second, ${concurrency} places of ${taskMs} ms: start after its instant, ms`,
    `  alone                       ${lag(alone)}`,
    `  beside ${n} due of tenant A  ${lag(beside)}   (A: ${Math.round(beside.others / seconds)} runs a second)`,
    'a pass that finds nothing, median ms',
    `  ${gone} runs gone, an old transaction open:  ${pass(pinned)}`,
    `  ${waiting} runs wait for a place:              ${pass(waits)}`,
  ].join('\n')
}

async function arrange(client) {
  await client.query("INSERT INTO carillon.tenants (tenant, name) VALUES (2, 'B')")
  await client.query(
    "INSERT INTO carillon.routes (route, tenant, kind) VALUES (1, 1, 'http'), (2, 2, 'http')",
  )
  await client.query(
    `INSERT INTO carillon.incarnations (incarnation, host, pid, roles, code_version)
     VALUES ($1, 'bench', 1, '{worker}', 'bench')`,
    [holder],
  )
}

/** Due runs of a tenant, each of a job of its own, over the last minute; or one at an instant. */
async function putRuns(client, tenant, count, { at = null, slot = null, places = null, job = 0 } = {}) {
  await client.query(
    `INSERT INTO carillon.queue (due, job, tenant, route, version, epoch, slot, places, max_attempts, available_at,
                                 fired_at, partition)
     SELECT at, $3::bigint + n, $1, $1, 1, 1, $5, $6, 1, at, at, n % 256
     FROM generate_series(1, $2::int) n,
          LATERAL (SELECT coalesce($4, carillon.now_ms() - 60000 + n % 60000) AS at) instant`,
    [tenant, count, job, at, slot, places],
  )
}

async function lagOfB(client, database) {
  const databaseClock = new DatabaseClock(clock, () => undefined)
  const leasing = new Leasing({ clock, database, databaseClock, tasks: [], aheadMs: 1_000 })
  const closer = new Closer({ database, clock, log, metrics: new Metrics(), batchMs: 5 })
  const lags = []
  let others = 0
  let woken = () => undefined
  const worker = new Worker({
    ports: {
      lease: (self, most) => leasing.lease(self, most),
      held: (self) => leasing.held(self),
      revoked: (self) => leasing.revoked(self),
      stillHeld: (self, runs) => leasing.stillHeld(self, runs),
      handBack: (self, runs) => leasing.handBack(self, runs),
      definitions: async (wanted) =>
        new Map(wanted.map(({ job, version }) => [`${job}@${version}`, { jobId: 'job', definition: {} }])),
      deliver: async (run) => {
        if (run.tenant === 2) lags.push(databaseClock.atLeast() - run.availableAt)
        else others += 1
        await sleep(taskMs)
        return { outcome: 'success', retryable: false, retryAfterMs: null, reason: null, error: null }
      },
      close: async (result) => {
        const answer = await closer.close(result)
        leasing.freed(result.run.job)
        return answer
      },
      drained: () => closer.drained(),
    },
    clock,
    databaseClock,
    log,
    metrics: new Metrics(),
    concurrency,
    self: () => holder,
    wake: () => woken(),
  })
  let going = true
  const working = (async () => {
    while (going) {
      const rest = new Promise((resolve) => {
        woken = resolve
        setTimeout(resolve, pollMs)
      })
      if (!(await worker.leaseOnce())) await rest
    }
  })()
  const looking = setInterval(() => void worker.lookOnce(), 500)
  await fireB(client)
  await sleep(stagedMs + 2_000)
  going = false
  await working
  clearInterval(looking)
  await worker.handBack()
  await worker.drain(5_000)
  return { ...figuresOf(lags), runs: lags.length, others }
}

async function fireB(client) {
  const { rows } = await client.query('SELECT carillon.now_ms()::text AS now')
  const begun = Date.now()
  for (let at = 0; at < seconds * perSecond; at++) {
    const instant = (at * 1_000) / perSecond
    await sleep(Math.max(0, begun + instant - Date.now()))
    await putRuns(client, 2, 1, { at: Number(rows[0].now) + instant + stagedMs, job: 10_000_000 + at })
  }
}

async function emptyPasses(client, database, url) {
  const old = new pg.Client({ connectionString: url })
  await old.connect()
  await old.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
  await old.query('SELECT count(*) FROM carillon.tenants')
  await putRuns(client, 1, gone)
  await client.query('DELETE FROM carillon.queue')
  await client.query('ANALYZE carillon.queue')
  const pinned = await passes(database)
  await old.end()
  await client.query('TRUNCATE carillon.queue')
  // Each behind another run of its job, which is in the place.
  await putRuns(client, 1, waiting, { slot: 0, places: 1, at: 1 })
  await client.query(`UPDATE carillon.queue SET holder = 2, token = 1, leased_at = 1 WHERE slot = 0`)
  await putRuns(client, 1, waiting, { slot: -1, places: 1 })
  await client.query('ANALYZE carillon.queue')
  return { pinned, waits: await passes(database) }
}

/** Medians of passes that find nothing: from the bottom, as each first pass of a worker, and after it. */
async function passes(database) {
  const databaseClock = new DatabaseClock(clock, () => undefined)
  const [full, quick] = [[], []]
  for (let round = 0; round < 7; round++) {
    const leasing = new Leasing({ clock, database, databaseClock, tasks: [], aheadMs: 1_000 })
    for (let pass = 0; pass < 8; pass++) {
      const begun = performance.now()
      await leasing.lease(holder, 100)
      ;(pass === 0 ? full : quick).push(performance.now() - begun)
    }
  }
  return { full: median(full), quick: median(quick) }
}

function median(times) {
  return Math.round((times.sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0) * 100) / 100
}

function figuresOf(lags) {
  lags.sort((a, b) => a - b)
  const at = (share) => lags[Math.min(lags.length - 1, Math.floor(lags.length * share))]
  return { p50: at(0.5), p99: at(0.99), max: lags.at(-1) }
}
