// Jobs registered over REST: single calls with 32 in flight, and in bulk. The client is raw sockets, because on two cores
// a richer one would take from the server what is to be measured.
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { startCarillon } from './carillon.mjs'

const inFlight = 32
const repeats = 3
const perBulk = 10_000
const connectionsOfBulk = 2

export async function measure({ n = 100_000, seconds = 5 }) {
  const dataDir = mkdtempSync(join(tmpdir(), 'carillon-bench-'))
  const server = await startCarillon(['--data-dir', dataDir], { CARILLON_MAX_JOBS: '100000000' })
  try {
    const { hostname, port } = new URL(server.url)
    const address = { host: hostname, port: Number(port) }
    await singles(address, 'warm', Math.min(1, seconds))
    const single = []
    const keyed = []
    const bulk = []
    for (let repeat = 0; repeat < repeats; repeat++) {
      single.push(await singles(address, `s${repeat}`, seconds))
      keyed.push(await singles(address, `k${repeat}`, seconds, true))
      bulk.push(await bulks(address, `b${repeat}`, n))
    }
    return {
      workload: 'register',
      in_flight: inFlight,
      single_per_second: median(single),
      keyed_per_second: median(keyed),
      bulk_per_second: median(bulk),
      bulk_jobs: n,
      load_average: Number(loadavg()[0].toFixed(1)),
      repeats: { single, keyed, bulk },
    }
  } finally {
    await server.end()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

export function table(figures) {
  const { single, keyed, bulk } = figures.repeats
  return [
    `jobs registered a second over HTTP, medians of ${repeats}; load average ${figures.load_average}`,
    `  single, ${inFlight} in flight            ${figures.single_per_second}   (${single.join(', ')})`,
    `  single, with an idempotency key  ${figures.keyed_per_second}   (${keyed.join(', ')})`,
    `  bulk, ${perBulk} a call             ${figures.bulk_per_second}   (${bulk.join(', ')})`,
  ].join('\n')
}

function jobOf(name, at) {
  return JSON.stringify({
    name,
    schedule: `${at % 60} ${9 + (at % 8)} * * *`,
    timezone: 'Europe/Madrid',
    target: { type: 'http', url: 'https://example.com/hook' },
    payload: { customer: at },
  })
}

/** Each connection sends its next job when the last is answered: so many are in flight, never more. */
async function singles(address, prefix, seconds, withKeys = false) {
  let sent = 0
  const until = performance.now() + seconds * 1_000
  const started = performance.now()
  const next = () => {
    if (performance.now() >= until) return null
    const at = sent++
    const key = withKeys ? `Idempotency-Key: ${prefix}-${at}\r\n` : ''
    return requestOf('/api/v1/jobs', jobOf(`${prefix}-${at}`, at), key)
  }
  const each = await Promise.all(Array.from({ length: inFlight }, () => converse(address, next, 201)))
  const created = each.reduce((sum, count) => sum + count, 0)
  return Math.round((created / (performance.now() - started)) * 1_000)
}

async function bulks(address, prefix, n) {
  const bodies = []
  for (let from = 0; from < n; from += perBulk) {
    const jobs = Array.from({ length: Math.min(perBulk, n - from) }, (_, at) =>
      jobOf(`${prefix}-${from + at}`, from + at),
    )
    bodies.push(requestOf('/api/v1/jobs/bulk', `{"jobs":[${jobs.join()}],"atomic":false}`))
  }
  const started = performance.now()
  const next = () => bodies.shift() ?? null
  await Promise.all(Array.from({ length: connectionsOfBulk }, () => converse(address, next, 200)))
  return Math.round((n / (performance.now() - started)) * 1_000)
}

function requestOf(path, body, headers = '') {
  return `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}

/** Sends one request after another over one connection; answers how many had the status that was expected. */
function converse(address, next, expected) {
  return new Promise((resolve, reject) => {
    let count = 0
    let left = -1
    let head = ''
    const socket = connect(address)
    socket.setNoDelay(true)
    const send = () => {
      const request = next()
      if (request === null) {
        socket.end()
        resolve(count)
      } else socket.write(request)
    }
    socket.on('connect', send)
    socket.on('error', reject)
    socket.on('data', (chunk) => {
      if (left < 0) {
        head += chunk.toString('latin1')
        const end = head.indexOf('\r\n\r\n')
        if (end < 0) return
        const length = /content-length: (\d+)/i.exec(head)
        if (!head.startsWith(`HTTP/1.1 ${expected}`) || length === null) {
          reject(new Error(`unexpected answer: ${head.slice(0, 400)}`))
          socket.destroy()
          return
        }
        left = Number(length[1]) - (head.length - end - 4)
      } else left -= chunk.length
      if (left > 0) return
      count += 1
      left = -1
      head = ''
      send()
    })
  })
}

function median(values) {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]
}
