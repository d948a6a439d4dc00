// Slow runs, all in flight at once over a few worker processes, for longer than their lease: held by heartbeats alone.
// Then all of them end. Every run must be closed once, at its first attempt.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { joinEmbeddedPostgres } from '../packages/server/dist/db/embedded/index.js'
import { startCarillon } from './carillon.mjs'

const processes = 3
const leaseSeconds = 30
const tasks = fileURLToPath(new URL('./in-flight-tasks.mjs', import.meta.url))
const say = (line) => process.stderr.write(`${line}\n`)

export async function measure({ n = 150_000, seconds = 75 }) {
  const folder = mkdtempSync(join(tmpdir(), 'carillon-bench-'))
  const release = join(folder, 'release')
  const postgres = await joinEmbeddedPostgres({ dataDir: join(folder, 'data') })
  const client = new pg.Client({ connectionString: postgres.url })
  await client.connect()
  const started = []
  const start = async (args, env = {}) => {
    const carillon = await startCarillon(args, { DATABASE_URL: postgres.url, ...env })
    started.push(carillon)
    return carillon
  }
  try {
    const desk = await start(['--role', 'api', '--role', 'scheduler'])
    const workers = []
    for (let at = 0; at < processes; at++)
      workers.push(
        await start(['--role', 'worker', '--tasks', tasks], {
          CARILLON_WORKER_CONCURRENCY: String(Math.ceil(n / processes)),
          CARILLON_RUN_LEASE_SECONDS: String(leaseSeconds),
        }),
      )
    await enqueue(client, await register(desk.url, release), n)
    const [leaseMs] = await timed(() => reaches(client, 'in flight', inFlight, n))
    const held = await hold(client, n, seconds)
    const rss = workers.map(({ pid }) => residentMb(pid))
    writeFileSync(release, '')
    const [closeMs] = await timed(() => reaches(client, 'closed', closed, n))
    const { rows } = await client.query(
      `SELECT count(*)::int AS attempts, count(*) FILTER (WHERE final)::int AS final,
              count(*) FILTER (WHERE final AND outcome = 'success' AND attempt = 1)::int AS good
       FROM carillon.ledger WHERE origin = 1`,
    )
    const { attempts, final, good } = rows[0]
    return {
      workload: 'in-flight',
      n,
      processes,
      lease_seconds: leaseSeconds,
      held_seconds: seconds,
      ...held,
      in_flight_after_ms: leaseMs,
      closed_after_ms: closeMs,
      closes_per_s: Math.round((n / closeMs) * 1000),
      rss_mb: rss,
      kb_per_run: Math.round((rss.reduce((sum, mb) => sum + mb) * 1024) / n),
      lost: n - good,
      doubled: attempts - n + Math.max(0, final - n),
    }
  } finally {
    if (!existsSync(release)) writeFileSync(release, '')
    for (const carillon of started.reverse()) await carillon.end()
    await client.end()
    await postgres.leave()
    rmSync(folder, { recursive: true, force: true })
  }
}

export function table(figures) {
  const { n, processes: count, held_seconds, lease_seconds, longest_silence_ms, rss_mb, kb_per_run } = figures
  return [
    `${n.toLocaleString('en')} runs in flight over ${count} worker processes, held for ${held_seconds} s (lease ${lease_seconds} s)`,
    `  all in flight after   ${figures.in_flight_after_ms} ms`,
    `  longest time between two heartbeats of a worker   ${longest_silence_ms} ms`,
    `  all closed after      ${figures.closed_after_ms} ms   (${figures.closes_per_s.toLocaleString('en')} a second)`,
    `  memory of the workers ${rss_mb.join(', ')} MB   (${kb_per_run} KB a run)`,
    `  lost ${figures.lost}   doubled ${figures.doubled}`,
  ].join('\n')
}

/** A job whose runs go on until the file is there. */
async function register(url, release) {
  const response = await fetch(`${url}/api/v1/jobs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      name: 'slow',
      schedule: '2099-01-01T00:00:00Z',
      overlap_policy: 'ALLOW',
      timeout_seconds: 3_600,
      target: { type: 'task', task: 'slow' },
      payload: { until: release },
    }),
  })
  if (!response.ok) throw new Error(`The job was not taken: ${await response.text()}`)
  return 'slow'
}

/** As many runs as if somebody had triggered the job so often. */
async function enqueue(client, name, count) {
  say(`putting ${count} runs into the queue`)
  await client.query(
    `INSERT INTO carillon.queue (due, job, origin, seq, tenant, route, version, epoch, max_attempts, available_at,
                                 fired_at, partition)
     SELECT now, job, 1, n, tenant, route, version, 0, 3, now, now, partition
     FROM carillon.jobs, carillon.now_ms() AS now, generate_series(1, $2::int) AS n
     WHERE name = $1`,
    [name, count],
  )
}

async function inFlight(client) {
  const { rows } = await client.query(
    'SELECT count(*)::int AS count FROM carillon.queue WHERE holder IS NOT NULL AND available_at <= carillon.now_ms()',
  )
  return rows[0].count
}

async function closed(client) {
  const { rows } = await client.query('SELECT count(*)::int AS count FROM carillon.ledger WHERE final')
  return rows[0].count
}

/** Progress on the way: this takes a while. */
async function reaches(client, what, count, goal) {
  const deadline = performance.now() + 600_000
  for (let told = 0; ; ) {
    const now = await count(client)
    if (now >= goal) return
    if (performance.now() > deadline) throw new Error(`Only ${now} of ${goal} are ${what} after 600 s.`)
    if (performance.now() - told > 2_000) {
      told = performance.now()
      say(`${now} ${what}`)
    }
    await wait(100)
  }
}

/** For longer than the lease: whoever gave no life sign lost its runs. */
async function hold(client, n, seconds) {
  let longest = 0
  let fewest = n
  const end = performance.now() + seconds * 1000
  say(`holding them for ${seconds} s`)
  while (performance.now() < end) {
    const { rows } = await client.query(
      `SELECT max(carillon.now_ms() - beat_at)::int AS silence FROM carillon.incarnations
       WHERE state = 'alive' AND 'worker' = ANY (roles)`,
    )
    longest = Math.max(longest, rows[0].silence)
    fewest = Math.min(fewest, await inFlight(client))
    await wait(500)
  }
  if (fewest < n) throw new Error(`While they were held only ${fewest} of ${n} were in flight.`)
  return { longest_silence_ms: longest }
}

async function timed(work) {
  const begun = performance.now()
  const result = await work()
  return [Math.round(performance.now() - begun), result]
}

function residentMb(pid) {
  const [, kb] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Math.round(Number(kb) / 1024)
}
