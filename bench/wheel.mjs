// The timing wheel on one core: timers of the next ten minutes, in no order, go in and come out as an owner takes them
// out, a few milliseconds at a time. Several repeats, each with a wheel of its own; the medians count.
import { TimingWheel } from '../packages/server/dist/time/wheel.js'

const start = Date.UTC(2026, 0, 1)
const horizonMs = 600_000
const stepMs = 10
const repeats = 7

export function measure({ n = 1_000_000 }) {
  const timers = makeTimers(n)
  once(timers)
  const runs = Array.from({ length: repeats }, () => once(timers))
  const median = (name) => runs.map((run) => run[name]).sort((a, b) => a - b)[repeats >> 1]
  const sum = (name) => runs.reduce((total, run) => total + run[name], 0)
  return Promise.resolve({
    workload: 'wheel',
    n,
    repeats,
    operations_per_s: median('operations_per_s'),
    operations_per_cpu_s: median('operations_per_cpu_s'),
    inserts_per_s: median('inserts_per_s'),
    expiries_per_s: median('expiries_per_s'),
    cancels_per_s: median('cancels_per_s'),
    bytes_per_timer: median('bytes_per_timer'),
    lost: sum('lost'),
    doubled: sum('doubled'),
    early: sum('early'),
  })
}

export function table(figures) {
  const line = (name, text) => `${Math.round(figures[name]).toLocaleString('en').padStart(14)}  ${text}`
  return [
    `the timing wheel, one core, ${figures.n.toLocaleString('en')} timers, medians of ${figures.repeats} repeats`,
    line('operations_per_s', 'operations a second: every timer inserted and handed out, one operation each'),
    line('operations_per_cpu_s', 'the same for a second of processor time, whatever else the machine does'),
    line('inserts_per_s', 'inserts a second'),
    line('expiries_per_s', 'timers handed out a second'),
    line('cancels_per_s', 'cancels a second'),
    line('bytes_per_timer', 'bytes a timer, all arrays'),
  ].join('\n')
}

/** Made before the clock runs. The same ones in every run, from a fixed seed. */
function makeTimers(n) {
  const instants = new Float64Array(n)
  let state = 42
  for (let key = 0; key < n; key++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    instants[key] = start + 1 + Math.floor((state / 2 ** 32) * horizonMs)
  }
  return instants
}

function once(instants) {
  const n = instants.length
  const wheel = new TimingWheel({ startsAt: start, capacity: n })
  const inserting = timed(() => insertAll(wheel, instants))
  const bytes = wheel.bytes()

  const seen = new Uint8Array(n)
  let early = 0
  let to = start
  const take = (key, at) => {
    seen[key]++
    if (at > to) early++
  }
  const expiring = timed(() => {
    for (; to <= start + horizonMs; to += stepMs) wheel.advance(to, n, take)
  })

  const other = new TimingWheel({ startsAt: start, capacity: n })
  insertAll(other, instants)
  const cancelling = timed(() => {
    for (let key = 0; key < n; key++) other.cancel(key)
  })
  return {
    operations_per_s: (2 * n) / (inserting.wall + expiring.wall),
    operations_per_cpu_s: (2 * n) / (inserting.cpu + expiring.cpu),
    inserts_per_s: n / inserting.wall,
    expiries_per_s: n / expiring.wall,
    cancels_per_s: n / cancelling.wall,
    bytes_per_timer: bytes / n,
    lost: seen.reduce((lost, times) => lost + (times === 0 ? 1 : 0), other.size),
    doubled: seen.reduce((doubled, times) => doubled + (times > 1 ? 1 : 0), 0),
    early,
  }
}

function insertAll(wheel, instants) {
  for (let key = 0; key < instants.length; key++) wheel.insert(key, instants[key], key & 255)
}

/** Seconds on the wall and seconds of processor time. */
function timed(act) {
  const before = process.cpuUsage()
  const begun = performance.now()
  act()
  const wall = (performance.now() - begun) / 1000
  const { user, system } = process.cpuUsage(before)
  return { wall, cpu: (user + system) / 1_000_000 }
}
