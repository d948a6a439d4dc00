import { CarillonError } from '@carillon/contract'
import { enqueue } from '@carillon/sdk'
import { describe, expect, test } from 'vitest'
import { loadConfig } from '../../src/config.js'
import { composeOutbox } from '../../src/roles/outbox.js'
import { outboxOf } from '../kit/outbox.js'
import { silentLog } from '../kit/test-database.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

const tables = {
  jobs: 'SELECT * FROM carillon.jobs',
  outbox: 'SELECT * FROM carillon.outbox',
}
const rows = (table: keyof typeof tables) => house().query(tables[table])

describe('an enqueued task', () => {
  test('under a key that was used a day ago is a task of its own, whether the upkeep came by or not', async () => {
    const node = await house().node()
    const { outbox } = outboxOf(node)
    const client = await house().session()
    const days: string[] = []
    for (const [day, forgotten] of [true, false, false].entries()) {
      const { jobId } = await enqueue(client, { task: 'task', payload: { day }, idempotencyKey: 'nightly' })
      await outbox.runOnce()
      expect(await node.registry.get(1, jobId)).toMatchObject({ payload: { day } })
      days.push(jobId)
      await house().clock.advance(86_400_001)
      if (forgotten) await outbox.forgetOnce()
    }
    expect(new Set(days).size).toBe(3)
  })

  test('under a key that stands for another request is refused, whatever of it differs', async () => {
    const node = await house().node()
    const { outbox } = outboxOf(node)
    const client = await house().session()
    const request = { task: 'task', payload: { to: 1 }, delayMs: 60_000, idempotencyKey: 'order-42' }
    const first = await enqueue(client, request)
    await outbox.runOnce()
    await house().clock.advance(1_000)
    expect(await enqueue(client, request)).toEqual(first)
    const { delayMs: _delay, ...atOnce } = request
    const others = [
      { ...request, payload: { to: 2 } },
      { ...request, task: 'other' },
      { ...request, delayMs: 120_000 },
      { ...request, priority: 1 },
      { ...atOnce, at: new Date(await house().now()) },
    ]
    for (const other of others)
      await expect(enqueue(client, other)).rejects.toMatchObject({
        code: '22023',
        message: expect.stringContaining('"order-42" stands for another request') as string,
        hint: expect.stringContaining('a key of its own') as string,
      })
    expect(await rows('jobs')).toHaveLength(1)
  })

  test('that was refused has used up no key: its repetition is a request of its own', async () => {
    const node = await house().node()
    const { job_id: taken } = await node.register({ name: 'taken', schedule: '@every 1h' })
    const { outbox, refused } = outboxOf(node)
    const client = await house().session()
    const request = { task: 'task', name: 'taken', idempotencyKey: 'order-42' }
    await enqueue(client, request)
    await outbox.runOnce()
    expect(refused).toHaveLength(1)
    await node.registry.delete(1, taken)
    const { jobId } = await enqueue(client, request)
    await outbox.runOnce()
    expect(await node.registry.get(1, jobId)).toMatchObject({ name: 'taken' })
  })

  test('is noted in the audit with the login that asked', async () => {
    const node = await house().node()
    await node.register({ name: 'report', schedule: '@every 1h' })
    const { outbox } = outboxOf(node)
    const client = await house().session()
    const { jobId } = await enqueue(client, { task: 'task' })
    const { jobId: triggered } = await enqueue(client, { job: 'report' })
    await outbox.runOnce()
    const [{ login } = { login: '' }] = await house().query<{ login: string }>('SELECT session_user AS login')
    const noted = await house().query('SELECT actor, action, subject FROM carillon.audit_log ORDER BY action')
    expect(noted).toEqual([
      { actor: `database:${login}`, action: 'enqueueTask', subject: jobId },
      { actor: `database:${login}`, action: 'enqueueTrigger', subject: triggered },
    ])
  })

  test('of a task with a long name is registered, also where the name would be cut amid a character', async () => {
    const node = await house().node()
    const { outbox } = outboxOf(node)
    const client = await house().session()
    const task = `${'x'.repeat(159)}😀 tail`
    const { jobId } = await enqueue(client, { task })
    await outbox.runOnce()
    expect((await node.registry.get(1, jobId)).name).toBe(`${'x'.repeat(159)} ${jobId}`)
  })

  test('that no table can hold is refused, not tried for ever', async () => {
    const node = await house().node()
    const { outbox, refused } = outboxOf(node, {
      create: () => Promise.reject(Object.assign(new Error('no such value'), { code: '22P02' })),
    })
    const client = await house().session()
    await enqueue(client, { task: 'task' })
    await outbox.runOnce()
    expect(refused).toMatchObject([{ kind: 'enqueue_refused', detail: { code: 'internal_error' } }])
  })

  test('that another process made meanwhile is not refused because its name is taken by itself', async () => {
    const node = await house().node()
    const { outbox, refused } = outboxOf(node, {
      create: async (tenant, uuid, input) => {
        // Another one gets as far as the job, and dies.
        await node.registry.createAs(tenant, uuid, input)
        await node.registry.createAs(tenant, uuid, input)
      },
    })
    const client = await house().session()
    await enqueue(client, { task: 'task', idempotencyKey: 'order-42' })
    await outbox.runOnce()
    expect(refused).toEqual([])
    expect(await rows('outbox')).toMatchObject([{ done_at: expect.any(Number) as number, refused_at: null }])
    expect(await rows('jobs')).toHaveLength(1)
  })

  test('that fails is tried again after a time that grows', async () => {
    const node = await house().node()
    const tries: number[] = []
    const { outbox } = outboxOf(node, {
      create: async () => {
        tries.push(await house().now())
        throw new CarillonError('job_quota_exceeded')
      },
    })
    const client = await house().session()
    await enqueue(client, { task: 'task' })
    for (let look = 0; look < 30; look++) {
      await outbox.runOnce()
      await house().clock.advance(30_000)
    }
    const waits = tries.slice(1).map((at, index) => (at - (tries[index] ?? 0)) / 30_000)
    expect(waits).toEqual([1, 2, 4, 8, 10])
  })

  test('of one tenant has its turn beside the backlog of another', async () => {
    const node = await house().node()
    const [acme] = await house().query<{ tenant: number }>(
      `INSERT INTO carillon.tenants (name) VALUES ('turns') RETURNING tenant`,
    )
    const served: number[] = []
    const { outbox } = outboxOf(node, {
      create: (tenant) => {
        served.push(tenant)
        return Promise.reject(new CarillonError('job_quota_exceeded'))
      },
    })
    const client = await house().session()
    await client.query(`SELECT carillon.enqueue_task('task') FROM generate_series(1, 120)`)
    await client.query('INSERT INTO carillon.enqueuers VALUES (session_user, $1)', [acme?.tenant])
    await enqueue(client, { task: 'task' })
    await outbox.runOnce()
    expect(served).toHaveLength(50)
    expect(served).toContain(acme?.tenant)
  })

  test('counts for the quota and the size of a job that the server has', async () => {
    const node = await house().node()
    const { database, databaseClock, membership, metrics } = node
    const config = loadConfig({ env: { CARILLON_MAX_JOBS: '2', CARILLON_MAX_BODY_BYTES: '2000' } })
    const { clock } = house()
    const coordination = undefined as never
    const jobSeries = undefined as never
    const context = {
      config,
      database,
      databaseClock,
      coordination,
      membership,
      clock,
      metrics,
      jobSeries,
      traces: null,
    }
    const raised: { kind: string; detail: unknown }[] = []
    const events = { raise: (event: { kind: string; detail: unknown }) => raised.push(event) }
    const hints = { jobChanged: () => undefined, runFired: () => undefined }
    const [service] = composeOutbox({ ...context, log: silentLog }, events as never, hints)
    const client = await house().session()
    await enqueue(client, { task: 'task', payload: 'x'.repeat(2_000) })
    for (let n = 0; n < 3; n++) await enqueue(client, { task: 'task', delayMs: 3_600_000 })
    await service?.runOnce()
    expect(raised).toMatchObject([{ kind: 'enqueue_refused', detail: { code: 'body_too_large' } }])
    expect(await rows('jobs')).toHaveLength(2)
  })
})
