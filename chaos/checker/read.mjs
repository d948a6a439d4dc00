// Reads the four ledgers of a run from its folder.
import { createReadStream, existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { jobIdOf, runIdentityOf } from '../../packages/server/dist/platform/ids.js'

const tableNames = [
  'jobs',
  'segments',
  'versions',
  'queue',
  'replays',
  'dead_letters',
  'incarnations',
  'partitions',
  'tenants',
  'backfills',
  'orders',
  'bookings',
]

/** @param {string} folder */
export async function readLedgers(folder) {
  const read = (name) => entries(readFileSync(join(folder, name), 'utf8'))
  const readIfThere = (name) => (existsSync(join(folder, name)) ? read(name) : [])
  const settings = JSON.parse(readFileSync(join(folder, 'settings.json'), 'utf8'))
  const tables = Object.fromEntries(tableNames.map((name) => [name, readIfThere(`carillon-${name}.ndjson`)]))
  for (const job of tables.jobs) job.id = jobIdOf(job.id)
  for (const booking of tables.bookings)
    Object.assign(booking, runIdentityOf(booking.run), { job: booking.job })
  const nemesis = read('nemesis.ndjson')
  const ready = new Set(nemesis.flatMap(({ isReady }) => (isReady === undefined ? [] : [isReady])))
  for (const entry of nemesis) if (entry.started !== undefined) entry.ready = ready.has(entry.pid)
  return {
    settings,
    tables,
    nemesis,
    client: read('client.ndjson').map((call) =>
      call.run === undefined ? call : { ...call, run: keyOf(call.run) },
    ),
    ...(await readDeliveries(folder, settings.monotonicToWall)),
    ledger: lines(join(folder, 'carillon-ledger.ndjson')),
  }
}

function entries(text) {
  return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]))
}

function keyOf(run) {
  const { due, origin, seq } = runIdentityOf(run)
  return `${due} ${origin} ${seq}`
}

/** A last line that was cut off was never acknowledged to anybody. */
async function* lines(path) {
  for await (const line of createInterface({
    input: createReadStream(path),
    crlfDelay: Number.POSITIVE_INFINITY,
  })) {
    if (line.endsWith('}')) yield JSON.parse(line)
  }
}

/** By job: deliveries, in the order of their arrival, and effects that were done, and told to be remembered. */
async function readDeliveries(folder, toWall) {
  const byJob = new Map()
  const effects = new Map()
  for (const name of readdirSync(folder).filter((file) => /^deliveries-.*\.ndjson$/.test(file))) {
    const open = new Map()
    for await (const line of lines(join(folder, name))) {
      if (line.effect !== undefined) {
        const { origin, seq, due } = runIdentityOf(line.run)
        const mine = effects.get(line.job) ?? []
        effects.set(line.job, mine)
        mine.push({ due, origin, seq, token: line.token, remembered: line.effect === 'remembered' })
        continue
      }
      if (line.in === undefined) {
        const delivery = open.get(line.token)
        if (delivery !== undefined) Object.assign(delivery, { out: line.out + toWall, said: line.said })
        continue
      }
      const { origin, seq } = runIdentityOf(line.run)
      const delivery = { ...line, origin, seq, in: line.in + toWall, out: null, said: null }
      open.set(line.token, delivery)
      const mine = byJob.get(line.job)
      if (mine === undefined) byJob.set(line.job, [delivery])
      else mine.push(delivery)
    }
  }
  for (const mine of byJob.values()) mine.sort((a, b) => a.in - b.in)
  return { deliveries: byJob, effects }
}
