import { describe, expect, test } from 'vitest'
import { cancelJob } from '../../src/pipeline/register/cancel.js'
import { deleteJob } from '../../src/pipeline/register/delete.js'
import { uuidOf } from '../../src/platform/ids.js'
import { closeAll, lease, leaseOne, resultOf } from '../kit/attempts.js'
import { Gate } from '../kit/gate.js'
import { countOf, ledgerOf, putRuns, queueOf, timerOf } from '../kit/rows.js'
import { succeeded, type TestNode } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'
import { utcText } from '../../src/time/iso-text.js'

const house = useHouse()

async function stage(node: TestNode, afterMs: number): Promise<void> {
  await house().clock.advance(afterMs)
  await node.beat()
  await node.firing.runOnce()
}

test('a staged tick that is not due yet is taken back: it was never owed', async () => {
  const node = await house().node()
  const [job, other] = [
    await node.register({ schedule: '@every 10s' }),
    await node.register({ schedule: '@every 10s' }),
  ]
  await stage(node, 8_500)
  expect(await queueOf(house(), job)).toHaveLength(1)
  await node.registry.delete(1, job.job_id)
  expect(await queueOf(house(), job)).toEqual([])
  expect(await ledgerOf(house(), job)).toEqual([])
  expect(await queueOf(house(), other)).toHaveLength(1)
})

test.each([
  ['that is due', 1],
  ['that waits for a retry', 2],
])('a run %s and that nobody holds ends as cancelled', async (_name, attempt) => {
  const node = await house().node()
  const job = await node.register()
  await putRuns(house(), job, { attempt, availableAt: (await house().now()) + (attempt - 1) * 60_000 })
  const [run] = await queueOf(house(), job)
  await node.registry.delete(1, job.job_id)
  expect(await queueOf(house(), job)).toEqual([])
  expect(await ledgerOf(house(), job)).toMatchObject([
    { due: run?.due, outcome: 'cancelled', final: true, reason: 'deleted', attempt },
  ])
})

test.each(['delete', 'cancel'] as const)(
  'to %s a job while another of its name is created does not make the two wait for each other',
  async (change) => {
    const [node, other] = [await house().node(), await house().node()]
    const job = await node.register({ name: 'same', schedule: '@every 1h' })
    // Whoever creates holds the counter, and looks at the name when whoever deletes is at the job.
    const gate = await house().session()
    await gate.query('BEGIN')
    await gate.query('SELECT * FROM carillon.tenant_jobs WHERE tenant = 1 FOR UPDATE')
    const input = { name: 'same', schedule: '@every 1h', target: { type: 'task', task: 't' } } as const
    const created = other.registry.createMany(1, [input], { atomic: false, onConflict: 'skip' })
    await house().lockWaits(1)
    // Not by way of the registry, which would do it again.
    const name = { tenant: 1, uuid: uuidOf(job.job_id) ?? '' }
    const changed = change === 'delete' ? deleteJob(node.database, name) : cancelJob(node.database, name, {})
    await house().lockWaits(2)
    await gate.query('COMMIT')
    // Whoever comes first: the name is still taken, or free already. Neither is given up as one half of a deadlock.
    const [outcome] = (await created).outcomes
    expect(['skipped', 'created']).toContain(outcome?.status)
    await changed
  },
)

describe('a run that a worker holds', () => {
  test('and has not started is cancelled by the worker before it starts', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 10s' })
    await stage(node, 9_200)
    await node.worker.leaseOnce()
    await node.registry.delete(1, job.job_id)
    expect(await queueOf(house(), job)).toMatchObject([{ cancel_requested: true }])
    const look = node.worker.lookOnce()
    await house().finished(node)
    await look
    await house().clock.advance(5_000)
    expect(node.delivered).toEqual([])
    expect(await queueOf(house(), job)).toEqual([])
    expect(await ledgerOf(house(), job)).toMatchObject([
      { outcome: 'cancelled', final: true, reason: 'cancelled_before_start', started_at: null },
    ])
  })

  test('and that is under way goes on, and its outcome is written', async () => {
    let finish: () => void = () => undefined
    const node = await house().node({
      deliver: () => new Promise((resolve) => (finish = () => resolve(succeeded))),
    })
    const job = await node.register()
    await putRuns(house(), job)
    await node.worker.leaseOnce()
    expect(node.delivered).toHaveLength(1)
    await node.registry.delete(1, job.job_id)
    await node.worker.lookOnce()
    expect(node.worker.inFlight).toBe(1)
    finish()
    await house().finished(node)
    expect(await ledgerOf(house(), job)).toMatchObject([{ outcome: 'success', final: true }])
  })
})

test('after a delete nothing of the job fires, and nothing of it is leased', async () => {
  const node = await house().node()
  const job = await node.register({ schedule: '@every 10s' })
  await stage(node, 10_000)
  await node.registry.delete(1, job.job_id)
  const before = await ledgerOf(house(), job)
  for (let pass = 0; pass < 5; pass++) {
    await stage(node, 10_000)
    expect(await lease(node)).toEqual([])
  }
  expect(await queueOf(house(), job)).toEqual([])
  expect(await ledgerOf(house(), job)).toEqual(before)
  expect(await timerOf(house(), job)).toMatchObject({ due: null, start_at: null })
})

describe('a job that is deleted while the scheduler is late', () => {
  test('has a row for the ticks that were due and that nobody fired', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 10s' })
    const first = Date.parse(job.next_run_at ?? '')
    await house().clock.advance(40_000)
    await node.registry.delete(1, job.job_id)
    expect(await ledgerOf(house(), job)).toMatchObject([
      {
        due: first,
        due_to: first + 30_000,
        ticks: 4,
        outcome: 'skipped',
        final: true,
        reason: 'deleted',
        next_due: first + 40_000,
      },
    ])
  })

  test('has none for a tick that was still ahead', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 10s' })
    await house().clock.advance(9_999)
    await node.registry.delete(1, job.job_id)
    expect(await ledgerOf(house(), job)).toEqual([])
  })

  test('can be deleted although its schedule cannot be read', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 10s' })
    await house().query(
      `UPDATE carillon.jobs SET definition = definition || '{"schedule": "?"}' WHERE job = $1`,
      [job.key],
    )
    await house().clock.advance(25_000)
    await node.registry.delete(1, job.job_id)
    expect(await ledgerOf(house(), job)).toMatchObject([{ ticks: 1, due_to: null, reason: 'deleted' }])
  })
})

test('a delete that waits for a fire in progress takes back what it fired', async () => {
  const node = await house().node()
  const job = await node.register({ schedule: '@every 10s' })
  await house().clock.advance(8_500)
  await node.beat()
  const gate = await Gate.closeBefore(house(), 'INSERT', 'queue')
  const fire = node.firing.runOnce()
  await house().lockWaits(1)
  const gone = node.registry.delete(1, job.job_id)
  await house().lockWaits(2)
  await gate.open()
  await Promise.all([fire, gone])
  expect(await queueOf(house(), job)).toEqual([])
  await house().clock.advance(1_500)
  expect(await lease(node)).toEqual([])
})

test('a fire that has seen the timer before the delete fires nothing after it', async () => {
  const node = await house().node()
  const job = await node.register({ schedule: '@every 10s' })
  await house().clock.advance(10_000)
  await node.beat()
  const keeper = await house().session()
  await keeper.query('BEGIN')
  await keeper.query('SELECT FROM carillon.partitions FOR UPDATE')
  const fire = node.firing.runOnce()
  await house().lockWaits(1)
  await node.registry.delete(1, job.job_id)
  await keeper.query('ROLLBACK')
  await fire
  expect(await queueOf(house(), job)).toEqual([])
})

test('a delete that waits for a lease in progress asks the new holder', async () => {
  const node = await house().node()
  const job = await node.register()
  await putRuns(house(), job)
  const gate = await Gate.closeBefore(house(), 'UPDATE', 'queue')
  const leasing = lease(node)
  await house().lockWaits(1)
  const gone = node.registry.delete(1, job.job_id)
  await house().lockWaits(2)
  await gate.open()
  await gone
  expect(await leasing).toHaveLength(1)
  expect(await queueOf(house(), job)).toMatchObject([
    { holder: node.membership.incarnation, cancel_requested: true },
  ])
  expect(await countOf(house(), 'ledger')).toBe(0)
})

test('a delete that waits for a retry in the making cancels it', async () => {
  const node = await house().node()
  const job = await node.register()
  const run = await leaseOne(house(), node, job)
  const failure = await resultOf(house(), node, run, { outcome: 'failed' })
  const gate = await Gate.closeBefore(house(), 'UPDATE', 'queue')
  const closing = closeAll(house(), node.closer, [failure])
  await house().lockWaits(1)
  const gone = node.registry.delete(1, job.job_id)
  await house().lockWaits(2)
  await gate.open()
  await gone
  expect(await closing).toEqual(['retrying'])
  expect(await queueOf(house(), job)).toEqual([])
  expect((await ledgerOf(house(), job)).map(({ outcome, final }) => [outcome, final])).toEqual([
    ['failed', false],
    ['cancelled', true],
  ])
})

test('a deleted job is not found any more, and its runs still answer', async () => {
  const node = await house().node()
  const job = await node.register()
  const run = await leaseOne(house(), node, job)
  await closeAll(house(), node.closer, [await resultOf(house(), node, run)])
  await node.registry.delete(1, job.job_id)
  await expect(node.registry.get(1, job.job_id)).rejects.toMatchObject({ code: 'job_not_found' })
  await expect(node.registry.delete(1, job.job_id)).rejects.toMatchObject({ code: 'job_not_found' })
  expect((await node.registry.list(1, { limit: 10, cursor: null })).data).toEqual([])
  expect(await node.registry.find(1, job.job_id)).toBe(job.key)
  expect(await node.runs(job)).toMatchObject([{ status: 'success', job_id: job.job_id }])
})

test('a job that has ended can be deleted while its last run is under way', async () => {
  const node = await house().node()
  const job = await node.register({ schedule: utcText((await house().now()) + 1_000) })
  await stage(node, 1_000)
  const [run] = await lease(node)
  if (run === undefined) throw new Error('no run')
  await node.registry.delete(1, job.job_id)
  expect(await closeAll(house(), node.closer, [await resultOf(house(), node, run)])).toEqual(['closed'])
  await expect(node.registry.get(1, job.job_id)).rejects.toMatchObject({ code: 'job_not_found' })
})

test('deletes of one job at once leave one cancelled row', async () => {
  const node = await house().node()
  const job = await node.register()
  await putRuns(house(), job)
  await Promise.allSettled(Array.from({ length: 6 }, () => node.registry.delete(1, job.job_id)))
  expect(await ledgerOf(house(), job)).toHaveLength(1)
  expect(await queueOf(house(), job)).toEqual([])
})
