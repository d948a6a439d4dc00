// More and more registered jobs at one firing rate: what that costs. Each job's period grows with their number, so that all
// of them fire in turn. Target: flat. The jobs are loaded by COPY; repeats are windows of one load, since a load takes minutes.
import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { lookOf } from '../../packages/cli/dist/output/look.js'
import { seed as seedCommand } from '../../packages/cli/dist/seed/command.js'
import { loadConfig } from '../../packages/server/dist/config.js'
import { partitionCount } from '../../packages/server/dist/platform/partition.js'
import { statement } from '../../packages/server/dist/db/statement.js'
import { Carillon, oneProcess } from '../contestants/carillon.mjs'
import { inOne } from '../lib/compare.mjs'
import { cpuMark, cpuSince } from '../lib/cpu.mjs'
import { median, medians, now, percentilesOfWhole, ratio, round } from '../lib/figures.mjs'
import { progress, progressDone, say } from '../lib/progress.mjs'

export const score = { figure: 'lag_ms.p99', better: 'lower' }
export const defaults = { n: [10_000, 100_000, 1_000_000, 10_000_000], rate: [1_000], seconds: 30 }
export const smoke = { n: [2_000], rate: [200], seconds: 3, repeats: 1 }
/** What a node of a cluster owns of very many: its scan is to take less than 5 ms. */
const shardJobs = 1_000_000
const wheelCapacity = loadConfig({ env: {} }).wheelCapacity
const perMegabyte = 2 ** 20
/** About what a webhook or a task is told. */
const payload = { customer: 4711, note: 'x'.repeat(100) }
const queries = new URL('../../packages/server/dist/pipeline/fire/', import.meta.url)
const statements = {
  due: statement(new URL('scan-due.sql', queries)),
  horizon: statement(new URL('load-horizon.sql', queries)),
}

export async function measure({ house, n, rate: [rate], seconds, repeats, set, quick }) {
  const cases = []
  for (const jobs of n) {
    const ours = await atSize(house, { jobs, rate: Math.min(rate, jobs), seconds, repeats, set, quick })
    const { lost, doubled, ...figures } = ours
    const [first] = cases
    cases.push({
      workload: 'scale',
      n: jobs,
      rate,
      seconds,
      ours: figures,
      peers: {},
      probe: null,
      ratio_best_peer: null,
      ratio_probe: null,
      // Flat is 1: this size against the first one.
      ratio_first_lag_p99: ratio(figures.lag_ms.p99, (first?.ours ?? figures).lag_ms.p99),
      ratio_first_cpu: ratio(coresOf(figures), coresOf(first?.ours ?? figures)),
      ratio_of: score.figure,
      better: score.better,
      lost,
      doubled,
      repeats,
    })
  }
  return inOne(cases)
}

const coresOf = ({ cpu }) => (cpu === null ? null : cpu.carillon + cpu.postgres)

async function atSize(house, { jobs, rate, seconds, repeats, set, quick }) {
  const carillon = await Carillon.open(house, { processes: [], settings: set })
  try {
    const seeded = await seed(carillon, jobs, rate)
    const size = await sizes(carillon, jobs)
    for (const roles of oneProcess) await carillon.startProcess(roles)
    const from = Math.max(Date.parse(seeded.first_tick), now()) + (quick ? 1_000 : 5_000)
    const windows = await watch(carillon, from, { rate, seconds, repeats })
    const grown = await growth(carillon)
    await carillon.stop()
    const shard = await scans(carillon, jobs)
    const restart = await restarted(carillon)
    await carillon.stop()
    return {
      ...medians(windows.map(({ from: _, ...figures }) => figures)),
      seeded_s: seeded.took_seconds,
      seeded_per_s: seeded.jobs_per_second,
      ...restart,
      ...size,
      ...grown,
      ...shard,
      ...(await whole(carillon, windows[0].from, seconds * repeats)),
    }
  } finally {
    await carillon.close()
  }
}

/** `carillon bench seed`, as a person calls it, with its bar. */
async function seed(carillon, jobs, rate) {
  const env = { DATABASE_URL: carillon.databaseUrl, CARILLON_MIN_INTERVAL_SECONDS: '1' }
  const flags = { n: String(jobs), rate: String(rate), name: 'seed', payload: JSON.stringify(payload) }
  let seeded
  progressDone()
  await seedCommand(
    loadConfig({ env }),
    {
      json: false,
      look: lookOf(process.stderr),
      note: (text) => say(`seed: ${text}`),
      result: (value) => (seeded = value),
    },
    flags,
  )
  return seeded
}

async function sizes(carillon, jobs) {
  const [row] = await carillon.sql(
    `SELECT pg_database_size(current_database())::float8 AS database,
            pg_total_relation_size('carillon.jobs')::float8 AS jobs, pg_table_size('carillon.jobs')::float8 AS job_rows,
            pg_total_relation_size('carillon.timers')::float8 AS timers`,
  )
  const mb = (bytes) => Math.round(bytes / perMegabyte)
  return {
    disk_mb: mb(row.database),
    jobs_mb: mb(row.jobs),
    job_rows_mb: mb(row.job_rows),
    timers_mb: mb(row.timers),
    bytes_per_job: Math.round(row.jobs / jobs),
    bytes_per_job_row: Math.round(row.job_rows / jobs),
    bytes_per_timer: Math.round(row.timers / jobs),
  }
}

/** What history takes: its rows with their indexes. */
async function growth(carillon) {
  const [row] = await carillon.sql(
    `SELECT sum(pg_total_relation_size(inhrelid))::float8 AS bytes, (SELECT count(*)::float8 FROM carillon.ledger) AS rows
     FROM pg_inherits WHERE inhparent = 'carillon.ledger'::regclass`,
  )
  return { ledger_bytes_per_run: row.rows === 0 ? null : Math.round(row.bytes / row.rows) }
}

/**
 * The scheduler's own reads, with its page sizes, of a node that owns as many partitions as hold a million jobs, and of one
 * that owns them all. Nobody fires meanwhile: what is due is there to be found.
 */
async function scans(carillon, jobs) {
  const all = Array.from({ length: partitionCount }, (_, at) => at)
  const shard = all.slice(0, Math.max(1, Math.round(partitionCount * Math.min(1, shardJobs / jobs))))
  const client = new pg.Client({ connectionString: carillon.databaseUrl })
  await client.connect()
  const timed = async ({ text }, partitions, [aheadMs, mostPerPartition]) => {
    const times = []
    let rows = 0
    const zeros = partitions.map(() => 0)
    for (let turn = 0; turn < 7; turn++) {
      const begun = now()
      const values = [partitions, zeros, zeros, aheadMs, mostPerPartition]
      rows = (await client.query({ text, values, rowMode: 'array' })).rows.length
      times.push(now() - begun)
    }
    return { ms: round(median(times), 2), rows }
  }
  try {
    const due = await timed(statements.due, shard, [2_000, 500])
    const dueOfAll = await timed(statements.due, all, [2_000, 500])
    const horizon = await timed(statements.horizon, all, [600_000, Math.ceil(wheelCapacity / partitionCount)])
    return {
      due_scan_ms: due.ms,
      due_scan_rows: due.rows,
      due_scan_all_ms: dueOfAll.ms,
      due_scan_all_rows: dueOfAll.rows,
      horizon_load_ms: horizon.ms,
      horizon_timers: horizon.rows,
    }
  } finally {
    await client.end()
  }
}

/** From its start until a process answers, until it owns every partition, and until the first run of its own is closed. */
async function restarted(carillon) {
  const begun = now()
  for (const roles of oneProcess) await carillon.startProcess(roles)
  const readyMs = now() - begun
  const until = async (text, values) => {
    for (const limit = now() + 60_000; now() < limit; await wait(20))
      if ((await carillon.sql(text, values)).length > 0) return Math.round(now() - begun)
    return null
  }
  const owned = await until(
    `SELECT FROM carillon.partitions WHERE owner IS NOT NULL AND expires_at > carillon.now_ms() HAVING count(*) = $1`,
    [partitionCount],
  )
  const ran = await until(
    "SELECT FROM carillon.ledger WHERE recorded_at >= $1 AND fired_at >= $1 AND outcome = 'success' LIMIT 1",
    [Math.ceil(begun)],
  )
  return { restart_ms: Math.round(readyMs), restart_owned_ms: owned, restart_first_run_ms: ran }
}

/** How late runs start, by the ledger, window after window. */
async function watch(carillon, from, { rate, seconds, repeats }) {
  const marks = []
  let wal = '0/0'
  progress(`scale: waiting ${Math.round((from - now()) / 1_000)} s for the first window`)
  await wait(Math.max(0, from - now()))
  for (let repeat = 0; repeat < repeats; repeat++) {
    const start = Math.round(from + repeat * seconds * 1_000)
    const mark = cpuMark(carillon.groups)
    wal = await walAt(carillon)
    progress(`scale: ${rate}/s, window ${repeat + 1} of ${repeats}`)
    await wait(Math.max(0, start + seconds * 1_000 - now()))
    const cpu = cpuSince(mark)
    marks.push({
      start,
      cpu,
      rss_mb: Math.max(...(await carillon.memory())),
      wal: await walSince(carillon, wal),
    })
  }
  const end = Math.round(from + repeats * seconds * 1_000)
  await allRun(carillon, end)
  return Promise.all(marks.map((mark) => figuresOf(carillon, mark, seconds)))
}

async function walAt(carillon) {
  return (await carillon.sql('SELECT pg_current_wal_insert_lsn()::text AS at'))[0].at
}

async function walSince(carillon, at) {
  return (await carillon.sql('SELECT (pg_current_wal_insert_lsn() - $1::pg_lsn)::float8 AS bytes', [at]))[0]
    .bytes
}

/** Until what was due before an instant is not in flight any more: a busy machine is late. */
async function allRun(carillon, end) {
  for (const limit = now() + 60_000; now() < limit; await wait(200)) {
    const rows = await carillon.sql(
      `SELECT FROM carillon.queue WHERE due < $1
       UNION ALL SELECT FROM carillon.timers WHERE start_at < $1 LIMIT 1`,
      [end],
    )
    if (rows.length === 0) return
  }
}

async function figuresOf(carillon, { start, cpu, rss_mb, wal }, seconds) {
  const rows = await carillon.sql(
    `SELECT (started_at - due)::float8 AS lag FROM carillon.ledger
     WHERE due >= $1 AND due < $2 AND outcome = 'success'`,
    [start, start + seconds * 1_000],
  )
  const lag_ms = percentilesOfWhole(rows.map(({ lag }) => lag))
  return {
    from: start,
    lag_ms,
    runs_per_s: Math.round(rows.length / seconds),
    wal_bytes_per_run: rows.length === 0 ? null : Math.round(wal / rows.length),
    cpu,
    rss_mb,
  }
}

/** Ticks of the windows that have no final row, or more than one. A job may have at most one tick in a period. */
async function whole(carillon, from, seconds) {
  const [row] = await carillon.sql(
    `WITH span AS (SELECT $1::bigint AS low, $1::bigint + $2::bigint AS high),
     recorded AS (
       SELECT l.job, l.due, count(*) AS rows FROM carillon.ledger l, span
       WHERE l.final AND l.origin = 0 AND l.due >= span.low AND l.due < span.high GROUP BY l.job, l.due
     ),
     named AS (
       SELECT j.job, tick.due
       FROM carillon.jobs j CROSS JOIN span
       CROSS JOIN LATERAL (SELECT (j.definition ->> 'anchor')::bigint AS anchor,
                                  1000 * substring(j.definition ->> 'schedule' FROM '\\d+')::bigint AS period) rule
       CROSS JOIN LATERAL generate_series(
         rule.anchor + (span.low - rule.anchor + rule.period - 1) / rule.period * rule.period,
         span.high - 1, rule.period) AS tick (due)
     )
     SELECT count(*) FILTER (WHERE r.job IS NULL AND q.job IS NULL)::int AS lost,
            coalesce(sum(r.rows - 1), 0)::int AS doubled
     FROM named LEFT JOIN recorded r USING (job, due) LEFT JOIN carillon.queue q USING (job, due)`,
    [Math.round(from), Math.round(seconds * 1_000)],
  )
  return row
}
