import { defineTask, enqueue, InvalidInputError } from '@carillon/sdk'
import type pg from 'pg'
import { describe, expect, test } from 'vitest'
import { uuidOf } from '../../src/platform/ids.js'
import { outboxOf } from '../kit/outbox.js'
import type { TestNode } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

async function transaction<Result>(
  client: pg.Client,
  work: () => Promise<Result>,
  end = 'COMMIT',
): Promise<Result> {
  await client.query('BEGIN')
  const result = await work()
  await client.query(end)
  return result
}

const tables = {
  jobs: 'SELECT * FROM carillon.jobs',
  queue: 'SELECT * FROM carillon.queue',
  outbox: 'SELECT * FROM carillon.outbox',
}
const rows = (table: keyof typeof tables) => house().query(tables[table])

/** Fires and runs what is due, and answers the runs of the job. */
async function runOf(node: TestNode, jobId: string) {
  const key = await node.registry.find(1, jobId)
  await node.beat()
  await node.firing.runOnce()
  await node.worker.leaseOnce()
  await house().finished(node)
  return node.runs({ key, job_id: jobId })
}

describe('a task that is enqueued in a transaction', () => {
  test('runs once the transaction has committed, under the id that the caller was told', async () => {
    const node = await house().node()
    const { outbox } = outboxOf(node)
    const client = await house().session()
    const { jobId } = await transaction(client, () =>
      enqueue(client, { task: 'task', payload: { order: 42 } }),
    )
    await outbox.runOnce()
    expect(await node.registry.get(1, jobId)).toMatchObject({
      job_id: jobId,
      target: { type: 'task', task: 'task' },
      payload: { order: 42 },
    })
    expect(await runOf(node, jobId)).toMatchObject([{ status: 'success', catch_up: false }])
    expect(await rows('outbox')).toEqual([])
  })

  test('is nothing at all when the transaction is rolled back', async () => {
    const node = await house().node()
    const { outbox } = outboxOf(node)
    const client = await house().session()
    await transaction(client, () => enqueue(client, { task: 'task' }), 'ROLLBACK')
    await outbox.runOnce()
    expect(await rows('jobs')).toEqual([])
    expect(await rows('outbox')).toEqual([])
  })

  test('runs, however late its transaction commits and whatever was enqueued meanwhile', async () => {
    const node = await house().node()
    const { outbox } = outboxOf(node)
    const slow = await house().session()
    await slow.query('BEGIN')
    const { jobId } = await enqueue(slow, { task: 'task', at: new Date(await house().now()) })
    const quick = await house().session()
    await enqueue(quick, { task: 'task' })
    await outbox.runOnce()
    await house().clock.advance(3 * 3_600_000)
    await outbox.runOnce()
    expect(await rows('jobs')).toHaveLength(1)
    await slow.query('COMMIT')
    await outbox.runOnce()
    expect(await runOf(node, jobId)).toMatchObject([{ status: 'success', catch_up: false }])
  })

  test('is due at its instant or after its delay, by the clock of the database', async () => {
    const node = await house().node()
    const { outbox } = outboxOf(node)
    const client = await house().session()
    const now = await house().now()
    const at = new Date(now + 90_000)
    const ids = [
      await enqueue(client, { task: 'task', at }),
      await enqueue(client, { task: 'task', delayMs: 5_500 }),
    ]
    await outbox.runOnce()
    const due = await Promise.all(
      ids.map(async ({ jobId }) => (await node.registry.get(1, jobId)).next_run_at),
    )
    expect(due.map((text) => Date.parse(text ?? ''))).toEqual([at.getTime(), now + 5_500])
  })

  test('has the options that were given, and a name of its own without one', async () => {
    const node = await house().node()
    const { outbox } = outboxOf(node)
    const client = await house().session()
    const options = { name: 'receipt 42', maxRetries: 1, timeoutSeconds: 7, priority: 9 }
    const named = await enqueue(client, { task: 'task', ...options })
    const unnamed = await enqueue(client, { task: 'task' })
    await outbox.runOnce()
    expect(await node.registry.get(1, named.jobId)).toMatchObject({
      name: 'receipt 42',
      max_retries: 1,
      timeout_seconds: 7,
      priority: 9,
    })
    expect((await node.registry.get(1, unnamed.jobId)).name).toBe(`task ${unnamed.jobId}`)
  })

  test('with a key is one, also when it comes again after it was done, and is forgotten after a day', async () => {
    const node = await house().node()
    const { outbox } = outboxOf(node)
    const client = await house().session()
    const request = { task: 'task', payload: 1, idempotencyKey: 'order-42' }
    const first = await enqueue(client, request)
    expect(await enqueue(client, request)).toEqual(first)
    await outbox.runOnce()
    expect(await enqueue(client, request)).toEqual(first)
    await outbox.runOnce()
    expect(await rows('jobs')).toHaveLength(1)
    expect(await node.registry.get(1, first.jobId)).toMatchObject({ payload: 1 })
    await outbox.forgetOnce()
    expect(await rows('outbox')).toHaveLength(1)
    await house().clock.advance(86_400_001)
    await outbox.forgetOnce()
    expect(await rows('outbox')).toEqual([])
  })

  test('is made once by two processes, and by one that comes after another died amid it', async () => {
    const node = await house().node()
    let deaths = 0
    const dying = outboxOf(node, {
      create: async (tenant, uuid, input) => {
        await node.registry.createAs(tenant, uuid, input)
        deaths += 1
        throw new Error('died before the request was finished')
      },
    })
    const { outbox } = outboxOf(node)
    const client = await house().session()
    const { jobId } = await enqueue(client, { task: 'task' })
    await expect(dying.outbox.runOnce()).rejects.toThrow('died')
    await Promise.all([outbox.runOnce(), outbox.runOnce()])
    expect(await rows('outbox')).toHaveLength(1)
    await house().clock.advance(30_001)
    await Promise.all([outbox.runOnce(), outbox.runOnce()])
    expect(deaths).toBe(1)
    expect(await rows('outbox')).toEqual([])
    expect(await house().query('SELECT id FROM carillon.jobs')).toEqual([{ id: uuidOf(jobId) }])
  })

  test('whose name is taken is refused, told as an event, and does not hold up others', async () => {
    const node = await house().node()
    await node.register({ name: 'taken', schedule: '@every 1h' })
    const { outbox, refused } = outboxOf(node)
    const client = await house().session()
    await enqueue(client, { task: 'task', name: 'taken' })
    const { jobId } = await enqueue(client, { task: 'task' })
    await outbox.runOnce()
    expect(refused).toMatchObject([
      { kind: 'enqueue_refused', subject: 'task task', detail: { code: 'job_name_taken' } },
    ])
    expect(await rows('outbox')).toMatchObject([{ error: expect.stringContaining('taken') as string }])
    expect(await node.registry.get(1, jobId)).toMatchObject({ job_id: jobId })
  })

  test('that does not fit the schema of its task is refused before the database is asked', async () => {
    const strict = defineTask({
      id: 'strict',
      input: {
        '~standard': {
          version: 1,
          vendor: 'test',
          validate: () => ({ issues: [{ message: 'no', path: ['n'] }] }),
        },
      },
      run: () => 1,
    })
    const client = await house().session()
    await expect(enqueue(client, { task: strict, payload: {} })).rejects.toThrow(InvalidInputError)
    expect(await rows('outbox')).toEqual([])
  })

  test.each([
    [{ task: '' }, /task has to have 1 to 200 characters/],
    [{ task: 't', at: new Date(), delayMs: 1 }, /at or delay, not both/],
    [{ task: 't', priority: 10 }, /options.priority has to be 0 to 9/],
    [{ task: 't', maxRetries: 1.5 }, /options.max_retries has to be 0 to 100/],
    [{ task: 't', name: '' }, /options.name/],
    [{ task: 't', idempotencyKey: '' }, /idempotency_key has to have 1 to 255/],
    [{ task: 't', delayMs: 400 * 86_400_000 }, /a year ahead at most/],
    [{ task: 't', at: new Date('1990-01-01') }, /a year ago at most/],
    [{ task: 't', payload: 'x'.repeat(1_000_001) }, /larger than 1 MB/],
  ])('%# is refused inside the transaction', async (request, message) => {
    const client = await house().session()
    await expect(enqueue(client, request)).rejects.toThrow(message)
  })
})

describe('a trigger in a transaction', () => {
  test('makes a run of the job once it has committed, and none when it is rolled back', async () => {
    const node = await house().node()
    const job = await node.register({ name: 'report', schedule: '@every 1h' })
    const { outbox } = outboxOf(node)
    const client = await house().session()
    await transaction(client, () => enqueue(client, { job: 'report' }), 'ROLLBACK')
    await outbox.runOnce()
    expect(await rows('queue')).toEqual([])
    expect(await transaction(client, () => enqueue(client, { job: 'report' }))).toEqual({ jobId: job.job_id })
    await outbox.runOnce()
    expect(await rows('queue')).toMatchObject([{ origin: 1 }])
    await outbox.runOnce()
    expect(await rows('queue')).toHaveLength(1)
  })

  test('with a key is one run of its job, and the same key of another job is another run', async () => {
    const node = await house().node()
    const { outbox } = outboxOf(node)
    const client = await house().session()
    for (const name of ['a', 'b']) await node.register({ name, schedule: '@every 1h' })
    for (const job of ['a', 'b', 'a', 'b']) await enqueue(client, { job, idempotencyKey: 'order-42' })
    await outbox.runOnce()
    const runs = await house().query(
      'SELECT j.name FROM carillon.queue q JOIN carillon.jobs j USING (job) ORDER BY 1',
    )
    expect(runs).toEqual([{ name: 'a' }, { name: 'b' }])
  })

  test('is one run where its process dies amid it, and where two have it', async () => {
    const node = await house().node()
    await node.register({ name: 'report', schedule: '@every 1h', overlap_policy: 'ALLOW' })
    const { outbox } = outboxOf(node)
    const client = await house().session()
    await enqueue(client, { job: 'report' })
    const slow = outboxOf(node, {
      trigger: async (tenant, uuid, within) => {
        await house().clock.advance(30_001)
        await outbox.runOnce()
        await node.registry.triggerWith(tenant, uuid, within)
      },
    })
    await slow.outbox.runOnce()
    expect(await rows('queue')).toHaveLength(1)
  })

  test('of a job that is gone by then is refused; of one that never was, at once', async () => {
    const node = await house().node()
    const job = await node.register({ name: 'report', schedule: '@every 1h' })
    const { outbox, refused } = outboxOf(node)
    const client = await house().session()
    await enqueue(client, { job: 'report' })
    await node.registry.delete(1, job.job_id)
    await outbox.runOnce()
    expect(refused).toMatchObject([{ subject: job.job_id, detail: { code: 'job_not_found' } }])
    await expect(enqueue(client, { job: 'nobody' })).rejects.toThrow(/no live job named "nobody"/)
  })
})

describe('the role of a caller', () => {
  test('needs no right but to the function, and enqueues for the tenant that it is bound to', async () => {
    const node = await house().node()
    const { outbox } = outboxOf(node)
    const [tenant] = await house().query<{ tenant: number }>(
      `INSERT INTO carillon.tenants (name) VALUES ('acme') RETURNING tenant`,
    )
    const login = `carillon_app_${process.pid}`
    const client = await house().session()
    const said = (text: string) => client.query(text.replaceAll('APP', login))
    await said('CREATE ROLE APP')
    try {
      await said('GRANT USAGE ON SCHEMA carillon TO APP')
      await said('SET SESSION AUTHORIZATION APP')
      await expect(enqueue(client, { task: 'task' })).rejects.toThrow(/permission denied for function/)
      await said('RESET SESSION AUTHORIZATION')
      await said('GRANT EXECUTE ON FUNCTION carillon.enqueue_task TO APP')
      await client.query('INSERT INTO carillon.enqueuers VALUES ($1, $2)', [login, tenant?.tenant])
      await said('SET SESSION AUTHORIZATION APP')
      const { jobId } = await enqueue(client, { task: 'task' })
      await expect(said('SELECT * FROM carillon.outbox')).rejects.toThrow(/permission denied/)
      const aside = client.query('SELECT carillon.put_in_outbox(1, NULL, NULL, $1, 0, NULL)', ['{}'])
      await expect(aside).rejects.toThrow(/permission denied/)
      await outbox.runOnce()
      expect(await node.registry.get(tenant?.tenant ?? 0, jobId)).toMatchObject({ job_id: jobId })
      await expect(node.registry.get(1, jobId)).rejects.toThrow(/no job/)
    } finally {
      await said('RESET SESSION AUTHORIZATION')
      await said('DROP OWNED BY APP')
      await said('DROP ROLE APP')
      await house().query('DELETE FROM carillon.enqueuers')
    }
  })
})
