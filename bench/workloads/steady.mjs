// Ticks spread evenly over time, so many a second: how late each starts. Ours are recurring jobs, each every ten seconds, from when each has fired
// once: their first ticks, for which their definitions are read, are shown apart. The peers, whose cron knows minutes only, have one-offs at the same instants.
import { setTimeout as wait } from 'node:timers/promises'
import { Carillon } from '../contestants/carillon.mjs'
import { Peer } from '../contestants/peer.mjs'
import { compare, inOne } from '../lib/compare.mjs'
import { cpuMark, cpuSince } from '../lib/cpu.mjs'
import { now, percentiles, round } from '../lib/figures.mjs'
import { patiently, TooLate } from '../lib/patiently.mjs'
import { tally } from '../lib/recorder.mjs'
import { Probe } from '../probe/probe.mjs'

export const score = { figure: 'lag_ms.p99', better: 'lower' }
export const defaults = { rate: [1_000, 3_000], seconds: 30 }
export const smoke = { rate: [100], seconds: 3, repeats: 1 }
/** Time in which a process that has just started finds its pace. */
const warmUpMs = 3_000
/** Room for what is staged ahead, two seconds of it, and as much again: half of what is free may be handed over as it is made. */
const settings = (rate) => ({ CARILLON_WORKER_CONCURRENCY: String(Math.max(2_000, rate * 8)) })

export async function measure({ house, rate, seconds, repeats, peers, set }) {
  const cases = []
  for (const each of rate)
    cases.push(
      await compare({
        workload: 'steady',
        parameters: { rate: each, seconds },
        repeats,
        score,
        entrants: [
          { name: 'carillon', kind: 'ours', run: () => ours(house, each, seconds, set) },
          ...peers.map((name) => ({
            name,
            kind: 'peer',
            run: () => patiently((factor) => peer(house, name, each, seconds, factor)),
          })),
          { name: 'probe', kind: 'probe', run: () => probe(house, each, seconds) },
        ],
      }),
    )
  return inOne(cases)
}

/** A job of each place in the period; its ticks are those of the place. */
async function ours(house, rate, seconds, set) {
  const carillon = await Carillon.open(house, { settings: { ...settings(rate), ...set } })
  try {
    const periodSeconds = seconds < 10 ? 2 : 10
    const jobs = rate * periodSeconds
    const placeMs = (i) => Math.floor((i * 1_000) / rate)
    const anchor = Math.floor(now() / 1_000) * 1_000
    const rows = Array.from({ length: jobs }, (_, i) => i)
    const registeredMs = await carillon.register(jobs, (i) => ({
      name: `steady-${i}`,
      schedule: { every: periodSeconds, anchor: new Date(anchor + placeMs(i)).toISOString() },
      target: { type: 'task', task: 'note' },
      payload: { i },
    }))
    await carillon.settle()
    // The anchor lies in the past: the ticks after it come in whole periods, whenever the window begins.
    const period = periodSeconds * 1_000
    const periods = Math.ceil((now() + (house.quick ? 1_000 : warmUpMs) - anchor) / period)
    const first = anchor + periods * period
    const from = first + period
    const end = from + seconds * 1_000
    // The ticks of a job that lie in the window, numbered one after the other.
    const firstIn = rows.map((i) => from + placeMs(i))
    const counts = firstIn.map((at) => Math.max(0, Math.ceil((end - at) / period)))
    const starts = new Int32Array(jobs)
    let expected = 0
    for (const i of rows) {
      starts[i] = expected
      expected += counts[i]
    }
    const placeOf = (i, due) => {
      const nth = (due - firstIn[i]) / period
      return nth >= 0 && nth < counts[i] && Number.isInteger(nth) ? starts[i] + nth : undefined
    }
    const figures = await watch(carillon, from, seconds, expected, placeOf)
    const firstOnes = tally(await carillon.records(), jobs, (i, due) =>
      due === first + placeMs(i) ? i : undefined,
    )
    await carillon.stop()
    const [ledger] = await carillon.sql(
      `SELECT count(*)::int AS rows, count(DISTINCT (due, job))::int AS ticks FROM carillon.ledger
       WHERE due >= $1 AND due < $2 AND final AND outcome = 'success'`,
      [first, end],
    )
    return {
      ...figures,
      first_p99_ms: percentiles(firstOnes.lags).p99,
      registered_per_s: Math.round((jobs / registeredMs) * 1_000),
      lost: Math.max(figures.lost + firstOnes.lost, expected + jobs - ledger.ticks),
      doubled: figures.doubled + firstOnes.doubled + ledger.rows - ledger.ticks,
    }
  } finally {
    await carillon.close()
  }
}

async function peer(house, name, rate, seconds, factor) {
  const contestant = await Peer.open(house, name, 'steady')
  try {
    const n = rate * seconds
    const from = Math.ceil(now() + factor * (warmUpMs + n / 6))
    await contestant.schedule(duesFrom(from, rate, n))
    await contestant.settle()
    if (from - now() < 1_000) throw new TooLate(`Registering ${n} took longer than there was time.`)
    await contestant.listen()
    return await watch(contestant, from, seconds, n, (index) => index)
  } finally {
    await contestant.close()
  }
}

async function probe(house, rate, seconds) {
  const contestant = await Probe.open(house)
  try {
    const n = rate * seconds
    const { lags } = await contestant.paced(duesFrom(Math.ceil(now() + 2_000 + n / 20), rate, n))
    return { lag_ms: percentiles(lags) }
  } finally {
    await contestant.close()
  }
}

function duesFrom(from, rate, n) {
  return Float64Array.from({ length: n }, (_, i) => from + Math.floor((i * 1_000) / rate))
}

async function watch(contestant, from, seconds, expected, placeOf) {
  await wait(Math.max(0, from - now()))
  const mark = cpuMark(contestant.groups)
  await wait(seconds * 1_000)
  const cpu = cpuSince(mark)
  const limit = now() + 30_000
  let result = tally(await contestant.records(), expected, placeOf)
  while (result.lost > 0 && now() < limit) {
    await wait(500)
    result = tally(await contestant.records(), expected, placeOf)
  }
  const { started, lost, doubled, early, lags, startedAt } = result
  return {
    lag_ms: percentiles(lags),
    runs_per_s: Math.round((started / (Math.max(startedAt.last, from + seconds * 1_000) - from)) * 1_000),
    tail_s: round(Math.max(0, startedAt.last - from - seconds * 1_000) / 1_000, 2),
    cpu,
    lost,
    doubled,
    early,
  }
}
