// HTTP targets that take their time to answer, all due at one instant: deliveries a second, how late each arrives, how many
// are in flight. The probe is the same client library in a loop, without a scheduler before it.
import { fork } from 'node:child_process'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Carillon } from '../contestants/carillon.mjs'
import { compare, inOne } from '../lib/compare.mjs'
import { cpuMark, cpuSince } from '../lib/cpu.mjs'
import { now, percentiles, round } from '../lib/figures.mjs'
import { patiently, TooLate } from '../lib/patiently.mjs'
import { tally } from '../lib/recorder.mjs'

export const score = { figure: 'deliveries_per_s', better: 'higher' }
export const defaults = { n: [20_000] }
export const smoke = { n: [500], repeats: 1 }
const sinkFile = fileURLToPath(new URL('./webhook-sink.mjs', import.meta.url))
const loopFile = fileURLToPath(new URL('./webhook-loop.mjs', import.meta.url))
/** How long a receiver works: with it a thousand and more are in flight. */
const answerMs = 200
const atOnce = 2_000

export async function measure({ house, n, repeats, set, quick }) {
  const cases = []
  for (const count of n)
    cases.push(
      await compare({
        workload: 'webhook',
        parameters: { n: count, answer_ms: answerMs, most_at_once: atOnce },
        repeats,
        score,
        entrants: [
          {
            name: 'carillon',
            kind: 'ours',
            run: () => patiently((factor) => ours(house, count, quick ? factor / 2 : factor, set)),
          },
          { name: 'probe', kind: 'probe', run: () => probe(house, count) },
        ],
      }),
    )
  return inOne(cases)
}

async function ours(house, n, factor, set) {
  const sink = await Sink.open(house)
  const carillon = await Carillon.open(house, {
    settings: {
      CARILLON_WORKER_CONCURRENCY: String(atOnce),
      CARILLON_ALLOWED_NETWORKS: '127.0.0.0/8',
      ...set,
    },
  })
  try {
    const instant = Math.ceil((now() + factor * (5_000 + n / 6)) / 1_000) * 1_000
    await carillon.register(n, (i) => ({
      name: `webhook-${i}`,
      schedule: new Date(instant).toISOString(),
      target: { type: 'http', url: `${sink.url}/${i}` },
      payload: { i, note: 'x'.repeat(100) },
    }))
    await carillon.settle()
    if (instant - now() < 2_500) throw new TooLate(`Registering ${n} took longer than there was time.`)
    await wait(instant - now())
    const mark = cpuMark({ ...carillon.groups, sink: [sink.pid] })
    const limit = now() + 300_000
    while ((await sink.ask('count')) < n) {
      if (now() > limit) throw new Error(`Only ${await sink.ask('count')} of ${n} arrived in 300 s.`)
      await wait(50)
    }
    const end = await carillon.drained(n)
    const cpu = cpuSince(mark)
    const { arrivals, connections, mostInFlight } = await sink.ask('records')
    const { lost, doubled, early, lags } = tally([arrivals], n, (i) => i)
    const ledger = await carillon.ledger()
    return {
      deliveries_per_s: Math.round((n / (end - instant)) * 1_000),
      lag_ms: lagsOf(lags, instant),
      drain_s: round((end - instant) / 1_000, 2),
      connections,
      most_in_flight: mostInFlight,
      cpu,
      early,
      lost: Math.max(lost, n - ledger.ticks),
      doubled: doubled + ledger.rows - ledger.ticks,
    }
  } finally {
    await carillon.close()
    await sink.close()
  }
}

/** The sink does not know when they were due; it notes zero. */
function lagsOf(lags, instant) {
  return percentiles(lags.map((at) => at - instant))
}

async function probe(house, n) {
  const sink = await Sink.open(house)
  const loop = fork(loopFile, [sink.url, String(n), String(atOnce)], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const end = house.atEnd(async () => loop.kill('SIGKILL'))
  try {
    const [ms] = await new Promise((resolve, reject) => {
      loop.once('message', (message) => resolve([message]))
      loop.once('exit', (code) => reject(new Error(`The loop ended with ${code}.`)))
    })
    const { connections, mostInFlight } = await sink.ask('records')
    return { deliveries_per_s: Math.round((n / ms) * 1_000), connections, most_in_flight: mostInFlight }
  } finally {
    await end()
    await sink.close()
  }
}

/** The receiver, in a process of its own. */
class Sink {
  static async open(house) {
    const sink = new Sink()
    const child = fork(sinkFile, [String(answerMs)], {
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    sink.close = house.atEnd(async () => child.kill('SIGKILL'))
    sink.pid = child.pid
    sink.ask = (question) =>
      new Promise((resolve) => {
        child.once('message', resolve)
        child.send(question)
      })
    const port = await new Promise((resolve) => child.once('message', resolve))
    sink.url = `http://127.0.0.1:${port}`
    return sink
  }
}
