// One-offs registered over REST, due three seconds later and 20 ms apart: how long after its instant each arrives.
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from '@carillon/sdk'
import { startCarillon } from './carillon.mjs'

export async function measure({ n = 100 }) {
  const dataDir = mkdtempSync(join(tmpdir(), 'carillon-bench-'))
  const arrivals = new Map()
  const sink = createServer((request, response) => {
    const key = request.headers['carillon-job-id']
    arrivals.set(key, [...(arrivals.get(key) ?? []), Date.now()])
    request.resume().on('end', () => response.end())
  })
  await new Promise((resolve) => sink.listen(0, '127.0.0.1', resolve))
  const server = await startCarillon(['--data-dir', dataDir])
  try {
    const due = await register(server.url, `http://127.0.0.1:${sink.address().port}/`, n)
    const last = Math.max(...due.values())
    while (Date.now() < last + 2_000) await new Promise((resolve) => setTimeout(resolve, 100))
    return figuresOf(due, arrivals)
  } finally {
    await server.end()
    sink.close()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

export function table({ n, lag_ms: lag, lost, doubled, early }) {
  return [
    `${n} one-offs over HTTP, lag from the instant to the receiver, ms`,
    `  p50 ${lag.p50}   p95 ${lag.p95}   p99 ${lag.p99}   max ${lag.max}`,
    `  lost ${lost}   doubled ${doubled}   early ${early}`,
  ].join('\n')
}

async function register(url, target, n) {
  const client = createClient({ url })
  const due = new Map()
  const first = Date.now() + 3_000
  for (let index = 0; index < n; index++) {
    const at = Math.max(first, Date.now() + 1_500) + index * 20
    const job = await client.jobs.create({
      name: `first-tick-${index}`,
      schedule: new Date(at).toISOString(),
      target: { type: 'http', url: target },
    })
    due.set(job.job_id, at)
  }
  return due
}

function figuresOf(due, arrivals) {
  const lags = [...due].flatMap(([job, at]) =>
    (arrivals.get(job) ?? []).slice(0, 1).map((arrived) => arrived - at),
  )
  lags.sort((a, b) => a - b)
  const at = (share) => lags[Math.min(lags.length - 1, Math.floor(lags.length * share))]
  return {
    workload: 'first-tick',
    n: due.size,
    lag_ms: { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: lags.at(-1) },
    lost: [...due.keys()].filter((job) => !arrivals.has(job)).length,
    doubled: [...arrivals.values()].filter((times) => times.length > 1).length,
    early: lags.filter((lag) => lag < 0).length,
  }
}
