// An owner is killed, told to leave, or frozen, under load: how long its partitions have no owner, and how late the runs of
// their jobs start. Every tick must be accounted for at the end.
import { setTimeout as wait } from 'node:timers/promises'
import { Carillon } from '../contestants/carillon.mjs'
import { now, percentiles, round } from '../lib/figures.mjs'
import { progress, say } from '../lib/progress.mjs'

export const score = { figure: 'gap_ms.p99', better: 'lower' }
export const defaults = { rate: [300], repeats: 20 }
export const smoke = { rate: [50], repeats: 1 }
const everySignal = ['SIGKILL', 'SIGTERM', 'SIGSTOP']
const everything = ['api', 'scheduler', 'worker']
/** How long the effect of a signal is watched, beyond the takeover. */
const afterMs = 2_000
const limitMs = 60_000

export async function measure({ house, rate: [rate], repeats, set, quick }) {
  const nodes = quick ? 2 : 3
  const signals = quick ? ['SIGKILL', 'SIGTERM'] : everySignal
  const carillon = await Carillon.open(house, {
    processes: Array.from({ length: nodes }, () => everything),
    // A busy machine must not turn late ticks into missed ones: what is measured is how late.
    settings: {
      CARILLON_LATE_TOLERANCE_SECONDS: '120',
      // What the others say of the one that is gone is no news here.
      CARILLON_LOG_LEVEL: 'error',
      ...set,
    },
  })
  try {
    const from = Math.ceil((now() + (quick ? 2_000 : 8_000) + rate) / 1_000) * 1_000
    await carillon.register(rate, (i) => ({
      name: `failover-${i}`,
      schedule: {
        every: 1,
        anchor: new Date(from - 60_000 + Math.floor((i * 1_000) / rate)).toISOString(),
      },
      starts_at: new Date(from).toISOString(),
      target: { type: 'task', task: 'noop' },
    }))
    await wait(Math.max(0, from + (quick ? 1_000 : 3_000) - now()))
    const measured = Object.fromEntries(everySignal.map((signal) => [signal, []]))
    for (let repeat = 0; repeat < repeats; repeat++)
      for (const signal of signals) {
        progress(`failover: ${signal}, ${repeat + 1} of ${repeats}`)
        const one = await strike(carillon, signal, nodes)
        measured[signal].push(one)
        say(
          `failover: ${signal} ${repeat + 1}/${repeats}: without an owner for ${one.gap} ms, late by ${one.late} ms`,
        )
      }
    await carillon.stop()
    return shape({ rate, repeats, nodes, measured }, await carillon.accounted(from, 1_000))
  } finally {
    await carillon.close()
  }
}

function shape({ rate, repeats, nodes, measured }, { lost, doubled }) {
  const figures = (signal) => ({
    gap_ms: percentiles(measured[signal].map(({ gap }) => gap)),
    late_ms: percentiles(measured[signal].map(({ late }) => late)),
  })
  return {
    workload: 'failover',
    rate,
    nodes,
    ours: {
      ...figures('SIGKILL'),
      kill: figures('SIGKILL'),
      term: figures('SIGTERM'),
      stop: figures('SIGSTOP'),
    },
    peers: {},
    probe: null,
    ratio_best_peer: null,
    ratio_probe: null,
    ratio_of: score.figure,
    better: score.better,
    lost,
    doubled,
    repeats,
  }
}

async function strike(carillon, signal, nodes) {
  const victim = await anOwner(carillon)
  const struckAt = await databaseNow(carillon)
  const struck = now()
  process.kill(victim.pid, signal)
  await untilNobodyWaits(carillon, victim)
  const gap = round(now() - struck)
  await wait(afterMs)
  // A frozen process does not leave by itself.
  if (signal === 'SIGSTOP') process.kill(victim.pid, 'SIGKILL')
  const late = await latest(carillon, victim.partitions, struckAt)
  await carillon.replaceProcess(victim.pid, everything)
  await untilShared(carillon, nodes)
  return { gap, late }
}

/** A node that has its share, and what it owns. */
async function anOwner(carillon) {
  const rows = await carillon.sql(
    `SELECT i.pid, i.incarnation::text AS incarnation, array_agg(p.partition::int) AS partitions
     FROM carillon.partitions p JOIN carillon.incarnations i ON i.incarnation = p.owner AND i.state = 'alive'
     GROUP BY i.pid, i.incarnation ORDER BY random() LIMIT 1`,
  )
  if (rows.length === 0) throw new Error('No node owns a partition.')
  return rows[0]
}

/** Until all its partitions belong to others that live. */
async function untilNobodyWaits(carillon, { incarnation, partitions }) {
  await poll('its partitions have other owners', 10, async () => {
    const [row] = await carillon.sql(
      `SELECT count(*)::int AS count FROM carillon.partitions
       WHERE partition = ANY ($1::smallint[]) AND owner IS NOT NULL AND owner <> $2::bigint`,
      [partitions, incarnation],
    )
    return row.count === partitions.length
  })
}

async function untilShared(carillon, nodes) {
  await poll('every node owns its share', 100, async () => {
    const [row] = await carillon.sql(
      `SELECT count(DISTINCT p.owner)::int AS owners FROM carillon.partitions p
       JOIN carillon.incarnations i ON i.incarnation = p.owner AND i.state = 'alive'`,
    )
    return row.owners === nodes
  })
}

async function poll(what, everyMs, holds) {
  const limit = now() + limitMs
  while (!(await holds())) {
    if (now() > limit) throw new Error(`It is not so after ${limitMs / 1_000} s that ${what}.`)
    await wait(everyMs)
  }
}

/** The latest start among the ticks of its partitions since just before the blow. */
async function latest(carillon, partitions, struckAt) {
  const [row] = await carillon.sql(
    `SELECT coalesce(max(started_at - due), 0)::float8 AS late FROM carillon.ledger
     WHERE partition = ANY ($1::smallint[]) AND due >= $2 AND outcome = 'success'`,
    [partitions, struckAt - 1_000],
  )
  return round(row.late)
}

async function databaseNow(carillon) {
  const [row] = await carillon.sql('SELECT carillon.now_ms()::float8 AS now')
  return row.now
}
