// Slow runs, all in flight at once over a few worker processes, for longer than their lease: held by heartbeats alone, while
// other jobs run beside them. Then all of them end. Every run must be closed once, at its first attempt.
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Carillon } from '../contestants/carillon.mjs'
import { cpuMark, cpuSince } from '../lib/cpu.mjs'
import { now, percentiles } from '../lib/figures.mjs'
import { progress } from '../lib/progress.mjs'

export const score = { figure: 'closes_per_s', better: 'higher' }
export const defaults = { n: [150_000], seconds: 75, repeats: 1 }
export const smoke = { n: [1_500], seconds: 2 }
const leaseSeconds = 30
/** Jobs that run once a second beside the slow ones: how late they start says what the slow ones cost. */
const others = 20

export async function measure({ house, n: [n], seconds, set }) {
  const release = join(house.folder, 'release')
  const processes = house.quick ? 1 : 3
  const workers = Array.from({ length: processes }, () => ['worker'])
  const carillon = await Carillon.open(house, {
    processes: [['api', 'scheduler'], ...workers],
    settings: {
      CARILLON_WORKER_CONCURRENCY: String(Math.ceil(n / processes) + 100),
      CARILLON_RUN_LEASE_SECONDS: String(leaseSeconds),
      ...set,
    },
  })
  try {
    await register(carillon, release)
    progress(`in-flight: putting ${n} runs into the queue`)
    await enqueue(carillon, n)
    const begun = now()
    await reaches('in flight', n, () => inFlight(carillon))
    const allAfter = Math.round(now() - begun)
    const held = await hold(carillon, n, seconds)
    const rss = (await carillon.memory()).slice(1)
    const releasedAt = now()
    writeFileSync(release, '')
    await reaches('closed', n, () => closed(carillon))
    const closedAfter = Math.round(now() - releasedAt)
    return shape({ n, seconds, processes, allAfter, closedAfter, held, rss, ...(await verdict(carillon, n)) })
  } finally {
    if (!existsSync(release)) writeFileSync(release, '')
    await carillon.close()
  }
}

function shape({ n, seconds, processes, allAfter, closedAfter, held, rss, lost, doubled }) {
  return {
    workload: 'in-flight',
    n,
    seconds,
    processes,
    lease_seconds: leaseSeconds,
    ours: {
      closes_per_s: Math.round((n / closedAfter) * 1_000),
      in_flight_after_ms: allAfter,
      closed_after_ms: closedAfter,
      ...held,
      rss_mb: rss.reduce((sum, mb) => sum + mb, 0),
      kb_per_run: Math.round((rss.reduce((sum, mb) => sum + mb, 0) * 1_024) / n),
    },
    peers: {},
    probe: null,
    ratio_best_peer: null,
    ratio_probe: null,
    ratio_of: score.figure,
    better: score.better,
    lost,
    doubled,
    repeats: 1,
  }
}

/** One job whose runs go on until the file is there, and some that run every second. */
async function register(carillon, release) {
  await carillon.register(1, () => ({
    name: 'slow',
    schedule: '2099-01-01T00:00:00Z',
    overlap_policy: 'ALLOW',
    timeout_seconds: 3_600,
    target: { type: 'task', task: 'slow' },
    payload: { until: release },
  }))
  await carillon.register(others, (i) => ({
    name: `other-${i}`,
    schedule: '* * * * * *',
    target: { type: 'task', task: 'noop' },
  }))
}

/** As many runs as if somebody had triggered the job so often. */
function enqueue(carillon, count) {
  return carillon.sql(
    `INSERT INTO carillon.queue (due, job, origin, seq, tenant, route, version, epoch, max_attempts, available_at,
                                 fired_at, partition)
     SELECT now, job, 1, n, tenant, route, version, 0, 3, now, now, partition
     FROM carillon.jobs, carillon.now_ms() AS now, generate_series(1, $1::int) AS n
     WHERE name = 'slow'`,
    [count],
  )
}

async function inFlight(carillon) {
  const [row] = await carillon.sql(
    'SELECT count(*)::int AS count FROM carillon.queue WHERE origin = 1 AND holder IS NOT NULL AND available_at <= carillon.now_ms()',
  )
  return row.count
}

async function closed(carillon) {
  const [row] = await carillon.sql(
    'SELECT count(*)::int AS count FROM carillon.ledger WHERE final AND origin = 1',
  )
  return row.count
}

async function reaches(what, goal, count) {
  const limit = now() + 600_000
  for (;;) {
    const reached = await count()
    if (reached >= goal) return
    if (now() > limit) throw new Error(`Only ${reached} of ${goal} are ${what} after 600 s.`)
    progress(`in-flight: ${reached} of ${goal} ${what}`, true)
    await wait(100)
  }
}

/** For longer than the lease: whoever gave no life sign lost its runs. */
async function hold(carillon, n, seconds) {
  let [longest, fewest] = [0, n]
  const mark = cpuMark(carillon.groups)
  const [{ now: since }] = await carillon.sql('SELECT carillon.now_ms()::float8 AS now')
  progress(`in-flight: holding ${n} for ${seconds} s`)
  for (const end = now() + seconds * 1_000; now() < end; await wait(500)) {
    const [row] = await carillon.sql(
      `SELECT max(carillon.now_ms() - beat_at)::int AS silence FROM carillon.incarnations
       WHERE state = 'alive' AND 'worker' = ANY (roles)`,
    )
    longest = Math.max(longest, row.silence)
    fewest = Math.min(fewest, await inFlight(carillon))
  }
  if (fewest < n) throw new Error(`While they were held only ${fewest} of ${n} were in flight.`)
  const cpu = cpuSince(mark)
  const rows = await carillon.sql(
    `SELECT (started_at - due)::float8 AS lag FROM carillon.ledger
     WHERE origin = 0 AND outcome = 'success' AND due >= $1`,
    [since],
  )
  return { longest_silence_ms: longest, lag_ms: percentiles(rows.map(({ lag }) => lag)), cpu }
}

async function verdict(carillon, n) {
  const [row] = await carillon.sql(
    `SELECT count(*)::int AS attempts, count(*) FILTER (WHERE final)::int AS final,
            count(*) FILTER (WHERE final AND outcome = 'success' AND attempt = 1)::int AS good
     FROM carillon.ledger WHERE origin = 1`,
  )
  return { lost: n - row.good, doubled: row.attempts - n + Math.max(0, row.final - n) }
}
