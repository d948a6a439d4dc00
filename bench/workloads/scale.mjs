// More and more registered jobs at one firing rate: what that costs. Each job's period grows with their number, so that all
// of them fire in turn. Target: flat. The jobs are loaded by COPY; repeats are windows of one load, since a load takes minutes.
import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { seedJobs } from '../../packages/cli/dist/seed/seed.js'
import { newUuid } from '../../packages/server/dist/platform/ids.js'
import { partitionCount, partitionOf } from '../../packages/server/dist/platform/partition.js'
import { statement } from '../../packages/server/dist/db/statement.js'
import { Carillon, oneProcess } from '../contestants/carillon.mjs'
import { inOne } from '../lib/compare.mjs'
import { cpuMark, cpuSince } from '../lib/cpu.mjs'
import { median, medians, now, percentiles, ratio, round } from '../lib/figures.mjs'
import { progress } from '../lib/progress.mjs'

export const score = { figure: 'lag_ms.p99', better: 'lower' }
export const defaults = { n: [10_000, 100_000, 1_000_000, 10_000_000], rate: [1_000], seconds: 30 }
export const smoke = { n: [2_000], rate: [200], seconds: 3, repeats: 1 }
const template = 'seeded'
const perMegabyte = 2 ** 20
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
  const periodSeconds = Math.max(1, Math.round(jobs / rate))
  const carillon = await Carillon.open(house, { processes: [['api']], settings: set })
  try {
    await carillon.register(1, () => ({
      name: template,
      schedule: `@every ${periodSeconds}s`,
      target: { type: 'task', task: 'noop' },
      payload: { customer: 4711, note: 'x'.repeat(100) },
    }))
    await carillon.stop()
    const { firstTick, tookMs } = await seed(carillon, jobs - 1, periodSeconds)
    const size = await sizes(carillon)
    const shard = await scans(carillon)
    const begun = now()
    for (const roles of oneProcess) await carillon.startProcess(roles)
    const restartMs = now() - begun
    const windows = await watch(carillon, Math.max(firstTick, now()) + (quick ? 1_000 : 5_000), {
      rate,
      seconds,
      repeats,
    })
    await carillon.stop()
    return {
      ...medians(windows.map(({ from: _, ...figures }) => figures)),
      seeded_s: round(tookMs / 1_000),
      seeded_per_s: Math.round((jobs / tookMs) * 1_000),
      restart_ms: Math.round(restartMs),
      ...size,
      ...shard,
      ...(await whole(carillon, windows[0].from, seconds * repeats)),
    }
  } finally {
    await carillon.close()
  }
}

async function seed(carillon, count, periodSeconds) {
  const client = new pg.Client({ connectionString: carillon.databaseUrl })
  await client.connect()
  try {
    return await seedJobs(client, {
      count,
      template,
      periodMs: periodSeconds * 1_000,
      newUuid,
      partitionOf,
      onProgress(step, done, total) {
        const bar = '█'.repeat(Math.round((done / total) * 20)).padEnd(20, '░')
        progress(`seeding ${step} ${bar} ${done.toLocaleString('en')} of ${total.toLocaleString('en')}`, true)
      },
    })
  } finally {
    await client.end()
  }
}

async function sizes(carillon) {
  const [row] = await carillon.sql(
    `SELECT pg_database_size(current_database())::float8 AS database,
            pg_total_relation_size('carillon.jobs')::float8 AS jobs, pg_total_relation_size('carillon.timers')::float8 AS timers`,
  )
  const mb = (bytes) => Math.round(bytes / perMegabyte)
  return { disk_mb: mb(row.database), jobs_mb: mb(row.jobs), timers_mb: mb(row.timers) }
}

/** The scheduler's own reads, over all partitions, as one node that owns them all does them. */
async function scans(carillon) {
  const partitions = Array.from({ length: partitionCount }, (_, at) => at)
  const zeros = partitions.map(() => 0)
  const client = new pg.Client({ connectionString: carillon.databaseUrl })
  await client.connect()
  const timed = async ({ text }, values) => {
    const times = []
    let rows = 0
    for (let turn = 0; turn < 7; turn++) {
      const begun = now()
      rows = (await client.query({ text, values, rowMode: 'array' })).rows.length
      times.push(now() - begun)
    }
    return { ms: round(median(times), 2), rows }
  }
  try {
    const due = await timed(statements.due, [partitions, zeros, zeros, 2_000, 1_000])
    const horizon = await timed(statements.horizon, [partitions, zeros, zeros, 600_000, 10_000])
    return { due_scan_ms: due.ms, horizon_load_ms: horizon.ms, horizon_timers: horizon.rows }
  } finally {
    await client.end()
  }
}

/** How late runs start, by the ledger, window after window. */
async function watch(carillon, from, { rate, seconds, repeats }) {
  const marks = []
  progress(`scale: waiting ${Math.round((from - now()) / 1_000)} s for the first window`)
  await wait(Math.max(0, from - now()))
  for (let repeat = 0; repeat < repeats; repeat++) {
    const start = Math.round(from + repeat * seconds * 1_000)
    const mark = cpuMark(carillon.groups)
    progress(`scale: ${rate}/s, window ${repeat + 1} of ${repeats}`)
    await wait(Math.max(0, start + seconds * 1_000 - now()))
    marks.push({ start, cpu: cpuSince(mark), rss_mb: Math.max(...(await carillon.memory())) })
  }
  const end = Math.round(from + repeats * seconds * 1_000)
  await allRun(carillon, end)
  return Promise.all(marks.map((mark) => figuresOf(carillon, mark, seconds)))
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

async function figuresOf(carillon, { start, cpu, rss_mb }, seconds) {
  const rows = await carillon.sql(
    `SELECT (started_at - due)::float8 AS lag FROM carillon.ledger
     WHERE due >= $1 AND due < $2 AND outcome = 'success'`,
    [start, start + seconds * 1_000],
  )
  const lag_ms = percentiles(rows.map(({ lag }) => lag))
  return { from: start, lag_ms, runs_per_s: Math.round(rows.length / seconds), cpu, rss_mb }
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
       WHERE j.name <> $3
     )
     SELECT count(*) FILTER (WHERE r.job IS NULL AND q.job IS NULL)::int AS lost,
            coalesce(sum(r.rows - 1), 0)::int AS doubled
     FROM named LEFT JOIN recorded r USING (job, due) LEFT JOIN carillon.queue q USING (job, due)`,
    [Math.round(from), Math.round(seconds * 1_000), template],
  )
  return row
}
