import { afterAll, beforeAll, expect, test } from 'vitest'
import { TestClock } from '../kit/test-clock.js'
import { createTestDatabase, type TestDatabase } from '../kit/test-database.js'
import { TestNode } from '../kit/test-house.js'
import { until } from '../kit/until.js'

let database: TestDatabase
let clock: TestClock
let node: TestNode

beforeAll(async () => {
  database = await createTestDatabase()
  clock = await TestClock.install(database)
  node = await TestNode.start(database, clock)
})

afterAll(async () => {
  await node.leave()
  await database.close()
})

test('a tick is staged ahead, started at its instant and closed in the ledger', async () => {
  const job = await node.register({ schedule: '@every 10s' })
  await clock.advance(8_500)
  await node.firing.runOnce()
  expect((await node.runs(job)).map(({ status, reason }) => [status, reason])).toEqual([
    ['pending', 'staged'],
  ])

  await clock.advance(600)
  await node.membership.heartbeat()
  await node.worker.leaseOnce()
  await node.worker.lookOnce()
  expect(node.delivered).toHaveLength(0)

  await clock.advance(900)
  await until('its result is on record', () => node.worker.inFlight === 0)
  expect(node.delivered).toHaveLength(1)
  const [run] = await node.runs(job)
  expect(run).toMatchObject({
    status: 'success',
    attempt: 1,
    scheduled_at: job.next_run_at,
    catch_up: false,
  })
  expect(Date.parse(run?.started_at ?? '')).toBeGreaterThanOrEqual(Date.parse(run?.scheduled_at ?? ''))
})
