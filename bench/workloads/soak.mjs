// Half an hour at one rate, with a transaction that stays open for some of it and keeps every dead row: how late runs start,
// how many dead rows there are, how large everything grows.
import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { Carillon } from '../contestants/carillon.mjs'
import { cpuMark, cpuSince } from '../lib/cpu.mjs'
import { median, now, percentiles, ratio, round } from '../lib/figures.mjs'
import { progress, say } from '../lib/progress.mjs'

export const score = { figure: 'lag_ms.p99', better: 'lower' }
export const defaults = { rate: [2_800], seconds: 1_800, repeats: 1 }
export const smoke = { rate: [50], seconds: 6 }
const periodSeconds = 10
const windows = 30

export async function measure({ house, rate: [rate], seconds, set, quick }) {
  const carillon = await Carillon.open(house, { settings: { CARILLON_WORKER_CONCURRENCY: '2000', ...set } })
  const old = new pg.Client({ connectionString: carillon.databaseUrl })
  old.on('error', () => undefined)
  await old.connect()
  try {
    const jobs = rate * periodSeconds
    const from = Math.ceil((now() + (quick ? 2_000 : 10_000) + jobs / 2) / 1_000) * 1_000
    await carillon.register(jobs, (i) => ({
      name: `soak-${i}`,
      schedule: {
        every: periodSeconds,
        anchor: new Date(from - 60_000 + Math.floor((i * 1_000) / rate)).toISOString(),
      },
      starts_at: new Date(from).toISOString(),
      target: { type: 'task', task: 'noop' },
    }))
    await carillon.settle()
    await wait(Math.max(0, from + (quick ? 500 : 5_000) - now()))
    const seen = await watch(carillon, old, rate, seconds)
    await carillon.stop()
    const { lost, doubled } = await carillon.accounted(from, periodSeconds * 1_000)
    return shape({ rate, seconds, seen, lost, doubled })
  } finally {
    await old.end().catch(() => undefined)
    await carillon.close()
  }
}

/** A sixth of the time, in the middle, the transaction is open: five minutes of thirty. */
async function watch(carillon, old, rate, seconds) {
  const seen = []
  const windowMs = (seconds * 1_000) / windows
  const begun = now()
  const mark = cpuMark(carillon.groups)
  for (let at = 0; at < windows; at++) {
    const pinned = at >= windows / 2 - windows / 12 && at < windows / 2 + windows / 12
    if (pinned && !seen.at(-1)?.pinned) {
      await old.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
      await old.query('SELECT count(*) FROM carillon.partitions')
    }
    if (!pinned && seen.at(-1)?.pinned) await old.query('COMMIT')
    const [{ now: start }] = await carillon.sql('SELECT carillon.now_ms()::float8 AS now')
    await wait(Math.max(0, begun + (at + 1) * windowMs - now()))
    const one = { pinned, ...(await state(carillon, start)) }
    seen.push(one)
    progress(
      `soak ${rate}/s: ${Math.round((now() - begun) / 1_000)} of ${seconds} s${pinned ? ', a transaction open' : ''}: ` +
        `lag p99 ${one.lag_ms.p99} ms, ${one.dead_rows} dead rows, ${one.rss_mb.join('+')} MB`,
      true,
    )
  }
  say(`soak: cores ${JSON.stringify(cpuSince(mark))}`)
  seen.cpu = cpuSince(mark)
  return seen
}

async function state(carillon, start) {
  const [row] = await carillon.sql(
    `SELECT count(*)::int AS runs,
            percentile_disc(ARRAY[0.5, 0.95, 0.99, 1]) WITHIN GROUP (ORDER BY started_at - due)::float8[] AS lags
     FROM carillon.ledger WHERE recorded_at >= $1 AND outcome = 'success'`,
    [start],
  )
  const [dead] = await carillon.sql(
    `SELECT coalesce(sum(n_dead_tup), 0)::int AS rows,
            (pg_total_relation_size('carillon.queue') + pg_total_relation_size('carillon.timers'))::float8 AS bytes
     FROM pg_stat_user_tables WHERE schemaname = 'carillon' AND relname IN ('queue', 'timers')`,
  )
  const [p50, p95, p99, max] = row.lags ?? [null, null, null, null]
  return {
    runs: row.runs,
    lag_ms: { p50, p95, p99, max },
    dead_rows: dead.rows,
    hot_mb: round(dead.bytes / 2 ** 20),
    rss_mb: await carillon.memory(),
  }
}

/** No growth: the last sixth of the time against the second, which is warm already. */
function shape({ rate, seconds, seen, lost, doubled }) {
  const sixth = windows / 6
  const early = seen.slice(sixth, 2 * sixth)
  const late = seen.slice(-sixth)
  const of = (list, figure) => median(list.map(figure))
  const memory = ({ rss_mb }) => rss_mb.reduce((sum, mb) => sum + mb, 0)
  const runs = seen.reduce((sum, one) => sum + one.runs, 0)
  return {
    workload: 'soak',
    rate,
    seconds,
    ours: {
      runs_per_s: Math.round(runs / seconds),
      lag_ms: Object.fromEntries(
        ['p50', 'p95', 'p99', 'max'].map((name) => [
          name,
          name === 'max'
            ? percentiles(seen.map(({ lag_ms }) => lag_ms.max)).max
            : of(seen, ({ lag_ms }) => lag_ms[name]),
        ]),
      ),
      lag_p99_early_ms: of(early, ({ lag_ms }) => lag_ms.p99),
      lag_p99_pinned_ms: of(
        seen.filter(({ pinned }) => pinned),
        ({ lag_ms }) => lag_ms.p99,
      ),
      lag_p99_late_ms: of(late, ({ lag_ms }) => lag_ms.p99),
      most_dead_rows: Math.max(...seen.map(({ dead_rows }) => dead_rows)),
      dead_rows_late: of(late, ({ dead_rows }) => dead_rows),
      hot_mb_early: of(early, ({ hot_mb }) => hot_mb),
      hot_mb_late: of(late, ({ hot_mb }) => hot_mb),
      rss_mb_early: of(early, memory),
      rss_mb_late: of(late, memory),
      cpu: seen.cpu,
    },
    peers: {},
    probe: null,
    ratio_best_peer: null,
    ratio_probe: null,
    ratio_growth_memory: ratio(of(late, memory), of(early, memory)),
    ratio_growth_lag: ratio(
      of(late, ({ lag_ms }) => lag_ms.p99),
      of(early, ({ lag_ms }) => lag_ms.p99),
    ),
    ratio_of: score.figure,
    better: score.better,
    windows: seen.map(({ pinned, lag_ms, dead_rows, rss_mb }) => ({
      pinned,
      p99: lag_ms.p99,
      dead_rows,
      rss_mb,
    })),
    lost,
    doubled,
    repeats: 1,
  }
}
