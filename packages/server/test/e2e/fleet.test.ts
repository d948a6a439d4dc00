import type { Job, Run } from '@carillon/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Carillon, temporaryFolder, until } from './support/carillon.js'
import { Sink } from './support/sink.js'

/**
 * Two full servers over one database, 200 jobs that tick every second. What arrived is counted by the receiver, not by
 * Carillon; what was due is counted from the clock.
 */
const jobCount = 200
const seconds = 15
const env = { CARILLON_MIN_INTERVAL_SECONDS: '1' }

describe('two servers on one database', () => {
  const folder = temporaryFolder()
  let sink: Sink
  let first: Carillon
  let second: Carillon
  let jobs: Job[]

  beforeAll(async () => {
    sink = await Sink.listen()
    ;[first, second] = await Promise.all([
      Carillon.up({ dataDir: folder.path, env }),
      Carillon.up({ dataDir: folder.path, env }),
    ])
    jobs = await Promise.all(
      Array.from({ length: jobCount }, (_, index) =>
        first.client.jobs.create({
          name: `every-second-${index}`,
          schedule: '* * * * * *',
          // A busy machine may need longer than a second for a run: that shall be no overlap here.
          overlap_policy: 'ALLOW',
          target: { type: 'http', url: `${sink.url}/` },
        }),
      ),
    )
  })

  afterAll(async () => {
    await Promise.all([first, second].map((carillon) => carillon?.terminate()))
    await sink?.close()
    folder.remove()
  })

  test('each tick of 200 jobs is delivered once, and none before its time', async () => {
    const from = nextWholeSecond(Date.now())
    const ticks = ticksBetween(from, from + seconds * 1000)
    await until('the span is over', () => Date.now() > from + seconds * 1000)
    const wanted = expected(jobs, ticks)
    const missing = await nothingLeft(() => {
      const counts = sink.counts()
      return wanted.filter((key) => !counts.has(key))
    })
    const doubled = [...sink.counts()].filter(([, count]) => count > 1)
    expect({ missing, doubled }).toEqual({ missing: [], doubled: [] })
    const early = sink.deliveries.filter(
      ({ receivedAt, headers }) => receivedAt < Date.parse(scheduledAt(headers)),
    )
    expect(early).toEqual([])
    report('steady', sink, ticks)
  })

  test('kill -9 of one of them loses no tick', async () => {
    const from = nextWholeSecond(Date.now())
    const inFlightAtMost = jobCount
    await until('the span has begun', () => Date.now() > from + 2_300)
    await second.killHard()
    // Longer than a lease, so that what would come only with its end is looked for as well.
    const ticks = ticksBetween(from, from + 12_000)
    await until('the span is over', () => Date.now() > from + 12_000)
    const wanted = expected(jobs, ticks)
    const lost = await nothingLeft(async () => {
      const counts = sink.counts()
      const open = wanted.filter((key) => !counts.has(key))
      if (open.length === 0) return []
      const accounted = await accountedTicks(first, jobs)
      return open.filter((key) => !accounted.has(key))
    })
    expect(lost).toEqual([])
    const extra = [...sink.counts().values()].reduce((sum, count) => sum + count - 1, 0)
    expect(extra).toBeLessThanOrEqual(inFlightAtMost)
    report('after kill -9', sink, ticks)
  })

  test('the ledger agrees with what arrived', async () => {
    const job = jobs[0] as Job
    const runs = await first.client.jobs.runs(job.job_id, { limit: 200 })
    const closed = runs.filter((run) => run.status === 'success')
    expect(closed.length).toBeGreaterThanOrEqual(seconds)
    for (const run of closed)
      expect(
        sink.counts().get(`${job.job_id}@${new Date(run.scheduled_at).toISOString()}`),
      ).toBeGreaterThanOrEqual(1)
    expect(new Set(runs.map((run) => run.run_id)).size).toBe(runs.length)
  })
})

/** What is still open when a busy machine has had its time: usually nothing, and at once. */
async function nothingLeft(look: () => Promise<string[]> | string[]): Promise<string[]> {
  let left: string[] = []
  await until('nothing is left', async () => (left = await look()).length === 0, 20_000).catch(
    () => undefined,
  )
  return left
}

function scheduledAt(headers: Record<string, unknown>): string {
  return new Date(String(headers['carillon-scheduled-at'])).toISOString()
}

function nextWholeSecond(now: number): number {
  return Math.ceil((now + 3_000) / 1000) * 1000
}

function ticksBetween(from: number, to: number): string[] {
  return Array.from({ length: (to - from) / 1000 }, (_, index) => new Date(from + index * 1000).toISOString())
}

function expected(jobs: Job[], ticks: string[]): string[] {
  return jobs.flatMap((job) => ticks.map((tick) => `${job.job_id}@${tick}`))
}

/** Ticks that the ledger says were decided: passed over with a reason, each tick of a range on its own. */
async function accountedTicks(carillon: Carillon, jobs: Job[]): Promise<Set<string>> {
  const accounted = new Set<string>()
  for (const job of jobs) {
    const runs: Run[] = await carillon.client.jobs.runs(job.job_id, { limit: 200 })
    for (const run of runs.filter(({ status }) => status === 'skipped')) {
      const to = Date.parse(run.skipped_until ?? run.scheduled_at)
      for (let at = Date.parse(run.scheduled_at); at <= to; at += 1000) {
        accounted.add(`${job.job_id}@${new Date(at).toISOString()}`)
      }
    }
  }
  return accounted
}

/** For people who read the output: figures are looked at, not judged, in a test. */
function report(what: string, sink: Sink, ticks: string[]): void {
  const span = new Set(ticks)
  const lags = sink.deliveries
    .filter(({ headers }) => span.has(scheduledAt(headers)))
    .map(({ receivedAt, headers }) => receivedAt - Date.parse(scheduledAt(headers)))
    .sort((a, b) => a - b)
  const at = (share: number) => lags[Math.min(lags.length - 1, Math.floor(lags.length * share))]
  console.log(`${what}: ${lags.length} deliveries, lag ms p50 ${at(0.5)} p99 ${at(0.99)} max ${lags.at(-1)}`)
}
