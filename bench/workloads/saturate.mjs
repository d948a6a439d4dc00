// Recurring jobs that fire as fast as the system can: the whole cycle of fire, hand over, run, close, ledger. Ours have more
// ticks due than can be run, each of which counts (late is not missed here); the peers' producers keep some thousand jobs
// ahead of the workers, since their cron knows minutes only.
import { setTimeout as wait } from 'node:timers/promises'
import { Carillon } from '../contestants/carillon.mjs'
import { Peer } from '../contestants/peer.mjs'
import { compare, inOne } from '../lib/compare.mjs'
import { cpuMark, cpuSince } from '../lib/cpu.mjs'
import { now, round } from '../lib/figures.mjs'
import { patiently, TooLate } from '../lib/patiently.mjs'
import { Probe } from '../probe/probe.mjs'

export const score = { figure: 'runs_per_s', better: 'higher' }
export const defaults = { n: [60_000], seconds: 30 }
export const smoke = { n: [1_000], seconds: 2, repeats: 1 }
/** The first seconds are those of a cold cache, for ours and for the probe; ours has as many more as it takes until each job has fired once. */
const warmUpSeconds = 3
/** The probe's timers, as many as when it was first measured and the aim was set; and, as `runs_per_s_as_many`, as many as we have jobs. */
const timersOfProbe = 1_000_000
/** With fewer, the same rows would come round before they are vacuumed. */
const leastTimers = 50_000
const settings = {
  CARILLON_WORKER_CONCURRENCY: '100000',
  CARILLON_LATE_TOLERANCE_SECONDS: '86400',
  CARILLON_OVERLOAD_LAG_SECONDS: '86400',
}

export async function measure({ house, n, seconds, repeats, peers, set, quick }) {
  const cases = []
  for (const jobs of n)
    cases.push(
      await compare({
        workload: 'saturate',
        parameters: { n: jobs, seconds },
        repeats,
        score,
        entrants: [
          {
            name: 'carillon',
            kind: 'ours',
            run: () => patiently((factor) => ours(house, jobs, seconds, quick ? factor / 2 : factor, set)),
          },
          ...peers.map((name) => ({ name, kind: 'peer', run: () => peer(house, name, seconds) })),
          { name: 'probe', kind: 'probe', run: () => probe(house, jobs, seconds) },
        ],
      }),
    )
  return inOne(cases)
}

async function ours(house, jobs, seconds, factor, set) {
  const carillon = await Carillon.open(house, { settings: { ...settings, ...set } })
  try {
    const from = Math.ceil((now() + factor * (4_000 + jobs / 6)) / 1_000) * 1_000
    await carillon.register(jobs, (i) => ({
      name: `saturate-${i}`,
      schedule: { every: 1, anchor: new Date(from - 60_000 + (i % 1_000)).toISOString() },
      starts_at: new Date(from).toISOString(),
      target: { type: 'task', task: 'noop' },
    }))
    await carillon.settle()
    if (now() > from - 1_000) throw new TooLate(`Registering ${jobs} took longer than there was time.`)
    await wait(Math.max(0, from + (house.quick ? 1 : warmUpSeconds) * 1_000 - now()))
    await everyJobOnce(carillon, from)
    const begin = Math.ceil(now())
    const [walBefore] = await carillon.sql('SELECT pg_current_wal_lsn() AS lsn')
    const mark = cpuMark(carillon.groups)
    await wait(seconds * 1_000)
    const cpu = cpuSince(mark)
    const [wal] = await carillon.sql('SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), $1)::float8 AS bytes', [
      walBefore.lsn,
    ])
    await carillon.stop()
    const [row] = await carillon.sql(
      `SELECT count(*) FILTER (WHERE recorded_at >= $1 AND recorded_at < $2 AND outcome = 'success')::int AS runs,
              count(*) FILTER (WHERE outcome <> 'success')::int AS not_run
       FROM carillon.ledger`,
      [begin, begin + seconds * 1_000],
    )
    return {
      runs_per_s: Math.round(row.runs / seconds),
      not_run: row.not_run,
      wal_bytes_per_run: Math.round(wal.bytes / Math.max(1, row.runs)),
      cpu,
      ...(await carillon.accounted(from, 1_000)),
    }
  } finally {
    await carillon.close()
  }
}

/** Until each job has fired: for its first tick its definition is read, which is not what goes on for 30 seconds. */
async function everyJobOnce(carillon, from) {
  const limit = now() + 60_000
  for (;;) {
    const [row] = await carillon.sql('SELECT min(accounted_through)::float8 AS through FROM carillon.timers')
    if (row.through >= from) return
    if (now() > limit) throw new Error('Some jobs have not fired a minute after their time.')
    await wait(250)
  }
}

async function peer(house, name, seconds) {
  const contestant = await Peer.open(house, name, 'saturate')
  try {
    const mark = cpuMark(contestant.groups)
    const { made, ms } = await contestant.call('cycle', { seconds, ahead: 10_000 })
    return { runs_per_s: Math.round((made / ms) * 1_000), cpu: cpuSince(mark) }
  } finally {
    await contestant.close()
  }
}

async function probe(house, jobs, seconds) {
  const asMany = await probeOver(house, Math.max(jobs, leastTimers), seconds)
  if (house.quick) return { ...asMany, runs_per_s_as_many: asMany.runs_per_s }
  const whole = await probeOver(house, timersOfProbe, seconds)
  return {
    ...whole,
    runs_per_s_as_many: asMany.runs_per_s,
    lost: whole.lost + asMany.lost,
    doubled: whole.doubled + asMany.doubled,
  }
}

async function probeOver(house, timers, seconds) {
  const contestant = await Probe.open(house)
  try {
    await contestant.load(timers)
    const mark = cpuMark(contestant.groups)
    const { runs_per_s, lost, doubled } = await contestant.cycle({
      seconds,
      warmUpSeconds: house.quick ? 1 : warmUpSeconds,
    })
    return { runs_per_s, lost, doubled, cpu: cpuSince(mark), seconds: round(seconds) }
  } finally {
    await contestant.close()
  }
}
