import type { JobInput, Verification } from '@carillon/contract'
import { expect, test } from 'vitest'
import { Account } from '../../src/pipeline/account/account.js'
import { type OutageJob, registerJob, ticksOf, turnOf } from '../kit/outage.js'
import type { TestNode } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'
import { utcText } from '../../src/time/iso-text.js'

const house = useHouse()
/** Leases nothing ahead: what is leased is over at the end of the turn. */
const promptly = { leaseAheadMs: 0, catchUpPerSecond: 10_000 }
const iso = (ms: number) => utcText(ms)
const clean = { unaccounted: 0, doubled: 0, unexpected: 0, wrong_count: 0, not_verifiable: 0, findings: [] }

function account(): Account {
  return new Account({ database: house().database.database, clock: house().clock, lateToleranceMs: 15_000 })
}

async function verify(from: number, jobId?: string): Promise<Verification> {
  const found = await account().verify(null, { from: iso(from), jobId, budgetMs: null })
  const { ran, late, caught_up, skipped, in_flight, paused, pending, unaccounted } = found
  expect(ran + late + caught_up + skipped + in_flight + paused + pending + unaccounted).toBe(found.expected)
  return found
}

/** Lets time pass in steps, and every stage look at each of them. */
async function pass(node: TestNode, ms: number, stepMs: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += stepMs) {
    await house().clock.advance(stepMs)
    await turnOf(house(), node)
  }
}

/** How many ticks the jobs have up to now, by the oracle, which shares no line with the engine. */
function oracleCount(jobs: readonly OutageJob[], now: number): number {
  return jobs.reduce((sum, job) => sum + ticksOf(job, job.registeredAt, now - 1).length, 0)
}

test('before, during and after an outage every tick of every kind of job is accounted for', async () => {
  const node = await house().node(promptly)
  const from = await house().now()
  const inputs: Partial<JobInput>[] = [
    { schedule: '@every 20s', missed_window: 'SKIP' },
    { schedule: '*/30 * * * * *', missed_window: 'RUN_ONCE' },
    { schedule: '* * * * *', timezone: 'Europe/Madrid', missed_window: 'RUN_ALL', max_missed: 3 },
    { schedule: ['@every 45s', '*/2 * * * *'], missed_window: 'RUN_ONCE', misfire_grace_seconds: 0 },
    {
      schedule: { rrule: 'FREQ=MINUTELY;INTERVAL=2', dtstart: '2026-01-01T00:00:00' },
      overlap_policy: 'QUEUE',
    },
    { schedule: '* * * * *', ends_at: iso(from + 200_000), missed_window: 'SKIP' },
  ]
  const jobs: OutageJob[] = []
  for (const input of inputs) jobs.push(await registerJob(house(), node, input))
  await pass(node, 60_000, 10_000)
  expect(await verify(from)).toMatchObject({ jobs: jobs.length, ...clean })

  await house().clock.advance(300_000)
  const during = await verify(from)
  expect(during).toMatchObject(clean)
  expect(during.pending).toBeGreaterThan(20)

  await node.beat()
  await node.firing.runOnce()
  expect(await verify(from)).toMatchObject(clean)

  await pass(node, 30_000, 5_000)
  const after = await verify(from)
  expect(after).toMatchObject(clean)
  expect(after.caught_up).toBeGreaterThan(2)
  expect(after.skipped_by_reason['missed']).toBeGreaterThan(10)
  expect(after.expected).toBe(oracleCount(jobs, await house().now()))
})

test('pause, resume, edit, trigger and delete leave every tick accounted for, each with its reason', async () => {
  const node = await house().node(promptly)
  const from = await house().now()
  const job = await node.register({ schedule: '@every 10s', missed_window: 'SKIP' })
  const other = await node.register({ schedule: '@every 10s', missed_window: 'RUN_ALL' })
  const all = [job, other]
  await pass(node, 60_000, 5_000)

  for (const { job_id } of all) await node.registry.pause(1, job_id, { reason: 'a drill' })
  await pass(node, 60_000, 20_000)
  const paused = await verify(from)
  expect(paused).toMatchObject({ jobs: 2, expected: 22, ...clean })
  expect(paused.paused).toBeGreaterThanOrEqual(10)
  expect(await account().why(1, job.job_id, iso((await house().now()) - 10_000))).toMatchObject({
    verdict: 'paused',
  })

  for (const { job_id } of all) await node.registry.resume(1, job_id)
  await pass(node, 20_000, 2_000)
  const resumed = await verify(from)
  expect(resumed).toMatchObject({ paused: 0, expected: 26, ...clean })
  expect(resumed.skipped_by_reason['paused']).toBeGreaterThanOrEqual(5)
  expect(resumed.caught_up + resumed.in_flight).toBeGreaterThanOrEqual(5)

  await node.registry.edit(1, job.job_id, { schedule: '@every 7s' })
  await node.registry.trigger(1, job.job_id)
  await pass(node, 60_000, 3_500)
  expect(await verify(from)).toMatchObject({ jobs: 2, ...clean })

  await house().clock.advance(25_000)
  for (const { job_id } of all) await node.registry.delete(1, job_id)
  const deleted = await verify(from)
  expect(deleted).toMatchObject({ jobs: 2, pending: 0, ...clean })
  const [reason] = Object.keys(deleted.skipped_by_reason).filter((one) => one.includes('deleted'))
  expect(reason).toBeDefined()
  await house().clock.advance(60_000)
  expect(await verify(from)).toMatchObject({ expected: deleted.expected, ...clean })
})

test('a row taken out of a real ledger is found, and put back it is not', async () => {
  const node = await house().node(promptly)
  const from = await house().now()
  const job = await node.register({ schedule: '@every 10s' })
  await pass(node, 60_000, 5_000)
  expect(await verify(from)).toMatchObject({ ...clean })
  const tick = from + 30_000
  await house().query('CREATE TABLE carillon_test.kept (LIKE carillon.ledger)')
  await house().query(
    `WITH gone AS (DELETE FROM carillon.ledger WHERE job = $1 AND due = $2 RETURNING *)
     INSERT INTO carillon_test.kept SELECT * FROM gone`,
    [job.key, tick],
  )
  expect(await verify(from)).toMatchObject({
    unaccounted: 1,
    findings: [{ tick: iso(tick), kind: 'unaccounted' }],
  })
  await house().query('INSERT INTO carillon.ledger SELECT * FROM carillon_test.kept')
  expect(await verify(from)).toMatchObject({ ...clean })
  await house().query('INSERT INTO carillon.ledger SELECT * FROM carillon_test.kept')
  expect(await verify(from)).toMatchObject({ doubled: 1, findings: [{ tick: iso(tick), kind: 'doubled' }] })
  await house().query('DROP TABLE carillon_test.kept')
})
