import { describe, expect, test } from 'vitest'
import { statement } from '../../src/db/statement.js'
import { parkedUntil } from '../../src/pipeline/parked.js'
import { closeAll, lease, leaseOne, resultOf } from '../kit/attempts.js'
import { Gate } from '../kit/gate.js'
import { countOf, ledgerOf, putRuns, queueOf } from '../kit/rows.js'
import type { TestNode } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

const rescue = statement<
  { incarnation: number; remote: boolean; most: number; parked_until: number },
  { rescued: number }
>(new URL('../../src/pipeline/recover/rescue.sql', import.meta.url))

async function end(node: TestNode, state: 'dead' | 'left' = 'dead'): Promise<void> {
  await house().query('UPDATE carillon.incarnations SET state = $2, ended_at = $3 WHERE incarnation = $1', [
    node.membership.incarnation,
    state,
    await house().now(),
  ])
}

async function rescuedAt(node: TestNode): Promise<number | null | undefined> {
  const [row] = await house().query<{ rescued_at: number | null }>(
    'SELECT rescued_at FROM carillon.incarnations WHERE incarnation = $1',
    [node.membership.incarnation],
  )
  return row?.rescued_at
}

test("a live process's runs are never touched, however long it is silent", async () => {
  const [worker, rescuer] = [await house().node(), await house().node()]
  const job = await worker.register()
  await leaseOne(house(), worker, job)
  const before = await queueOf(house(), job)
  await house().clock.advance(3_600_000)
  await rescuer.rescue.runOnce()
  const [answer] = await rescuer.database.run(rescue, {
    incarnation: worker.membership.incarnation,
    remote: false,
    most: 10,
    parked_until: parkedUntil,
  })
  expect(answer?.rescued).toBe(0)
  expect(await queueOf(house(), job)).toEqual(before)
  expect(await countOf(house(), 'ledger')).toBe(0)
})

test('a worker that dies is found, and its run comes back to the others', async () => {
  const [worker, rescuer] = await house().fleet(2)
  if (worker === undefined || rescuer === undefined) throw new Error('no fleet')
  const job = await rescuer.register()
  const lost = await leaseOne(house(), worker, job)
  await worker.crash()
  for (let second = 0; second < 31; second++) {
    await house().clock.advance(1_000)
    await rescuer.beat()
  }
  await rescuer.rescue.runOnce()
  const again = await lease(rescuer)
  expect(again).toMatchObject([{ due: lost.due, attempt: 2, holder: rescuer.membership.incarnation }])
  expect(again[0]?.token).toBeGreaterThan(lost.token)
})

describe.each(['dead', 'left'] as const)('of a process that is %s', (state) => {
  test('a run that had begun comes back as the next attempt, with a ledger row for the lost one', async () => {
    const [worker, rescuer] = [await house().node(), await house().node()]
    const job = await worker.register({ schedule: '@every 10s' })
    await house().clock.advance(10_000)
    await worker.beat()
    await rescuer.beat()
    for (const node of [worker, rescuer]) await node.firing.runOnce()
    const [run] = await lease(worker)
    const [held] = await queueOf(house(), job)
    await end(worker, state)
    await rescuer.rescue.runOnce()
    expect(await queueOf(house(), job)).toEqual([
      {
        ...held,
        holder: null,
        token: null,
        leased_at: null,
        attempt: 2,
        last_error: 'the worker that ran it is gone',
      },
    ])
    expect(held?.slot).toBe(0)
    expect(await ledgerOf(house(), job)).toMatchObject([
      {
        due: run?.due,
        attempt: 1,
        outcome: 'failed',
        final: false,
        reason: 'worker_lost',
        token: run?.token,
        worker: worker.membership.incarnation,
      },
    ])
    expect(await rescuedAt(worker)).toBe(await house().now())
  })

  test('a run whose time had not come is only given back', async () => {
    const [worker, rescuer] = [await house().node(), await house().node()]
    const job = await worker.register()
    const availableAt = (await house().now()) + 900
    await leaseOne(house(), worker, job, { availableAt })
    await end(worker, state)
    await rescuer.rescue.runOnce()
    expect(await queueOf(house(), job)).toMatchObject([
      { holder: null, attempt: 1, available_at: availableAt },
    ])
    expect(await countOf(house(), 'ledger')).toBe(0)
  })
})

test('a run that has no attempt left becomes a dead letter', async () => {
  const [worker, rescuer] = [await house().node(), await house().node()]
  const job = await worker.register()
  await leaseOne(house(), worker, job, { attempt: 9 })
  await end(worker)
  await rescuer.rescue.runOnce()
  expect(await queueOf(house(), job)).toEqual([])
  expect(await ledgerOf(house(), job)).toMatchObject([
    { outcome: 'dead', final: true, attempt: 9, reason: 'worker_lost' },
  ])
  const letters = await house().query('SELECT * FROM carillon.dead_letters WHERE job = $1', [job.key])
  expect(letters).toMatchObject([{ attempts: 9, reason: 'worker_lost' }])
})

test('a last attempt whose time had not come is given back, not buried', async () => {
  const [worker, rescuer] = [await house().node(), await house().node()]
  const job = await worker.register()
  await leaseOne(house(), worker, job, { attempt: 9, availableAt: (await house().now()) + 900 })
  await end(worker)
  await rescuer.rescue.runOnce()
  expect(await queueOf(house(), job)).toMatchObject([{ attempt: 9, holder: null }])
  expect(await countOf(house(), 'dead_letters')).toBe(0)
})

describe('the late result of a dead worker', () => {
  test('is kept as stale while the run waits for its next attempt', async () => {
    const [worker, rescuer] = [await house().node(), await house().node()]
    const job = await worker.register()
    const late = await resultOf(house(), worker, await leaseOne(house(), worker, job))
    await end(worker)
    await rescuer.rescue.runOnce()
    const before = await queueOf(house(), job)
    expect(await closeAll(house(), worker.closer, [late])).toEqual(['stale'])
    expect(await queueOf(house(), job)).toEqual(before)
    expect(
      (await ledgerOf(house(), job)).map(({ outcome, reason, result }) => [outcome, reason, result]),
    ).toEqual(
      expect.arrayContaining([
        ['failed', 'worker_lost', null],
        ['stale', 'lease_lost', { ok: true }],
      ]),
    )
    expect(await closeAll(house(), worker.closer, [late])).toEqual(['already'])
    expect(await ledgerOf(house(), job)).toHaveLength(2)
  })

  test('is kept as stale after the run became a dead letter', async () => {
    const [worker, rescuer] = [await house().node(), await house().node()]
    const job = await worker.register()
    const late = await resultOf(house(), worker, await leaseOne(house(), worker, job, { attempt: 9 }))
    await end(worker)
    await rescuer.rescue.runOnce()
    expect(await closeAll(house(), worker.closer, [late])).toEqual(['stale'])
    expect((await ledgerOf(house(), job)).filter(({ final }) => final)).toMatchObject([{ outcome: 'dead' }])
  })

  test('that comes before the rescue still counts', async () => {
    const [worker, rescuer] = [await house().node(), await house().node()]
    const job = await worker.register()
    const late = await resultOf(house(), worker, await leaseOne(house(), worker, job))
    await end(worker)
    expect(await closeAll(house(), worker.closer, [late])).toEqual(['closed'])
    await rescuer.rescue.runOnce()
    expect(await ledgerOf(house(), job)).toMatchObject([{ outcome: 'success', final: true }])
  })
})

test('rescuers at once take each run back once', async () => {
  const [worker, ...rescuers] = await house().fleet(3)
  if (worker === undefined) throw new Error('no fleet')
  const jobs = await Promise.all(Array.from({ length: 4 }, () => worker.register()))
  for (const job of jobs) await putRuns(house(), job, { count: 50 })
  expect(await lease(worker, 500)).toHaveLength(200)
  await end(worker)
  await Promise.all([...rescuers, ...rescuers, ...rescuers].map(({ rescue }) => rescue.runOnce()))
  for (const job of jobs) {
    const runs = await queueOf(house(), job)
    expect(runs.map(({ attempt, holder }) => [attempt, holder])).toEqual(Array(50).fill([2, null]))
    expect(await ledgerOf(house(), job)).toHaveLength(50)
  }
})

test('a close in progress wins over the rescue, and the process is looked at again', async () => {
  const [worker, rescuer] = [await house().node(), await house().node()]
  const jobs = [await worker.register(), await worker.register()] as const
  for (const job of jobs) await putRuns(house(), job)
  const runs = await lease(worker)
  const closing = runs.find(({ job }) => job === jobs[0].key)
  if (closing === undefined) throw new Error('no run')
  const gate = await Gate.closeBefore(house(), 'DELETE', 'queue')
  const closed = closeAll(house(), worker.closer, [await resultOf(house(), worker, closing)])
  await house().lockWaits(1)
  await end(worker)
  await rescuer.rescue.runOnce()
  expect(await rescuedAt(worker)).toBeNull()
  await gate.open()
  expect(await closed).toEqual(['closed'])
  await rescuer.rescue.runOnce()
  expect(await rescuedAt(worker)).toBe(await house().now())
  expect(await ledgerOf(house(), jobs[0])).toMatchObject([{ outcome: 'success', final: true }])
  expect(await ledgerOf(house(), jobs[1])).toMatchObject([{ reason: 'worker_lost', final: false }])
})

describe('a run that somebody asked to cancel', () => {
  test('and whose time had not come ends as cancelled with its dead worker', async () => {
    const [worker, rescuer] = [await house().node(), await house().node()]
    const job = await worker.register()
    await leaseOne(house(), worker, job, { availableAt: (await house().now()) + 900 })
    await worker.registry.delete(1, job.job_id)
    await end(worker)
    await rescuer.rescue.runOnce()
    expect(await lease(rescuer)).toEqual([])
    expect(await queueOf(house(), job)).toEqual([])
    expect(await ledgerOf(house(), job)).toMatchObject([
      { outcome: 'cancelled', final: true, reason: 'cancel_requested', attempt: 1 },
    ])
    expect(await countOf(house(), 'dead_letters')).toBe(0)
  })

  test('and that had begun is not tried again', async () => {
    const [worker, rescuer] = [await house().node(), await house().node()]
    const job = await worker.register()
    await leaseOne(house(), worker, job)
    await worker.registry.delete(1, job.job_id)
    await end(worker)
    await rescuer.rescue.runOnce()
    expect(await queueOf(house(), job)).toEqual([])
    expect(await ledgerOf(house(), job)).toMatchObject([
      { outcome: 'failed', final: true, reason: 'worker_lost', attempt: 1 },
    ])
  })

  test('cannot be stored without a holder who would end it', async () => {
    const node = await house().node()
    await putRuns(house(), await node.register())
    const asked = house().query('UPDATE carillon.queue SET cancel_requested = true')
    await expect(asked).rejects.toMatchObject({ code: '23514' })
  })
})

describe('a job that must never run twice', () => {
  test('has its begun run recorded, not run again, when the worker is gone', async () => {
    const [worker, rescuer] = [await house().node(), await house().node()]
    const job = await worker.register({ on_lost: 'fail', max_retries: 5 })
    await leaseOne(house(), worker, job)
    await end(worker)
    await rescuer.rescue.runOnce()
    expect(await queueOf(house(), job)).toEqual([])
    expect(await ledgerOf(house(), job)).toMatchObject([
      { outcome: 'dead', reason: 'worker_lost', final: true },
    ])
    expect(await countOf(house(), 'dead_letters')).toBe(1)
  })

  test('keeps a run that had not begun', async () => {
    const [worker, rescuer] = [await house().node(), await house().node()]
    const job = await worker.register({ on_lost: 'fail' })
    await leaseOne(house(), worker, job, { availableAt: (await house().now()) + 900 })
    await end(worker)
    await rescuer.rescue.runOnce()
    expect(await queueOf(house(), job)).toMatchObject([{ holder: null, attempt: 1 }])
  })

  test('is judged by the version that the run was fired with', async () => {
    const [worker, rescuer] = [await house().node(), await house().node()]
    const job = await worker.register({ on_lost: 'fail', schedule: '@every 1h' })
    await leaseOne(house(), worker, job)
    await worker.registry.edit(1, job.job_id, { on_lost: 'retry' })
    await end(worker)
    await rescuer.rescue.runOnce()
    expect(await ledgerOf(house(), job)).toMatchObject([{ outcome: 'dead', reason: 'worker_lost' }])
  })
})
