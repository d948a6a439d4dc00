// N ticks due at one instant, tasks that do nothing, everything durably recorded. Counted from the instant to the last
// durable close, for everybody; what ours does before the instant is shown beside it.
import { setTimeout as wait } from 'node:timers/promises'
import { Carillon } from '../contestants/carillon.mjs'
import { Peer } from '../contestants/peer.mjs'
import { compare, inOne } from '../lib/compare.mjs'
import { cpuMark, cpuSince } from '../lib/cpu.mjs'
import { now, percentiles, round } from '../lib/figures.mjs'
import { patiently, TooLate } from '../lib/patiently.mjs'
import { tally } from '../lib/recorder.mjs'
import { Probe } from '../probe/probe.mjs'

export const score = { figure: 'runs_per_s', better: 'higher' }
export const defaults = { n: [100_000] }
export const smoke = { n: [1_000], repeats: 1 }
/** What is due at once is known long before: there is time to stage all of it. */
const stagingMs = (n) => Math.min(60_000, 3_000 + Math.round(n / 8))
const settings = (n) => ({
  // Room for all of them: half of what is free may be handed over as it is made.
  CARILLON_WORKER_CONCURRENCY: String(Math.min(2_000_000, Math.max(1_000, 2 * n + 1_000))),
  CARILLON_STAGE_AHEAD_MS: String(stagingMs(n)),
  CARILLON_LEASE_AHEAD_MS: String(Math.min(10_000, stagingMs(n))),
  // Late is not missed here: how long it takes is what is measured.
  CARILLON_LATE_TOLERANCE_SECONDS: '3600',
  CARILLON_OVERLOAD_LAG_SECONDS: '3600',
})

export async function measure({ house, n, repeats, peers, set, quick }) {
  const cases = []
  for (const count of n)
    cases.push(
      await compare({
        workload: 'hot-second',
        parameters: { n: count },
        repeats,
        score,
        entrants: [
          {
            name: 'carillon',
            kind: 'ours',
            run: () => patiently((factor) => ours(house, count, quick ? factor / 2 : factor, set)),
          },
          ...peers.map((name) => ({
            name,
            kind: 'peer',
            run: () => patiently((factor) => peer(house, name, count, factor)),
          })),
          { name: 'probe', kind: 'probe', run: () => probe(house, count) },
        ],
      }),
    )
  return inOne(cases)
}

async function ours(house, n, factor, set) {
  const carillon = await Carillon.open(house, { settings: { ...settings(n), ...set } })
  try {
    const figures = await drain(carillon, n, factor)
    const ledger = await carillon.ledger()
    const { instant, ...rest } = figures
    return {
      ...rest,
      staging_s: round((ledger.last_fired - ledger.first_fired) / 1_000, 2),
      staged_before_s: round((instant - ledger.last_fired) / 1_000, 2),
      leased_before_s: round((instant - ledger.last_leased) / 1_000, 2),
      lost: Math.max(rest.lost, n - ledger.ticks),
      doubled: rest.doubled + ledger.rows - ledger.ticks,
    }
  } finally {
    await carillon.close()
  }
}

async function peer(house, name, n, factor) {
  const contestant = await Peer.open(house, name, 'hot-second')
  try {
    const { instant: _, ...figures } = await drain(contestant, n, factor)
    return figures
  } finally {
    await contestant.close()
  }
}

async function probe(house, n) {
  const contestant = await Probe.open(house)
  try {
    await contestant.load(n)
    return await contestant.cycle({ runs: n })
  } finally {
    await contestant.close()
  }
}

async function drain(contestant, n, factor) {
  const { instant, registeredMs } = await register(contestant, n, factor)
  await contestant.listen()
  await wait(Math.max(0, instant - now()))
  const mark = cpuMark(contestant.groups)
  await allStarted(contestant, n, 300_000)
  const end = await contestant.drained(n)
  const cpu = cpuSince(mark)
  const { lost, doubled, early, lags } = tally(await contestant.records(), n, (index) => index)
  return {
    runs_per_s: Math.round((n / (end - instant)) * 1_000),
    drain_s: round((end - instant) / 1_000, 2),
    lag_ms: percentiles(lags),
    registered_per_s: Math.round((n / registeredMs) * 1_000),
    cpu,
    lost,
    doubled,
    early,
    instant,
  }
}

/** All at one instant that lies far enough ahead, also to stage them all before it: what is due at once is known long before. */
async function register(contestant, n, factor) {
  const instant = Math.ceil((now() + factor * (2_500 + n / 6) + stagingMs(n)) / 1_000) * 1_000
  const registeredMs = await contestant.schedule(new Array(n).fill(instant))
  await contestant.settle()
  if (instant - now() < stagingMs(n)) throw new TooLate(`Registering ${n} took longer than there was time.`)
  return { instant, registeredMs }
}

async function allStarted(contestant, n, limitMs) {
  const end = now() + limitMs
  while ((await contestant.started()) < n) {
    if (now() > end)
      throw new Error(`Only ${await contestant.started()} of ${n} started in ${limitMs / 1_000} s.`)
    await wait(20)
  }
}
