import { expect, test } from 'vitest'
import { statement } from '../../src/db/statement.js'
import type { LeasedRun } from '../../src/pipeline/run.js'
import { Gate } from '../kit/gate.js'
import { putRuns, queueOf } from '../kit/rows.js'
import type { TestNode } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

const declareDead = statement<
  { incarnation: number; beat: number; expired_before: number | null },
  { incarnation: number }
>(new URL('../../src/cluster/postgres/declare-dead.sql', import.meta.url))
const leave = statement<{ incarnation: number }, { incarnation: number }>(
  new URL('../../src/cluster/postgres/leave.sql', import.meta.url),
)

function lease(node: TestNode, most: number): Promise<LeasedRun[]> {
  return node.leasing.lease(node.membership.incarnation, most)
}

async function beatOf({ membership }: TestNode): Promise<number> {
  const [row] = await house().query<{ beat: number }>(
    'SELECT beat FROM carillon.incarnations WHERE incarnation = $1',
    [membership.incarnation],
  )
  return row?.beat ?? -1
}

test('a worker leases the tasks it serves and http targets, and nothing else', async () => {
  const node = await house().node({ tasks: ['mine', 'also mine'] })
  const jobs = {
    mine: await node.register({ target: { type: 'task', task: 'mine' } }),
    also: await node.register({ target: { type: 'task', task: 'also mine' } }),
    foreign: await node.register({ target: { type: 'task', task: 'foreign' } }),
    http: await node.register({ target: { type: 'http', url: 'http://127.0.0.1:1/' } }),
  }
  for (const job of Object.values(jobs)) await putRuns(house(), job, { count: 3 })
  const keys = (await lease(node, 100)).map(({ job }) => job)
  expect(new Set(keys)).toEqual(new Set([jobs.mine.key, jobs.also.key, jobs.http.key]))
  expect(keys).toHaveLength(9)
  expect((await queueOf(house(), jobs.foreign)).every(({ holder }) => holder === null)).toBe(true)
})

test('a lease is never larger than asked for, also over many routes', async () => {
  const tasks = ['a', 'b', 'c', 'd']
  const node = await house().node({ tasks })
  for (const task of tasks) {
    await putRuns(house(), await node.register({ target: { type: 'task', task } }), { count: 5 })
  }
  expect(await lease(node, 7)).toHaveLength(7)
  const [row] = await house().query<{ held: number }>(
    'SELECT count(*)::int AS held FROM carillon.queue WHERE holder IS NOT NULL',
  )
  expect(row?.held).toBe(7)
  expect(await lease(node, 1)).toHaveLength(1)
  expect(await lease(node, 100)).toHaveLength(12)
  expect(await lease(node, 100)).toEqual([])
})

test('the earliest runs are leased first', async () => {
  const node = await house().node()
  const [late, early] = [await node.register(), await node.register()]
  const now = await house().now()
  await putRuns(house(), late, { count: 5, availableAt: now - 100 })
  await putRuns(house(), early, { count: 5, availableAt: now - 200 })
  expect((await lease(node, 5)).map(({ job }) => job)).toEqual(Array(5).fill(early.key))
})

test('workers that lease at once never share a run, and together take all of them', async () => {
  const workers = await house().fleet(3)
  const [first] = workers
  if (first === undefined) throw new Error('no fleet')
  for (let at = 0; at < 5; at++) await putRuns(house(), await first.register(), { count: 80 })
  const leased: LeasedRun[] = []
  const drain = async (node: TestNode) => {
    for (;;) {
      const runs = await lease(node, 7)
      if (runs.length === 0) return
      leased.push(...runs)
    }
  }
  await Promise.all(workers.flatMap((node) => [drain(node), drain(node), drain(node)]))
  // A pass may find only rows that another one has locked: what is left is there for the next.
  for (const node of workers) await drain(node)
  expect(leased).toHaveLength(400)
  expect(new Set(leased.map(({ due, job }) => `${job}@${due}`)).size).toBe(400)
  expect(new Set(leased.map(({ token }) => token)).size).toBe(400)
})

test('tokens only grow, also for a run that was handed back and leased again', async () => {
  const node = await house().node()
  await putRuns(house(), await node.register(), { count: 3 })
  let highest = 0
  for (let round = 0; round < 5; round++) {
    const runs = await lease(node, 10)
    expect(runs).toHaveLength(3)
    expect(Math.min(...runs.map(({ token }) => token))).toBeGreaterThan(highest)
    highest = Math.max(...runs.map(({ token }) => token))
    await node.leasing.handBack(node.membership.incarnation, runs)
  }
})

test('a run is leased within the time ahead and not before', async () => {
  const node = await house().node()
  await putRuns(house(), await node.register(), { availableAt: (await house().now()) + 5_000 })
  await house().clock.advance(3_999)
  expect(await lease(node, 10)).toEqual([])
  await house().clock.advance(1)
  expect(await lease(node, 10)).toHaveLength(1)
})

test.each(['dead', 'left'])('a process that is %s leases nothing', async (state) => {
  const node = await house().node()
  await putRuns(house(), await node.register())
  await house().query('UPDATE carillon.incarnations SET state = $1, ended_at = 1', [state])
  expect(await lease(node, 10)).toEqual([])
})

test('declaring a process dead waits for its lease in progress', async () => {
  const [worker, peer] = [await house().node(), await house().node()]
  const job = await worker.register()
  await putRuns(house(), job)
  const gate = await Gate.closeBefore(house(), 'UPDATE', 'queue')
  const leasing = lease(worker, 10)
  await house().lockWaits(1)
  const declared = peer.database.run(declareDead, {
    incarnation: worker.membership.incarnation,
    beat: await beatOf(worker),
    expired_before: (await house().now()) + 1,
  })
  await house().lockWaits(2)
  await gate.open()
  expect(await leasing).toHaveLength(1)
  expect(await declared).toHaveLength(1)
  expect(await lease(worker, 10)).toEqual([])
})

test('a good-bye waits for a lease in progress, so that no lease can follow it', async () => {
  const [worker, peer] = [await house().node(), await house().node()]
  const job = await worker.register()
  await putRuns(house(), job)
  const gate = await Gate.closeBefore(house(), 'UPDATE', 'queue')
  const leasing = lease(worker, 10)
  await house().lockWaits(1)
  const left = peer.database.run(leave, { incarnation: worker.membership.incarnation })
  await house().lockWaits(2)
  await gate.open()
  await Promise.all([leasing, left])
  await peer.rescue.runOnce()
  expect((await queueOf(house(), job)).map(({ holder }) => holder)).toEqual([null])
})

test('a heartbeat does not wait for a lease in progress', async () => {
  const node = await house().node()
  await putRuns(house(), await node.register())
  const gate = await Gate.closeBefore(house(), 'UPDATE', 'queue')
  const leasing = lease(node, 10)
  await house().lockWaits(1)
  const before = await beatOf(node)
  await node.membership.heartbeat()
  expect(await beatOf(node)).toBe(before + 1)
  await gate.open()
  await leasing
})

test('a retry without a place waits while another run of its job has the place', async () => {
  const node = await house().node()
  const job = await node.register()
  await putRuns(house(), job, { needPlace: true, attempt: 2 })
  await house().clock.advance(1_000)
  await node.beat()
  await node.firing.runOnce()
  const [fired] = await lease(node, 10)
  expect(fired).toMatchObject({ attempt: 1 })
  expect(await lease(node, 10)).toEqual([])

  await house().query('DELETE FROM carillon.queue WHERE token = $1', [fired?.token])
  expect(await lease(node, 10)).toMatchObject([{ attempt: 2 }])
  expect((await queueOf(house(), job)).map(({ slot }) => slot)).toEqual([0])
})

test('of several retries of one job one is leased at a time, the earliest tick first', async () => {
  const node = await house().node()
  const job = await node.register()
  await putRuns(house(), job, { count: 3, needPlace: true, attempt: 2 })
  const dues = (await queueOf(house(), job)).map(({ due }) => due)
  for (const due of dues) {
    const runs = await lease(node, 10)
    expect(runs.map((run) => run.due)).toEqual([due])
    expect(await lease(node, 10)).toEqual([])
    await house().query('DELETE FROM carillon.queue WHERE token = $1', [runs[0]?.token])
  }
})

/** A fire in progress that has taken the place of a job, and has not committed. */
async function placeTaker() {
  const session = await house().session()
  // In a deadlock the session that looks first is the victim: let it be the lease. Only a superuser may say so.
  await session.query("SET deadlock_timeout = '30s'").catch(() => undefined)
  await session.query('BEGIN')
  return {
    session,
    take: (job: { key: number }) =>
      session.query(
        `INSERT INTO carillon.queue (due, job, tenant, route, version, epoch, slot, places, max_attempts, available_at,
                                     fired_at, partition)
         SELECT 1, job, tenant, route, version, 1, 0, 1, 1, 1, 1, partition FROM carillon.jobs WHERE job = $1`,
        [job.key],
      ),
  }
}

test('a retry that loses the race for the place to a fire is left for later, and no error reaches the worker', async () => {
  const node = await house().node()
  const job = await node.register()
  await putRuns(house(), job, { needPlace: true, attempt: 2 })
  const fire = await placeTaker()
  await fire.take(job)
  const leasing = lease(node, 10)
  await house().lockWaits(1)
  await fire.session.query('COMMIT')
  expect(await leasing).toEqual([])
  expect((await queueOf(house(), job)).map(({ slot, holder }) => [slot, holder])).toEqual([
    [0, null],
    [null, null],
  ])
  expect((await lease(node, 10)).map(({ due }) => due)).toEqual([1])
})

test('a lease that meets a fire crosswise over two places gives way instead of failing', async () => {
  const node = await house().node()
  const [first, second] = [await node.register(), await node.register()]
  const now = await house().now()
  await putRuns(house(), first, { needPlace: true, attempt: 2, availableAt: now - 20 })
  await putRuns(house(), second, { needPlace: true, attempt: 2, availableAt: now - 10 })
  const fire = await placeTaker()
  await fire.take(second)
  const leasing = lease(node, 10)
  await house().lockWaits(1)
  await fire.take(first)
  expect(await leasing).toEqual([])
  await fire.session.query('ROLLBACK')
  expect(await lease(node, 10)).toHaveLength(2)
})
