import { expect, test } from 'vitest'
import { ApiServer, jobInput, turnOf } from '../kit/api-server.js'
import { useHouse } from '../kit/use-house.js'
import { utcText } from '../../src/time/iso-text.js'

const house = useHouse()
const tenDue = { maxJobs: 10, createPerSecond: 0 }

async function fleet(quota: { maxJobs: number; createPerSecond: number }, count = 2) {
  const node = await house().node()
  return { node, servers: Array.from({ length: count }, () => ApiServer.start(house(), node, { quota })) }
}

async function liveJobs(): Promise<number> {
  const [row] = await house().query<{ live: number }>(
    "SELECT count(*)::int AS live FROM carillon.jobs WHERE state IN ('active', 'paused')",
  )
  return row?.live ?? 0
}

test('two processes together create as many as the quota has, and not one more', async () => {
  const { servers } = await fleet({ maxJobs: 25, createPerSecond: 0 })
  const answers = await Promise.all(Array.from({ length: 80 }, (_, at) => turnOf(servers, at).create()))
  const refused = answers.filter((answer) => answer.status !== 201)
  expect(refused).toHaveLength(55)
  for (const answer of refused) {
    expect(answer).toMatchObject({ status: 429, body: { code: 'job_quota_exceeded' } })
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
  }
  expect(await liveJobs()).toBe(25)
})

test('a deleted job frees its place at once, on every process', async () => {
  const { servers } = await fleet({ maxJobs: 2, createPerSecond: 0 })
  const [one, other] = servers as [ApiServer, ApiServer]
  await one.create()
  await other.create()
  for (let turn = 0; turn < 3; turn++) {
    expect((await other.create()).status).toBe(429)
    const [newest] = (await one.registry.list(1, { limit: 1, cursor: null })).data
    await one.registry.delete(1, newest?.job_id ?? '')
    expect((await other.create()).status).toBe(201)
  }
  expect(await liveJobs()).toBe(2)
})

test('a job that ended by itself gives its place back within a second', async () => {
  const { node, servers } = await fleet({ maxJobs: 1, createPerSecond: 0 }, 1)
  const [server] = servers as [ApiServer]
  const now = await house().now()
  await server.create({ schedule: utcText(now + 2_000) })
  expect((await server.create()).status).toBe(429)
  await house().clock.advance(2_000)
  await node.beat()
  await node.firing.runOnce()
  expect(await liveJobs()).toBe(0)
  await house().clock.advance(1_000)
  expect((await server.create()).status).toBe(201)
})

test('names that are taken use no place', async () => {
  const { servers } = await fleet({ maxJobs: 3, createPerSecond: 0 }, 1)
  const [server] = servers as [ApiServer]
  await server.create({ name: 'taken' })
  for (let at = 0; at < 10; at++) expect((await server.create({ name: 'taken' })).status).toBe(409)
  expect((await server.create()).status).toBe(201)
  expect((await server.create()).status).toBe(201)
  expect((await server.create()).status).toBe(429)
})

test('a job that comes back to life is counted', async () => {
  const { node, servers } = await fleet({ maxJobs: 2, createPerSecond: 0 }, 1)
  const [server] = servers as [ApiServer]
  const now = await house().now()
  const mortal = await server.create({ schedule: utcText(now + 2_000) })
  await server.create()
  await house().clock.advance(2_000)
  await node.beat()
  await node.firing.runOnce()
  await house().clock.advance(1_000)
  const third = await server.create()
  expect(third.status).toBe(201)
  await house().query("UPDATE carillon.jobs SET state = 'active', ended_at = NULL WHERE name = $1", [
    mortal.body.name,
  ])
  await server.registry.delete(1, third.body.job_id)
  expect((await server.create()).status).toBe(429)
})

test('a bulk call creates what there is room for; an atomic one nothing, and leaves the room', async () => {
  const { servers } = await fleet(tenDue, 1)
  const [server] = servers as [ApiServer]
  const jobs = Array.from({ length: 12 }, () => jobInput())
  const atomic = await server.post<{ created: number }>('/jobs/bulk', { jobs, atomic: true })
  expect(atomic).toMatchObject({
    status: 422,
    body: { code: 'bulk_refused', created: 0, failed: 2, skipped: 10 },
  })
  expect(await liveJobs()).toBe(0)
  const { body } = await server.post<{ created: number; results: { error?: { code: string } }[] }>(
    '/jobs/bulk',
    {
      jobs,
    },
  )
  expect(body).toMatchObject({ created: 10, failed: 2 })
  expect(body.results.slice(10).map(({ error }) => error?.code)).toEqual([
    'job_quota_exceeded',
    'job_quota_exceeded',
  ])
  expect(await liveJobs()).toBe(10)
})

test("a tenant's own quota goes before the server's", async () => {
  const { servers } = await fleet(tenDue, 1)
  const [server] = servers as [ApiServer]
  await house().query('UPDATE carillon.tenants SET max_jobs = 1 WHERE tenant = 1')
  try {
    expect((await server.create()).status).toBe(201)
    expect((await server.create()).status).toBe(429)
  } finally {
    await house().query('UPDATE carillon.tenants SET max_jobs = NULL WHERE tenant = 1')
  }
  expect((await server.create()).status).toBe(201)
})

test('two processes together create as many in a second as the rate says, and go on when time has passed', async () => {
  const { servers } = await fleet({ maxJobs: 1_000, createPerSecond: 5 })
  const burst = () => Promise.all(Array.from({ length: 20 }, (_, at) => turnOf(servers, at).create()))
  const first = await burst()
  expect(first.filter((answer) => answer.status === 201)).toHaveLength(5)
  const refused = first.find((answer) => answer.status !== 201)
  expect(refused).toMatchObject({ status: 429, body: { code: 'rate_limited' } })
  expect(refused?.headers['retry-after']).toBe('1')
  await house().clock.advance(400)
  expect((await burst()).filter((answer) => answer.status === 201)).toHaveLength(2)
  await house().clock.advance(60_000)
  expect((await burst()).filter((answer) => answer.status === 201)).toHaveLength(5)
})
