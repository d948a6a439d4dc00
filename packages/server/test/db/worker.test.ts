import { describe, expect, test } from 'vitest'
import type { Delivered } from '../../src/pipeline/execute/worker.js'
import { ledgerOf, putRuns, queueOf } from '../kit/rows.js'
import { failed, type NodeOptions, succeeded, type TestNode } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

/** Deliveries that end when the test says so. */
function slowly() {
  const open: { finish: (delivered?: Delivered) => void; signal: AbortSignal }[] = []
  const deliver: NodeOptions['deliver'] = (_run, _definition, { signal }) =>
    new Promise((resolve) => open.push({ signal, finish: (delivered = succeeded) => resolve(delivered) }))
  return { open, deliver }
}

/** A run that starts so many milliseconds from now, leased by the node's worker. */
async function leaseAhead(node: TestNode, ms: number) {
  const job = await node.register({ schedule: '@every 1h' })
  await putRuns(house(), job, { availableAt: (await house().now()) + ms })
  await node.worker.leaseOnce()
  expect(node.worker.inFlight).toBe(1)
  return job
}

describe('a leased run starts', () => {
  test('at its instant and not before', async () => {
    const node = await house().node()
    await leaseAhead(node, 800)
    await house().clock.advance(799)
    expect(node.delivered).toEqual([])
    await house().clock.advance(1)
    expect(node.delivered).toHaveLength(1)
    await house().finished(node)
  })

  test("not before the database's clock has reached its instant, when that clock steps back", async () => {
    const node = await house().node()
    const job = await leaseAhead(node, 800)
    await house().clock.stepDatabase(-600)
    await node.membership.heartbeat()
    expect(node.steps).toEqual([expect.any(Number)])
    await house().clock.advance(1_399)
    expect(node.delivered).toEqual([])
    await node.worker.lookOnce()
    await house().clock.advance(1)
    expect(node.delivered).toHaveLength(1)
    await house().finished(node)
    const [row] = await ledgerOf(house(), job)
    expect(row?.started_at).toBeGreaterThanOrEqual(row?.available_at ?? Number.POSITIVE_INFINITY)
  })

  test('beside one that cannot even be delivered, which fails', async () => {
    const node = await house().node({
      between: (ports) => ({
        deliver(run, ...rest) {
          if (run.job === broken.key) throw new TypeError('There is no target.')
          return ports.deliver(run, ...rest)
        },
      }),
    })
    const broken = await node.register({ schedule: '@every 1h', max_retries: 0 })
    const whole = await node.register({ schedule: '@every 1h' })
    for (const job of [broken, whole]) await putRuns(house(), job)
    await house().query('UPDATE carillon.queue SET max_attempts = 1')
    await node.worker.leaseOnce()
    await house().finished(node)
    expect(await ledgerOf(house(), broken)).toMatchObject([{ outcome: 'dead', reason: 'internal_error' }])
    expect(await ledgerOf(house(), whole)).toMatchObject([{ outcome: 'success' }])
  })

  test('never without a look for revocations that is younger than a second', async () => {
    let away = true
    const node = await house().node({
      leaseAheadMs: 5_000,
      between: (ports) => ({
        revoked: (holder) =>
          away ? Promise.reject(new Error('the database is away')) : ports.revoked(holder),
      }),
    })
    await leaseAhead(node, 4_000)
    await house().clock.advance(4_000)
    for (let look = 0; look < 20; look++) await house().clock.advance(100)
    expect(node.delivered).toEqual([])
    expect(node.worker.inFlight).toBe(1)
    away = false
    await house().during(expect.poll(() => node.delivered.length).toBe(1))
    await house().finished(node)
  })

  test('not at all when the late look finds it revoked', async () => {
    const node = await house().node({ leaseAheadMs: 5_000 })
    const job = await leaseAhead(node, 4_000)
    await house().clock.advance(1_000)
    await node.registry.delete(1, job.job_id)
    await house().clock.advance(3_000)
    await house().finished(node)
    expect(node.delivered).toEqual([])
    expect(await queueOf(house(), job)).toEqual([])
    expect(await ledgerOf(house(), job)).toMatchObject([
      { outcome: 'cancelled', final: true, reason: 'cancelled_before_start', started_at: null },
    ])
  })

  test('with the others of its instant, although one of them was revoked', async () => {
    const node = await house().node({ leaseAheadMs: 5_000 })
    const [kept, deleted] = [await node.register(), await node.register()]
    const availableAt = (await house().now()) + 4_000
    for (const job of [kept, deleted]) await putRuns(house(), job, { availableAt })
    await node.worker.leaseOnce()
    await node.registry.delete(1, deleted.job_id)
    await house().clock.advance(4_000)
    await house().finished(node)
    expect(node.delivered.map(({ job }) => job)).toEqual([kept.key])
  })
})

test('a worker never holds more runs than it has room for', async () => {
  const { open, deliver } = slowly()
  const node = await house().node({ concurrency: 3, deliver })
  await putRuns(house(), await node.register(), { count: 10 })
  expect(await node.worker.leaseOnce()).toBe(true)
  expect(await node.worker.leaseOnce()).toBe(false)
  expect(open).toHaveLength(3)
  expect(await house().query('SELECT FROM carillon.queue WHERE holder IS NOT NULL')).toHaveLength(3)
  open[0]?.finish()
  await house().finished(node, 2)
  expect(await node.worker.leaseOnce()).toBe(true)
  expect(open).toHaveLength(4)
  for (const { finish } of open) finish()
  await house().finished(node)
})

describe('a worker that stops', () => {
  test('hands back what has not started, at the same attempt, and leases nothing more', async () => {
    const { open, deliver } = slowly()
    const node = await house().node({ deliver })
    const [running, ahead] = [await node.register(), await node.register()]
    await putRuns(house(), running)
    await putRuns(house(), ahead, { availableAt: (await house().now()) + 500 })
    await node.worker.leaseOnce()
    expect(open).toHaveLength(1)
    await node.worker.handBack()
    expect(await queueOf(house(), ahead)).toMatchObject([{ holder: null, attempt: 1 }])
    expect(await queueOf(house(), running)).toMatchObject([{ holder: node.membership.incarnation }])
    await house().clock.advance(1_000)
    expect(await node.worker.leaseOnce()).toBe(false)
    expect(node.delivered).toHaveLength(1)
    open[0]?.finish()
    await house().finished(node)
    expect(await ledgerOf(house(), ahead)).toEqual([])
    expect(await ledgerOf(house(), running)).toMatchObject([{ outcome: 'success', final: true }])
  })

  test('hands back also what waits for a look that fails', async () => {
    const node = await house().node({
      leaseAheadMs: 5_000,
      between: () => ({ revoked: () => Promise.reject(new Error('the database is away')) }),
    })
    const job = await leaseAhead(node, 2_000)
    await house().clock.advance(2_050)
    await node.worker.handBack()
    expect(node.worker.inFlight).toBe(0)
    expect(await queueOf(house(), job)).toMatchObject([{ holder: null, attempt: 1 }])
    await house().clock.advance(1_000)
    expect(node.delivered).toEqual([])
  })

  test('ends a run that it was asked to cancel instead of handing it to somebody who would start it', async () => {
    const [node, other] = [await house().node(), await house().node()]
    const job = await leaseAhead(node, 900)
    await node.registry.delete(1, job.job_id)
    await node.worker.handBack()
    await house().clock.advance(900)
    await other.worker.leaseOnce()
    expect(other.delivered).toEqual([])
    expect(await queueOf(house(), job)).toEqual([])
    expect(await ledgerOf(house(), job)).toMatchObject([
      { outcome: 'cancelled', final: true, reason: 'cancel_requested' },
    ])
  })

  test('waits for what is under way, then stops it without using up its attempt', async () => {
    const { open, deliver } = slowly()
    const node = await house().node({ deliver })
    const [quick, endless] = [await node.register(), await node.register()]
    for (const job of [quick, endless]) await putRuns(house(), job)
    await node.worker.leaseOnce()
    const byJob = new Map(node.delivered.map(({ job }, at) => [job, open[at]]))
    const stubborn = byJob.get(endless.key)
    stubborn?.signal.addEventListener('abort', () => stubborn.finish({ ...failed, reason: 'worker_stopped' }))
    const drained = node.worker.drain(1_000)
    await house().clock.advance(500)
    expect(stubborn?.signal.aborted).toBe(false)
    byJob.get(quick.key)?.finish()
    expect(await house().during(drained)).toEqual({ aborted: 1 })
    expect(await ledgerOf(house(), quick)).toMatchObject([{ outcome: 'success' }])
    expect(await queueOf(house(), endless)).toMatchObject([{ holder: null, attempt: 1 }])
    expect(await ledgerOf(house(), endless)).toEqual([])
  })

  test('comes to an end although the database takes no result', async () => {
    const node = await house().node({
      between: () => ({
        close: () => new Promise(() => undefined),
        drained: () => new Promise(() => undefined),
      }),
    })
    await putRuns(house(), await node.register())
    await node.worker.leaseOnce()
    await house().clock.advance(0)
    expect(await house().during(node.worker.drain(1_000), 100)).toEqual({ aborted: 1 })
  })
})

test('a hand-back from an earlier lease does not touch the present one', async () => {
  const node = await house().node()
  const job = await node.register()
  await putRuns(house(), job)
  const { incarnation } = node.membership
  const old = await node.leasing.lease(incarnation, 1)
  await node.leasing.handBack(incarnation, old)
  await node.leasing.lease(incarnation, 1)
  const before = await queueOf(house(), job)
  await node.leasing.handBack(incarnation, old)
  expect(await queueOf(house(), job)).toEqual(before)
  await node.leasing.handBack(incarnation + 1, await node.leasing.held(incarnation))
  expect(await queueOf(house(), job)).toEqual(before)
})

describe('an answer that is lost', () => {
  test('of a lease is made good: its runs are found, handed back and run once', async () => {
    let lost = 0
    const node = await house().node({
      between: (ports) => ({
        lease: async (holder, most) => {
          const runs = await ports.lease(holder, most)
          if (lost++ === 0) throw new Error('connection lost')
          return runs
        },
      }),
    })
    const job = await node.register()
    await putRuns(house(), job, { count: 5 })
    await expect(node.worker.leaseOnce()).rejects.toThrow('connection lost')
    expect((await queueOf(house(), job)).every(({ holder }) => holder === node.membership.incarnation)).toBe(
      true,
    )
    await node.worker.leaseOnce()
    await house().finished(node)
    expect(node.delivered).toHaveLength(5)
    expect((await ledgerOf(house(), job)).map(({ attempt, outcome }) => [attempt, outcome])).toEqual(
      Array(5).fill([1, 'success']),
    )
  })

  test('does not take runs under way from the worker when it is made good', async () => {
    const { open, deliver } = slowly()
    let lost = false
    const node = await house().node({
      deliver,
      between: (ports) => ({
        lease: async (holder, most) => {
          const runs = await ports.lease(holder, most)
          if (lost) throw new Error('connection lost')
          return runs
        },
      }),
    })
    const [running, unknown] = [await node.register(), await node.register()]
    await putRuns(house(), running)
    await node.worker.leaseOnce()
    const [held] = await queueOf(house(), running)
    await putRuns(house(), unknown)
    lost = true
    await expect(node.worker.leaseOnce()).rejects.toThrow('connection lost')
    lost = false
    await node.worker.leaseOnce()
    expect(await queueOf(house(), running)).toEqual([held])
    expect(open).toHaveLength(2)
    for (const { finish } of open) finish()
    await house().finished(node)
  })

  test('of the definitions costs no attempt: the runs are handed back and leased again', async () => {
    let lost = 0
    const node = await house().node({
      between: (ports) => ({
        definitions: (wanted) =>
          lost++ === 0 ? Promise.reject(new Error('connection lost')) : ports.definitions(wanted),
      }),
    })
    const job = await node.register()
    await putRuns(house(), job, { count: 2 })
    await expect(node.worker.leaseOnce()).rejects.toThrow('connection lost')
    expect(node.worker.inFlight).toBe(0)
    await node.worker.leaseOnce()
    await house().finished(node)
    expect((await ledgerOf(house(), job)).map(({ attempt, outcome }) => [attempt, outcome])).toEqual(
      Array(2).fill([1, 'success']),
    )
  })
})

describe('a worker that was declared dead', () => {
  test('starts nothing that waits, and tells what runs to stop', async () => {
    const { open, deliver } = slowly()
    const node = await house().node({ deliver })
    await putRuns(house(), await node.register())
    await putRuns(house(), await node.register(), { availableAt: (await house().now()) + 500 })
    await node.worker.leaseOnce()
    node.worker.abandon()
    expect(open[0]?.signal.aborted).toBe(true)
    await house().clock.advance(1_000)
    expect(node.delivered).toHaveLength(1)
    expect(node.worker.inFlight).toBe(0)
  })

  test('starts nothing of a lease whose answer comes afterwards', async () => {
    let answer: () => void = () => undefined
    const node = await house().node({
      between: (ports) => ({
        lease: async (holder, most) => {
          const runs = await ports.lease(holder, most)
          await new Promise<void>((resolve) => (answer = resolve))
          return runs
        },
      }),
    })
    const job = await node.register()
    await putRuns(house(), job)
    const leasing = node.worker.leaseOnce()
    await expect.poll(async () => (await queueOf(house(), job))[0]?.holder).toBe(node.membership.incarnation)
    node.worker.abandon()
    answer()
    await leasing
    await house().clock.advance(1_000)
    expect(node.delivered).toEqual([])
    expect(node.worker.inFlight).toBe(0)
  })

  test('learns it by its next life sign, comes back under a new id, and its late result is stale', async () => {
    const { open, deliver } = slowly()
    const [node, peer] = [await house().node({ deliver }), await house().node()]
    const job = await node.register()
    await putRuns(house(), job)
    await node.worker.leaseOnce()
    const before = node.membership.incarnation
    await house().query(
      "UPDATE carillon.incarnations SET state = 'dead', ended_at = 1 WHERE incarnation = $1",
      [before],
    )
    await peer.rescue.runOnce()
    await node.membership.heartbeat()
    expect(node.membership.incarnation).not.toBe(before)
    open[0]?.finish()
    await expect
      .poll(async () => {
        await house().clock.advance(1)
        return (await ledgerOf(house(), job)).map(({ outcome }) => outcome)
      })
      .toEqual(expect.arrayContaining(['stale']))
    expect(await queueOf(house(), job)).toMatchObject([{ attempt: 2, holder: null }])
  })
})

test('a run whose definition is gone is a dead letter, not a crash', async () => {
  const node = await house().node({ between: () => ({ definitions: () => Promise.resolve(new Map()) }) })
  const job = await node.register()
  await putRuns(house(), job)
  await node.worker.leaseOnce()
  await house().finished(node)
  expect(await ledgerOf(house(), job)).toMatchObject([
    { outcome: 'dead', reason: 'definition_missing', final: true },
  ])
})

test('a delivery that breaks is a failed attempt that is tried again', async () => {
  const node = await house().node({ deliver: () => Promise.reject(new Error('a bug of ours')) })
  const job = await node.register()
  await putRuns(house(), job)
  await node.worker.leaseOnce()
  await house().finished(node)
  expect(await queueOf(house(), job)).toMatchObject([{ attempt: 2, holder: null }])
  const [row] = await ledgerOf(house(), job)
  expect(row).toMatchObject({ outcome: 'failed', final: false, reason: 'internal_error' })
  expect(row?.error).toContain('a bug of ours')
})
