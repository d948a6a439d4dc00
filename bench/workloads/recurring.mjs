// Recurring jobs, all at one minute boundary, twice: how long registering them takes, how late they start, what is missed. Peers
// with their own cron. `--seconds` other than 60 is another boundary, for which the peers have no cron: ours alone then.
import { setTimeout as wait } from 'node:timers/promises'
import { Carillon } from '../contestants/carillon.mjs'
import { Peer } from '../contestants/peer.mjs'
import { compare, inOne } from '../lib/compare.mjs'
import { cpuMark, cpuSince } from '../lib/cpu.mjs'
import { now, percentiles, round } from '../lib/figures.mjs'
import { progress, say } from '../lib/progress.mjs'
import { tally } from '../lib/recorder.mjs'
import { Probe } from '../probe/probe.mjs'

export const score = { figure: 'lag_ms.p99', better: 'lower' }
export const defaults = { n: [10_000], seconds: 60 }
export const smoke = { n: [500], seconds: 5, repeats: 1 }
/** How much of the minute is watched: what has not started then was missed. */
const watched = 0.75
const settings = (n) => ({ CARILLON_WORKER_CONCURRENCY: String(Math.min(100_000, Math.max(1_000, n))) })

export async function measure({ house, n, seconds, repeats, peers, set }) {
  if (seconds !== 60 && peers.length > 0)
    say(`recurring: the peers' cron knows minutes only, and is left out at ${seconds} s`)
  const able = seconds === 60 ? peers : []
  const cases = []
  for (const count of n)
    cases.push(
      await compare({
        workload: 'recurring',
        parameters: { n: count, seconds },
        repeats,
        score,
        entrants: [
          { name: 'carillon', kind: 'ours', run: () => ours(house, count, seconds, set) },
          ...able.map((name) => ({ name, kind: 'peer', run: () => peer(house, name, count) })),
          { name: 'probe', kind: 'probe', run: () => probe(house, count) },
        ],
      }),
    )
  return inOne(cases)
}

async function ours(house, n, seconds, set) {
  const carillon = await Carillon.open(house, { settings: { ...settings(n), ...set } })
  try {
    const registeredMs = await carillon.register(n, (i) => ({
      name: `recurring-${i}`,
      schedule: seconds === 60 ? '* * * * *' : `*/${seconds} * * * * *`,
      target: { type: 'task', task: 'note' },
      payload: { i },
    }))
    await carillon.settle()
    const { boundaries, ...figures } = await atTwoBoundaries(carillon, n, seconds)
    await carillon.stop()
    const [ledger] = await carillon.sql(
      `SELECT count(*)::int AS rows, count(DISTINCT (job, due))::int AS ticks FROM carillon.ledger
       WHERE due = ANY ($1) AND final AND outcome = 'success'`,
      [boundaries],
    )
    return {
      ...figures,
      registered_s: round(registeredMs / 1_000, 2),
      lost: Math.max(figures.missed, boundaries.length * n - ledger.ticks),
      doubled: figures.doubled + ledger.rows - ledger.ticks,
    }
  } finally {
    await carillon.close()
  }
}

async function peer(house, name, n) {
  const contestant = await Peer.open(house, name, 'recurring')
  try {
    const registeredMs = await contestant.call('recurring', { count: n })
    const { boundaries: _, ...figures } = await atTwoBoundaries(contestant, n, 60)
    return { ...figures, registered_s: round(registeredMs / 1_000, 2) }
  } finally {
    await contestant.close()
  }
}

/** All of them held by one process that waits for the instant. */
async function probe(house, n) {
  const contestant = await Probe.open(house)
  try {
    const due = Math.ceil(now() + 2_000 + n / 20)
    const { lags } = await contestant.paced(new Float64Array(n).fill(due))
    return { lag_ms: percentiles(lags) }
  } finally {
    await contestant.close()
  }
}

/** The first is that of a process that has just started, and is shown apart: the second is what every minute is like. None of either may be lost. */
async function atTwoBoundaries(contestant, n, seconds) {
  const first = await atBoundary(contestant, n, seconds)
  const { boundary, ...second } = await atBoundary(contestant, n, seconds)
  return {
    ...second,
    first_p99_ms: first.lag_ms.p99,
    missed: first.missed + second.missed,
    doubled: first.doubled + second.doubled,
    early: first.early + second.early,
    boundaries: [first.boundary, boundary],
  }
}

async function atBoundary(contestant, n, seconds) {
  const period = seconds * 1_000
  let boundary = Math.ceil(now() / period) * period
  if (boundary - now() < Math.min(4_000, period / 2)) boundary += period
  progress(`waiting ${Math.round((boundary - now()) / 1_000)} s for the boundary`)
  await wait(boundary - now())
  const mark = cpuMark(contestant.groups)
  const end = boundary + period * watched
  let result
  do {
    await wait(Math.min(500, Math.max(10, end - now())))
    result = tally(await contestant.records(), n, (i, due) => (due === boundary ? i : undefined))
  } while (result.lost > 0 && now() < end)
  const cpu = cpuSince(mark)
  const { lost, doubled, early, lags, startedAt } = result
  return {
    lag_ms: percentiles(lags),
    missed: lost,
    runs_per_s:
      lags.length === 0 ? 0 : Math.round((lags.length / Math.max(1, startedAt.last - boundary)) * 1_000),
    cpu,
    doubled,
    early,
    boundary,
  }
}
