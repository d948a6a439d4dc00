// A transaction elsewhere in the database stays open and keeps every dead row from being removed. Jobs that run every
// second go on: how late their runs start, before it was opened, and at the end of the time.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { joinEmbeddedPostgres } from '../packages/server/dist/db/embedded/index.js'
import { startCarillon } from './carillon.mjs'

const tasks = fileURLToPath(new URL('./noop-tasks.mjs', import.meta.url))
const windowSeconds = 30
const say = (line) => process.stderr.write(`${line}\n`)

export async function measure({ n = 300, seconds = 600 }) {
  const folder = mkdtempSync(join(tmpdir(), 'carillon-bench-'))
  const postgres = await joinEmbeddedPostgres({ dataDir: join(folder, 'data') })
  const client = new pg.Client({ connectionString: postgres.url })
  const old = new pg.Client({ connectionString: postgres.url })
  await Promise.all([client.connect(), old.connect()])
  const carillon = await startCarillon(['--tasks', tasks], {
    DATABASE_URL: postgres.url,
    CARILLON_MIN_INTERVAL_SECONDS: '1',
  })
  try {
    await register(carillon.url, n)
    await wait(5_000)
    const before = await observe(client, windowSeconds)
    await old.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
    await old.query('SELECT count(*) FROM carillon.jobs')
    const opened = performance.now()
    const windows = []
    while (performance.now() - opened < seconds * 1000) {
      windows.push(await observe(client, Math.min(windowSeconds, seconds)))
      const { lag_ms, dead_rows } = windows.at(-1)
      const passed = Math.round((performance.now() - opened) / 1000)
      say(`${passed} s: start lag p50 ${lag_ms.p50} p99 ${lag_ms.p99} ms, ${dead_rows} dead rows kept`)
    }
    const after = windows.at(-1)
    const ratio = (of) => Math.round((of(after) / Math.max(1, of(before))) * 100) / 100
    return {
      workload: 'old-snapshot',
      n,
      seconds,
      before,
      after,
      ratio_p50: ratio(({ lag_ms }) => lag_ms.p50),
      ratio_p99: ratio(({ lag_ms }) => lag_ms.p99),
      lost: await missing(client),
    }
  } finally {
    await old.end()
    await carillon.end()
    await client.end()
    await postgres.leave()
    rmSync(folder, { recursive: true, force: true })
  }
}

export function table({ n, seconds, before, after, ratio_p50, ratio_p99, lost }) {
  const line = ({ lag_ms, dead_rows, runs }) =>
    `start lag p50 ${lag_ms.p50}   p99 ${lag_ms.p99}   max ${lag_ms.max} ms   ${runs} runs   ${dead_rows} dead rows`
  return [
    `${n} jobs every second, a transaction open for ${seconds} s`,
    `  before       ${line(before)}`,
    `  at the end   ${line(after)}`,
    `  end / before p50 ${ratio_p50}   p99 ${ratio_p99}   lost ${lost}`,
  ].join('\n')
}

async function register(url, count) {
  for (let at = 0; at < count; at++) {
    const response = await fetch(`${url}/api/v1/jobs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        name: `job-${at}`,
        schedule: '* * * * * *',
        overlap_policy: 'ALLOW',
        target: { type: 'task', task: 'noop' },
      }),
    })
    if (!response.ok) throw new Error(`A job was not taken: ${await response.text()}`)
  }
}

/** The runs that started in the coming window. */
async function observe(client, forSeconds) {
  const { rows: begun } = await client.query('SELECT carillon.now_ms()::float8 AS now')
  await wait(forSeconds * 1000)
  const { rows } = await client.query(
    `SELECT count(*)::int AS runs,
            percentile_disc(ARRAY[0.5, 0.99, 1]) WITHIN GROUP (ORDER BY started_at - available_at)::float8[] AS lags
     FROM carillon.ledger WHERE started_at >= $1 AND outcome = 'success'`,
    [begun[0].now],
  )
  await client.query('SELECT pg_stat_force_next_flush()').catch(() => undefined)
  const { rows: dead } = await client.query(
    "SELECT sum(n_dead_tup)::int AS rows FROM pg_stat_user_tables WHERE relname IN ('queue', 'timers')",
  )
  const [p50, p99, max] = rows[0].lags ?? [null, null, null]
  return { runs: rows[0].runs, lag_ms: { p50, p99, max }, dead_rows: dead[0].rows }
}

/** Ticks of the past minute without a row of their own: every job has one each second. */
async function missing(client) {
  await wait(2_000)
  const { rows } = await client.query(
    `SELECT count(*)::int AS count
     FROM carillon.jobs j
     CROSS JOIN (SELECT carillon.now_ms() / 1000 AS second) now
     CROSS JOIN generate_series(now.second - 60, now.second - 3) AS tick (second)
     WHERE NOT EXISTS (SELECT FROM carillon.ledger l WHERE l.job = j.job AND l.due = tick.second * 1000 AND l.final)
       AND tick.second * 1000 > j.changed_at + 2000`,
  )
  return rows[0].count
}
