// Jobs registered a second: single calls with 32 in flight, the same with idempotency keys, and in bulk. Ours over HTTP;
// the peers as library calls in one process, which spares them all of that; the probe folds waiting calls into one statement.
import { Carillon, oneProcess } from '../contestants/carillon.mjs'
import { Peer } from '../contestants/peer.mjs'
import { bestOf, compare, inOne } from '../lib/compare.mjs'
import { cpuEach, cpuMark } from '../lib/cpu.mjs'
import { figureAt, now, ratio } from '../lib/figures.mjs'
import { converse, requestOf } from '../lib/raw-http.mjs'
import { Probe } from '../probe/probe.mjs'

export const score = { figure: 'single_per_s', better: 'higher', beside: 'bulk_per_s' }
/** So many in bulk that it goes on for many seconds: in two, the last calls, which are alone, and what V8 still compiles have a part. */
export const defaults = { n: [400_000], seconds: 5 }
export const smoke = { n: [500], seconds: 1, repeats: 1 }
const inFlight = 32
const perBulk = 10_000
/** Calls under way at once: while one is parsed or answered, others are stored. */
const bulksInFlight = 4
/** Calls that do not count, before those that do: what they run is compiled then. */
const warmBulks = 4
/** Ours and the peers', before what is measured: in its first seconds V8 spends a quarter of a process' time on compiling what it runs. */
const warmSeconds = 5

export async function measure({ house, n, seconds, repeats, peers, set }) {
  const cases = []
  for (const count of n) {
    const figures = await compare({
      workload: 'register',
      parameters: { n: count, seconds, in_flight: inFlight },
      repeats,
      score,
      entrants: [
        { name: 'carillon', kind: 'ours', run: () => ours(house, count, seconds, set) },
        ...peers.map((name) => ({ name, kind: 'peer', run: () => peer(house, name, count, seconds) })),
        { name: 'probe', kind: 'probe', run: () => probe(house, seconds) },
      ],
    })
    cases.push({ ...figures, ...ratiosOfBulk(figures) })
  }
  return inOne(cases)
}

function ratiosOfBulk({ ours: own, peers }) {
  const bulk = { figure: 'bulk_per_s', better: 'higher' }
  const best = bestOf(peers, bulk)
  return {
    ratio_best_peer_bulk: best === null ? null : ratio(own.bulk_per_s, figureAt(peers[best], bulk.figure)),
  }
}

async function ours(house, n, seconds, set) {
  const carillon = await Carillon.open(house, { processes: oneProcess, settings: set })
  try {
    const { hostname, port } = new URL(carillon.url)
    const address = { host: hostname, port: Number(port) }
    const warm = await singles(address, 'w', Math.min(warmSeconds, seconds))
    const single = await withCpu(carillon, () => singles(address, 's', seconds))
    const keyed = await withCpu(carillon, () => singles(address, 'k', seconds, true))
    const warmed = Math.min(warmBulks * perBulk, n)
    await bulks(address, bodiesOfBulk(warmed, 'v'), warmed)
    const bodies = bodiesOfBulk(n, 'b')
    const bulk = await withCpu(carillon, () => bulks(address, bodies, n))
    const acknowledged = warm.made + single.made + keyed.made + warmed + n
    const [stored] = await carillon.sql(
      'SELECT count(*)::int AS jobs, (SELECT count(*)::int FROM carillon.timers) AS timers FROM carillon.jobs',
    )
    return {
      single_per_s: single.perSecond,
      keyed_per_s: keyed.perSecond,
      bulk_per_s: bulk.perSecond,
      cpu_us: { single: single.cpu, keyed: keyed.cpu, bulk: bulk.cpu },
      lost: Math.max(0, acknowledged - Math.min(stored.jobs, stored.timers)),
      doubled: Math.max(0, stored.jobs - acknowledged),
    }
  } finally {
    await carillon.close()
  }
}

async function peer(house, name, n, seconds) {
  const contestant = await Peer.open(house, name, 'register')
  try {
    await contestant.call('singles', { seconds: Math.min(warmSeconds, seconds), inFlight })
    const single = await contestant.call('singles', { seconds, inFlight })
    await contestant.call('bulk', { count: Math.min(warmBulks * perBulk, n), inFlight: bulksInFlight })
    const bulk = await contestant.call('bulk', { count: n, inFlight: bulksInFlight })
    return {
      single_per_s: Math.round((single.made / single.ms) * 1_000),
      bulk_per_s: Math.round((bulk.made / bulk.ms) * 1_000),
    }
  } finally {
    await contestant.close()
  }
}

async function probe(house, seconds) {
  const contestant = await Probe.open(house)
  try {
    const { per_s, lost } = await contestant.register({ seconds, inFlight })
    return { single_per_s: per_s, lost }
  } finally {
    await contestant.close()
  }
}

const timezone = 'Europe/Madrid'
/** Two hours from now at the earliest, whatever the time of day: what is registered must not fire beside it. */
const firstHour =
  2 +
  Number(new Intl.DateTimeFormat('en', { timeZone: timezone, hour: '2-digit', hourCycle: 'h23' }).format())

function jobOf(name, at) {
  return JSON.stringify({
    name,
    schedule: `${at % 60} ${(firstHour + (at % 8)) % 24} * * *`,
    timezone,
    target: { type: 'http', url: 'https://example.com/hook' },
    payload: { customer: at },
  })
}

/** Each connection sends its next job when the last is answered: so many are in flight, never more. */
async function singles(address, prefix, seconds, withKeys = false) {
  let sent = 0
  const begun = now()
  const until = begun + seconds * 1_000
  const next = () => {
    if (now() >= until) return null
    const at = sent++
    const key = withKeys ? `Idempotency-Key: ${prefix}-${at}\r\n` : ''
    return requestOf('/api/v1/jobs', jobOf(`${prefix}-${at}`, at), key)
  }
  const each = await Promise.all(Array.from({ length: inFlight }, () => converse(address, next, 201)))
  const made = each.reduce((sum, count) => sum + count, 0)
  return { made, perSecond: Math.round((made / (now() - begun)) * 1_000) }
}

function bodiesOfBulk(n, prefix) {
  const bodies = []
  for (let from = 0; from < n; from += perBulk) {
    const jobs = Array.from({ length: Math.min(perBulk, n - from) }, (_, at) =>
      jobOf(`${prefix}-${from + at}`, from + at),
    )
    bodies.push(requestOf('/api/v1/jobs/bulk', `{"jobs":[${jobs.join()}],"atomic":false}`))
  }
  return bodies
}

async function bulks(address, bodies, n) {
  const begun = now()
  const next = () => bodies.shift() ?? null
  await Promise.all(Array.from({ length: bulksInFlight }, () => converse(address, next, 200)))
  return { made: n, perSecond: Math.round((n / (now() - begun)) * 1_000) }
}

/** What one job cost each process: on a machine that others use, too, this tells more than the time it took. */
async function withCpu(carillon, work) {
  const mark = cpuMark(carillon.groups)
  const done = await work()
  return { ...done, cpu: cpuEach(mark, done.made) }
}
