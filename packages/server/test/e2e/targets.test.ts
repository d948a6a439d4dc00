import type { Job } from '@carillon/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Carillon, temporaryFolder, until } from './support/carillon.js'
import { type Delivery, Sink } from './support/sink.js'

const env = { CARILLON_MIN_INTERVAL_SECONDS: '1' }
const drainPerSecond = 15
const jobsPerHost = 4

/** One host falls ill and recovers, another is well all the time; two servers call both. */
describe('a host that fails for a while', () => {
  const folder = temporaryFolder()
  let sick: Sink
  let well: Sink
  let first: Carillon
  let second: Carillon
  let jobs: Job[]
  let begun: number
  const answers: { delivery: Delivery; status: number; at: number }[] = []
  let ill = false

  const hostOf = (sink: Sink) => new URL(sink.url).host
  const stateOf = async (sink: Sink) => (await second.client.targets.get(hostOf(sink))).breaker.state

  beforeAll(async () => {
    sick = await Sink.listen()
    well = await Sink.listen()
    sick.answer = (delivery) => {
      const status = ill ? 503 : 200
      answers.push({ delivery, status, at: delivery.receivedAt })
      return status
    }
    ;[first, second] = await Promise.all([
      Carillon.up({ dataDir: folder.path, env }),
      Carillon.up({ dataDir: folder.path, env }),
    ])
    await first.client.targets.limit(hostOf(sick), {
      drain_per_second: drainPerSecond,
      breaker_open_seconds: 2,
      breaker_max_open_seconds: 2,
    })
    begun = Date.now()
    jobs = await Promise.all(
      [sick, well].flatMap((sink, at) =>
        Array.from({ length: jobsPerHost }, (_, index) =>
          first.client.jobs.create({
            name: `${at === 0 ? 'sick' : 'well'}-${index}`,
            schedule: '* * * * * *',
            overlap_policy: 'ALLOW',
            max_retries: 30,
            target: { type: 'http', url: `${sink.url}/` },
          }),
        ),
      ),
    )
  })

  afterAll(async () => {
    await Promise.all([first, second].map((carillon) => carillon?.terminate()))
    await Promise.all([sick, well].map((sink) => sink?.close()))
    folder.remove()
  })

  test('has its runs parked, and the other host goes on unharmed', async () => {
    await until('runs arrive at both', () => sick.deliveries.length > 8 && well.deliveries.length > 8)
    expect(await stateOf(sick)).toBe('closed')
    ill = true
    await until('the breaker opens', async () => (await stateOf(sick)) === 'open')
    const openedAt = Date.now()
    const wellBefore = well.deliveries.length
    await until('runs have been parked for a while', () => Date.now() > openedAt + 6_000)
    const target = await first.client.targets.get(hostOf(sick))
    expect(target.waiting).toBeGreaterThanOrEqual(jobsPerHost * 4)
    expect(target.breaker.last_error).toContain('503')
    // A probe every two seconds or more, and what was under way when it opened.
    const knocks = answers.filter(({ at }) => at > openedAt + 1_500).length
    expect(knocks).toBeGreaterThanOrEqual(1)
    expect(knocks).toBeLessThanOrEqual(5)
    expect(well.deliveries.length - wellBefore).toBeGreaterThanOrEqual(jobsPerHost * 4)
    expect((await second.client.targets.get(hostOf(well))).breaker.state).toBe('closed')
    const parked = await parkedTick(first, jobs[0] as Job)
    const why = await first.client.jobs.why((jobs[0] as Job).job_id, parked)
    expect(why.reason).toBe('breaker_open')
    expect(why.summary).toContain(hostOf(sick))
    await until('an event says so', async () =>
      (await first.client.events({ state: 'open' })).some(
        ({ kind, subject }) => kind === 'breaker_open' && subject === hostOf(sick),
      ),
    )
  })

  test('drains at its pace once it is well, and its breaker closes', async () => {
    ill = false
    const healedAt = Date.now()
    await until('the breaker closes', async () => (await stateOf(sick)) === 'closed')
    const closedAt = Date.now()
    const drained = answers.filter(({ at }) => at > healedAt && at < closedAt - 1_000).map(({ at }) => at)
    expect(drained.length).toBeGreaterThan(0)
    // The pace, a bucket of a quarter of a second, and the delay of a busy machine between lease and call.
    const busiest = Math.max(
      ...drained.map((from) => drained.filter((at) => at >= from && at < from + 1_000).length),
    )
    expect(busiest).toBeLessThanOrEqual(drainPerSecond * 1.25 + drainPerSecond / 2)
    await until('the event is over', async () =>
      (await first.client.events({ state: 'open' })).every(({ kind }) => kind !== 'breaker_open'),
    )
  })

  test('every run is closed once: none lost, none delivered twice after it succeeded', async () => {
    const to = new Date(Math.floor(Date.now() / 1_000) * 1_000).toISOString()
    // The jobs go on: pausing one would park what waits for the host, until somebody resumes it.
    const verification = await until('every tick up to then has ended', async () => {
      const seen = await first.client.verify({ from: new Date(begun).toISOString(), to })
      return seen.in_flight + seen.pending === 0 && seen
    })
    expect(verification).toMatchObject({ unaccounted: 0, doubled: 0, unexpected: 0, failed: 0 })
    const succeeded = answers
      .filter(({ status }) => status === 200)
      .map(
        ({ delivery: { headers } }) =>
          `${String(headers['carillon-job-id'])}@${String(headers['carillon-scheduled-at'])}`,
      )
    expect(succeeded.length).toBe(new Set(succeeded).size)
  })
})

/** A tick of the job that is in the queue. */
async function parkedTick(carillon: Carillon, job: Job): Promise<string> {
  const runs = await carillon.client.jobs.runs(job.job_id, { limit: 50 })
  const parked = runs.find(({ reason }) => reason === 'breaker_open')
  if (parked === undefined) throw new Error(`No run is parked: ${JSON.stringify(runs.slice(0, 3))}`)
  return parked.scheduled_at
}
