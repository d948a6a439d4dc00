import type pg from 'pg'
import { expect, test } from 'vitest'
import type { Database } from '../../src/db/pool.js'
import { type Statement, valuesOf } from '../../src/db/statement.js'
import { Leasing } from '../../src/pipeline/queue/leasing.js'
import type { LeasedRun } from '../../src/pipeline/run.js'
import { putRuns } from '../kit/rows.js'
import type { TestNode } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

/** The statements of one pass, with their parameters: the look for lanes, and the lease. */
type Pass = [Statement<never, object>, object][]

/** A worker's leasing on a database where every statement takes 50 ms: looks from the bottom are dear, and 2 s apart. */
function dearLeasing(node: TestNode) {
  let last: Pass = []
  const slow = {
    run: async (statement: Statement<never, object>, params: object) => {
      last.push([statement, params])
      const rows = await node.database.run(statement, params as never)
      await house().clock.advance(50)
      return rows
    },
  }
  const leasing = new Leasing({
    clock: house().clock,
    database: slow as unknown as Database,
    databaseClock: node.databaseClock,
    tasks: ['task'],
    aheadMs: 1_000,
  })
  return {
    leasing,
    lease(most = 100): Promise<LeasedRun[]> {
      last = []
      return leasing.lease(node.membership.incarnation, most)
    },
    pass: () => last,
  }
}

/** Buffers that such a pass touches; what it leases is given back. */
async function buffersOf(session: pg.Client, pass: Pass): Promise<number> {
  let buffers = 0
  for (const [statement, params] of pass) {
    await session.query('BEGIN')
    const answer = await session.query<{ 'QUERY PLAN': { Plan: Record<string, number> }[] }>(
      ['EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON)', statement.text].join(' '),
      valuesOf(statement, params),
    )
    await session.query('ROLLBACK')
    const plan = answer.rows[0]?.['QUERY PLAN'][0]?.Plan ?? {}
    buffers += (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0)
  }
  return buffers
}

test('while an old transaction is open, a pass does not read the entries of runs that are gone', async () => {
  const node = await house().node()
  const job = await node.register()
  const old = await house().session()
  await old.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
  await old.query('SELECT count(*) FROM carillon.jobs')
  const longAgo = (await house().now()) - 60_000
  // Neighbours in the index are far apart in the table, as in a queue that has been in use for long.
  await house().query(
    `INSERT INTO carillon.queue (due, job, tenant, route, version, epoch, max_attempts, available_at, fired_at, partition)
     SELECT $2::bigint + n, job, tenant, route, version, 1, 1, $2::bigint + n * 7919 % 20000, 1, partition
     FROM carillon.jobs, generate_series(1, 20000) n WHERE job = $1`,
    [job.key, longAgo],
  )
  await house().query('DELETE FROM carillon.queue WHERE job = $1', [job.key])
  await putRuns(house(), job, { count: 5 })

  const worker = dearLeasing(node)
  expect(await worker.lease(1)).toHaveLength(1)
  const full = worker.pass()
  expect(await worker.lease(1)).toHaveLength(1)
  const quick = worker.pass()
  const session = await house().session()
  const [fullBuffers, quickBuffers] = [await buffersOf(session, full), await buffersOf(session, quick)]
  expect(fullBuffers).toBeGreaterThan(10_000)
  expect(quickBuffers).toBeLessThan(fullBuffers / 20)
})

test('a pass does not look again at the many that wait for a place', async () => {
  const node = await house().node()
  const job = await node.register()
  const longAgo = (await house().now()) - 60_000
  await putRuns(house(), job, { count: 5_000, availableAt: longAgo, needPlace: true, attempt: 2 })
  const worker = dearLeasing(node)
  expect(await worker.lease()).toHaveLength(1)
  const full = worker.pass()
  // Two more passes: one finds that none of those it saw has a place any more, and the next begins above them.
  for (let pass = 0; pass < 2; pass++) expect(await worker.lease()).toEqual([])
  const session = await house().session()
  const quickBuffers = await buffersOf(session, worker.pass())
  expect(quickBuffers).toBeLessThan((await buffersOf(session, full)) / 10)
})

test('a backlog is leased to its end by passes that begin where the last one was', async () => {
  const node = await house().node()
  const job = await node.register()
  const longAgo = (await house().now()) - 60_000
  for (let at = 0; at < 10; at++) {
    await putRuns(house(), job, { count: 20, availableAt: longAgo + at * 1_000 })
    await house().clock.advance(100)
  }
  const worker = dearLeasing(node)
  const leased: number[] = []
  for (let pass = 0; pass < 15; pass++) leased.push((await worker.lease(15)).length)
  expect(leased.reduce((sum, count) => sum + count, 0)).toBe(200)
})

test('a run that comes a little late is found by the next pass, one that comes far too late within two seconds', async () => {
  const node = await house().node()
  const job = await node.register()
  const worker = dearLeasing(node)
  await worker.lease()
  await putRuns(house(), job, { availableAt: (await house().now()) - 4_000 })
  expect(await worker.lease()).toHaveLength(1)
  await putRuns(house(), job, { availableAt: (await house().now()) - 60_000 })
  expect(await worker.lease()).toEqual([])
  await house().clock.advance(2_000)
  expect(await worker.lease()).toHaveLength(1)
})

test('a run that waits goes at once when the worker closed the one in its place', async () => {
  const node = await house().node()
  const job = await node.register()
  const longAgo = (await house().now()) - 60_000
  await putRuns(house(), job, { count: 3, availableAt: longAgo, needPlace: true, attempt: 2 })
  const worker = dearLeasing(node)
  const [first] = await worker.lease()
  expect(await worker.lease()).toEqual([])
  await house().query('DELETE FROM carillon.queue WHERE token = $1', [first?.token])
  expect(await worker.lease()).toEqual([])
  worker.leasing.freed(job.key)
  expect(await worker.lease()).toHaveLength(1)
})

test('runs that came back are found at once when the worker is told to look everywhere', async () => {
  const node = await house().node()
  const job = await node.register()
  const worker = dearLeasing(node)
  await worker.lease()
  await putRuns(house(), job, { availableAt: (await house().now()) - 60_000 })
  expect(await worker.lease()).toEqual([])
  worker.leasing.lookFully()
  expect(await worker.lease()).toHaveLength(1)
})

test('after the clock of the database went back, what is due is found', async () => {
  const node = await house().node()
  const job = await node.register()
  const worker = dearLeasing(node)
  await worker.lease()
  await worker.lease()
  await house().clock.stepDatabase(-60_000)
  await putRuns(house(), job)
  await worker.lease()
  const [row] = await house().query<{ held: number }>(
    'SELECT count(*)::int AS held FROM carillon.queue WHERE holder IS NOT NULL',
  )
  const found = row?.held === 1 ? 1 : (await worker.lease()).length
  await house().clock.stepDatabase(60_000)
  expect(found).toBe(1)
})

test('a lane that its host held back is found where it was left, by the next pass', async () => {
  const node = await house().node()
  const job = await node.register({ target: { type: 'http', url: 'http://a.test/' } })
  await putRuns(house(), job, { count: 5, availableAt: (await house().now()) - 60_000 })
  await node.targets.put(1, 'a.test', { rate_per_second: 2, burst: 1 })
  const worker = dearLeasing(node)
  expect(await worker.lease()).toHaveLength(1)
  expect(await worker.lease()).toEqual([])
  await house().clock.advance(500)
  expect(await worker.lease()).toHaveLength(1)
})
