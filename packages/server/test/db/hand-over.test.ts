import { describe, expect, test } from 'vitest'
import type { LeasedRun } from '../../src/pipeline/run.js'
import type { HandOver } from '../../src/pipeline/fire/hand-over.js'
import { ledgerOf, putRuns, queueOf } from '../kit/rows.js'
import { type NodeOptions, succeeded, type TestNode } from '../kit/test-house.js'
import { until } from '../kit/until.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

const everyMinute = { schedule: '* * * * *' }
const minute = 60_000

/** In the middle of a minute, so that the jobs of every minute that come next have a while until their first ticks. */
async function nodeOf(options: NodeOptions = {}): Promise<TestNode> {
  const node = await house().node({ handsOver: true, ...options })
  await house().clock.advance(minute + minute / 2 - ((await house().now()) % minute))
  await node.beat()
  return node
}

/** Registers jobs of every minute, and fires their next ticks, which lie ahead. */
async function fired(options: NodeOptions = {}, count = 1) {
  const node = await nodeOf(options)
  const jobs = []
  for (let at = 0; at < count; at++) jobs.push(await node.register(everyMinute))
  await fireAhead(node)
  return { node, jobs }
}

/** A second and a half before the next minute. */
async function fireAhead(node: TestNode): Promise<void> {
  const now = await house().now()
  await house().clock.advance(minute - (now % minute) - 1_500)
  await node.beat()
  await house().during(node.firing.runOnce(), 5)
}

/** Lets a moment pass until all that it held has ended and is on record: a start waits until the database's clock is surely there. */
async function ended(node: TestNode): Promise<void> {
  await until('what the worker held has ended', async () => {
    await house().clock.advance(20)
    return node.worker.inFlight === 0
  })
}

async function holders(jobs: readonly { key: number }[]): Promise<(number | null)[]> {
  const rows = await Promise.all(jobs.map((job) => queueOf(house(), job)))
  return rows.flatMap((row) => row.map(({ holder }) => holder))
}

test('a run is made as the lease of the worker in the same process, starts at its time and is closed under its token', async () => {
  const { node, jobs } = await fired()
  const self = node.membership.incarnation
  expect(await holders(jobs)).toEqual([self])
  expect(node.worker.inFlight).toBe(1)
  expect(node.delivered).toEqual([])
  await house().clock.advance(2_000)
  await ended(node)
  const [run] = node.delivered as [LeasedRun]
  expect(run).toMatchObject({ attempt: 1, origin: 0, holder: self, catchUp: false })
  const [row] = await ledgerOf(house(), jobs[0] as { key: number })
  expect(row).toMatchObject({ due: run.due, outcome: 'success', final: true, token: run.token, worker: self })
  expect(row?.epoch).toBe(run.epoch)
})

test('a run is made no longer before its time than the worker that gets it would lease it', async () => {
  const { node, jobs } = await fired({ handsOver: (handOver) => ({ ...handOver, aheadMs: 1_000 }) })
  expect(await holders(jobs)).toEqual([])
  await house().clock.advance(600)
  await node.beat()
  await house().during(node.firing.runOnce(), 5)
  expect(await holders(jobs)).toEqual([node.membership.incarnation])
})

test('a short definition comes along; a long one is read, however little room it takes in the table', async () => {
  const payloads: unknown[] = []
  const deliver: NodeOptions['deliver'] = (_run, { definition }) => {
    payloads.push(definition.payload)
    return Promise.resolve(succeeded)
  }
  const node = await nodeOf({ deliver })
  const long = 'much of the same '.repeat(5_000)
  const short = await node.register({ ...everyMinute, payload: 'short' })
  await node.register({ ...everyMinute, payload: long })
  await fireAhead(node)
  // The long one is read in the database's own time.
  await until('both are delivered', async () => {
    await house().clock.advance(100)
    return payloads.length === 2
  })
  await house().finished(node)
  expect(payloads.includes('short') && payloads.includes(long)).toBe(true)
  const whole = node.delivered.filter(({ definition }) => definition !== undefined)
  expect(whole.map(({ job }) => job)).toEqual([short.key])
})

test('half of the room that a worker has is given to such runs', async () => {
  const { node, jobs } = await fired({ concurrency: 4 }, 2)
  const self = node.membership.incarnation
  expect(await holders(jobs)).toEqual([self, self])
})

describe('a run is left to whoever leases it', () => {
  test('where the worker does not serve its task', async () => {
    const { jobs } = await fired({ tasks: ['other'] })
    expect(await holders(jobs)).toEqual([null])
  })

  test('where its tenant has a cap', async () => {
    const node = await nodeOf()
    await house().query('SELECT carillon.cap_tenant(1, 5)')
    const job = await node.register(everyMinute)
    await fireAhead(node)
    expect(await holders([job])).toEqual([null])
    expect(await house().query('SELECT taken FROM carillon.tenant_slots')).toEqual([{ taken: 0 }])
    await house().query('SELECT carillon.cap_tenant(1, NULL)')
  })

  test('where its host has limits, and only then', async () => {
    const node = await nodeOf()
    await node.targets.put(1, 'limited.test', { max_concurrent: 5 })
    const limited = await node.register({
      ...everyMinute,
      target: { type: 'http', url: 'http://limited.test/' },
    })
    const other = await node.register({ ...everyMinute, target: { type: 'http', url: 'http://other.test/' } })
    await fireAhead(node)
    expect(await holders([limited])).toEqual([null])
    expect(await holders([other])).toEqual([node.membership.incarnation])
  })

  test('where the worker has not twice the room', async () => {
    const { jobs } = await fired({ concurrency: 3 }, 2)
    expect(await holders(jobs)).toEqual([null, null])
  })

  test('where others have waited for the worker longer', async () => {
    const node = await nodeOf({ concurrency: 300 })
    const waiting = await node.register({ overlap_policy: 'ALLOW' })
    await putRuns(house(), waiting, { count: 400 })
    expect(await node.worker.leaseOnce()).toBe(true)
    const job = await node.register(everyMinute)
    await fireAhead(node)
    expect(await holders([job])).toEqual([null])
  })

  test('where the process was declared dead before the statement', async () => {
    const node = await nodeOf()
    const job = await node.register(everyMinute)
    await house().clock.advance(minute - ((await house().now()) % minute) - 1_500)
    await node.beat()
    await house().query(
      "UPDATE carillon.incarnations SET state = 'dead', ended_at = carillon.now_ms() WHERE incarnation = $1",
      [node.membership.incarnation],
    )
    await node.firing.runOnce()
    expect(await holders([job])).toEqual([null])
  })
})

test('runs whose handing over was not heard of are given back by the next lease, and run once', async () => {
  let lose = true
  const lossy = (handOver: HandOver): HandOver => ({
    ...handOver,
    offer(runs) {
      const offer = handOver.offer(runs)
      if (offer === null || !lose) return offer
      return { ...offer, accept: () => offer.doubt(new Error('the answer was lost')) }
    },
  })
  const { node, jobs } = await fired({ handsOver: lossy })
  lose = false
  expect(node.worker.inFlight).toBe(0)
  expect(await holders(jobs)).toEqual([node.membership.incarnation])
  await house().clock.advance(1_000)
  await node.worker.leaseOnce()
  await house().clock.advance(1_000)
  await ended(node)
  expect(node.delivered).toHaveLength(1)
  expect(await ledgerOf(house(), jobs[0] as { key: number })).toHaveLength(1)
})

test('what is being handed over while the worker looks for lost runs is not given back', async () => {
  const accepting: (() => void)[] = []
  const node = await nodeOf({
    handsOver: (handOver) => ({
      ...handOver,
      offer(runs) {
        const offer = handOver.offer(runs)
        return offer && { ...offer, accept: (handed) => accepting.push(() => offer.accept(handed)) }
      },
    }),
  })
  const job = await node.register(everyMinute)
  await fireAhead(node)
  const other = node.worker.offer(1)
  other?.doubt()
  const reconciling = node.worker.leaseOnce()
  await house().query('SELECT pg_sleep(0.1)')
  for (const accept of accepting) accept()
  await reconciling
  expect(await holders([job])).toEqual([node.membership.incarnation])
  expect(node.worker.inFlight).toBe(1)
})

test('a run that was handed over ahead of its time does not start after its job was paused', async () => {
  const { node, jobs } = await fired()
  const [job] = jobs as [Awaited<ReturnType<TestNode['register']>>]
  await node.registry.pause(1, job.job_id, {})
  await house().during(node.worker.lookOnce())
  await house().during(house().clock.advance(5_000))
  await ended(node)
  expect(node.delivered).toEqual([])
  expect(await holders([job])).toEqual([])
})

test('a worker that leaves hands back what was handed over to it', async () => {
  const { node, jobs } = await fired()
  await node.worker.handBack()
  expect(await holders(jobs)).toEqual([null])
  expect(node.worker.offer(1)).toBeNull()
})
