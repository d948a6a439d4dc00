import { expect, test } from 'vitest'
import { countOf, ledgerOf, queueOf, timerOf } from '../kit/rows.js'
import { heldNow, ownerBelieving } from '../kit/owner.js'
import type { TestNode } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

/** Leases what is due and lets it succeed. */
async function work(node: TestNode): Promise<void> {
  await node.worker.lookOnce()
  await node.worker.leaseOnce()
  await house().finished(node)
}

async function pass(node: TestNode, afterMs: number): Promise<void> {
  await house().clock.advance(afterMs)
  await node.beat()
  await node.firing.runOnce()
}

test('a tick whose place is taken is left alone while it is early', async () => {
  const node = await house().node()
  const job = await node.register({ schedule: '@every 10s' })
  await pass(node, 10_000)
  const waiting = await timerOf(house(), job)
  await pass(node, 8_000)
  await pass(node, 1_999)
  expect(await timerOf(house(), job)).toEqual(waiting)
  expect(await queueOf(house(), job)).toHaveLength(1)
  expect(await countOf(house(), 'ledger')).toBe(0)
})

test('a tick whose place becomes free before its instant is still staged and runs', async () => {
  const node = await house().node()
  const job = await node.register({ schedule: '@every 10s' })
  await pass(node, 10_000)
  const { due } = await timerOf(house(), job)
  await pass(node, 8_500)
  await work(node)
  await pass(node, 500)
  expect((await queueOf(house(), job)).map((run) => run.due)).toEqual([due])
})

test('the owner asks to be woken soon while a place is taken, and at the instant of its tick at the latest', async () => {
  const node = await house().node()
  const woken: number[] = []
  await node.register({ schedule: '@every 10s' })
  await house().clock.advance(10_000)
  await node.beat()
  const { firing } = ownerBelieving(house(), {
    node,
    believes: node.ownership.current(),
    wake: () => woken.push(house().clock.monotonic()),
  })
  const fired = house().clock.monotonic()
  await firing.runOnce()
  await house().clock.advance(8_500)
  woken.length = 0
  await firing.runOnce()
  await house().clock.advance(1_000)
  expect(woken).toEqual([fired + 8_600])
  await house().clock.advance(460)
  woken.length = 0
  await firing.runOnce()
  await house().clock.advance(39)
  expect(woken).toEqual([])
  await house().clock.advance(1)
  expect(woken).toEqual([fired + 10_000])
})

test('a tick is overlap at its instant when its place is held by a run that was fired before', async () => {
  const node = await house().node()
  const job = await node.register({ schedule: '@every 10s' })
  await pass(node, 10_000)
  const [running] = await queueOf(house(), job)
  const overlapped = await timerOf(house(), job)
  await pass(node, 10_000)
  expect(await ledgerOf(house(), job)).toMatchObject([
    {
      due: overlapped.due,
      outcome: 'skipped',
      reason: 'overlap',
      final: true,
      attempt: 0,
      ticks: 1,
      catch_up: false,
      epoch: (await heldNow(house()))[running?.partition ?? -1]?.epoch,
      next_due: (overlapped.due ?? 0) + 10_000,
    },
  ])
  expect(await timerOf(house(), job)).toMatchObject({
    due: (overlapped.due ?? 0) + 10_000,
    accounted_through: overlapped.due,
  })
  expect(await queueOf(house(), job)).toEqual([running])
})

test('where Carillon itself was late, ticks wait for their turn and none is lost', async () => {
  const node = await house().node()
  const job = await node.register({ schedule: '@every 2s' })
  const first = Date.parse(job.next_run_at ?? '')
  // Nobody fired for 11 s: five ticks are late, within the tolerance.
  await pass(node, 11_000)
  for (let look = 0; look < 3; look++) await pass(node, 100)
  expect((await queueOf(house(), job)).map(({ due }) => due)).toEqual([first])
  expect(await countOf(house(), 'ledger')).toBe(0)

  for (let turn = 0; turn < 5; turn++) {
    await work(node)
    await pass(node, 100)
  }
  expect((await ledgerOf(house(), job)).map(({ due, outcome, final }) => [due, outcome, final])).toEqual(
    [0, 1, 2, 3, 4].map((at) => [first + at * 2_000, 'success', true]),
  )
  expect(await timerOf(house(), job)).toMatchObject({
    due: first + 12_000,
    accounted_through: first + 10_000,
  })
})

test('a tick that came before its predecessor was fired, late, is not called overlap', async () => {
  const node = await house().node()
  const job = await node.register({ schedule: '@every 5s' })
  // Fired 5.001 s late: one millisecond after the next tick.
  await pass(node, 10_001)
  const behind = await timerOf(house(), job)
  await pass(node, 1_000)
  expect(await timerOf(house(), job)).toEqual(behind)
  expect(await countOf(house(), 'ledger')).toBe(0)
})

test('the overlap place is a constraint: a second run of the job cannot be stored beside the first', async () => {
  const node = await house().node()
  const job = await node.register({ schedule: '@every 10s' })
  await pass(node, 10_000)
  const second = house().query(
    `INSERT INTO carillon.queue (due, job, tenant, route, version, epoch, slot, places, max_attempts, available_at,
                                 fired_at, partition)
     SELECT due + 1, job, tenant, route, version, epoch, slot, places, max_attempts, available_at, fired_at, partition
     FROM carillon.queue WHERE job = $1`,
    [job.key],
  )
  await expect(second).rejects.toMatchObject({ code: '23505', constraint: 'queue_slot' })
})

test('a place taken by somebody in the middle of the fire is respected', async () => {
  const node = await house().node()
  const job = await node.register({ schedule: '@every 10s' })
  await house().clock.advance(9_000)
  await node.beat()
  const { partition, due } = await timerOf(house(), job)
  const other = await house().session()
  await other.query('BEGIN')
  await other.query(
    `INSERT INTO carillon.queue (due, job, origin, seq, tenant, route, version, epoch, slot, places, max_attempts,
                                 available_at, fired_at, partition)
     SELECT $2, job, 1, 1, tenant, route, version, 0, 0, 1, 1, $2, $2, partition FROM carillon.jobs WHERE job = $1`,
    [job.key, await house().now()],
  )
  const fire = node.firing.runOnce()
  await house().lockWaits(1)
  await other.query('COMMIT')
  await fire
  expect((await queueOf(house(), job)).map((run) => run.due)).toEqual([await house().now()])
  expect(await timerOf(house(), job)).toMatchObject({ partition, due })
})

test('jobs that wait for their place do not starve the others of their partition', async () => {
  const node = await house().node()
  const job = await node.register({ schedule: '@every 1h' })
  const { partition } = await timerOf(house(), job)
  const now = await house().now()
  // 600 jobs of the same partition whose place was taken late: none of their ticks can be decided.
  await house().query(
    `INSERT INTO carillon.jobs (id, tenant, partition, name, definition, one_off, route, effective_from, zone_data)
     SELECT gen_random_uuid(), 1, $2, 'crowd ' || n, definition || '{"schedule": "@every 5s"}', false, route,
            effective_from, zone_data
     FROM carillon.jobs, generate_series(1, 600) n WHERE job = $1`,
    [job.key, partition],
  )
  await house().query(
    `INSERT INTO carillon.timers (job, tenant, due, start_at, accounted_through, partition)
     SELECT job, 1, $1::bigint, $1::bigint, $1::bigint - 1, partition FROM carillon.jobs WHERE name LIKE 'crowd %'`,
    [now + 5_000],
  )
  await house().query(
    `INSERT INTO carillon.queue (due, job, tenant, route, version, epoch, slot, places, max_attempts, available_at,
                                 fired_at, partition)
     SELECT $1::bigint - 1, job, 1, route, 1, 1, 0, 1, 1, $1::bigint, $1::bigint + 60000, partition
     FROM carillon.jobs WHERE name LIKE 'crowd %'`,
    [now + 5_000],
  )
  await house().query('UPDATE carillon.timers SET due = $2, start_at = $2 WHERE job = $1', [
    job.key,
    now + 6_000,
  ])
  await house().clock.advance(6_000)
  await node.beat()
  for (let passes = 1; await node.firing.runOnce(); passes++) expect(passes).toBeLessThan(10)
  expect(await queueOf(house(), job)).toHaveLength(1)
})

test('a deadlock with a lease costs a look, not the pass', async () => {
  const node = await house().node()
  const jobs = await Promise.all([1, 2].map(() => node.register({ schedule: '@every 10s' })))
  await house().clock.advance(10_000)
  await node.beat()
  const run = node.database.run.bind(node.database)
  let deadlocks = 0
  node.database.run = (statement: { name: string }, params: never) => {
    if (!/^fire(-plain)?_/.test(statement.name) || deadlocks > 1) return run(statement as never, params)
    deadlocks += 1
    return Promise.reject(Object.assign(new Error('deadlock detected'), { code: '40P01' }))
  }
  await node.firing.runOnce()
  // Once the short statement, and once the one that it leaves its ticks to.
  expect(deadlocks).toBe(2)
  for (const job of jobs) expect(await queueOf(house(), job)).toEqual([])
  await house().clock.advance(50)
  await node.firing.runOnce()
  for (const job of jobs) expect(await queueOf(house(), job)).toHaveLength(1)
})
