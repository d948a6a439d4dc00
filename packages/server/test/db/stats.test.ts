import { describe, expect, test } from 'vitest'
import { RunCounting } from '../../src/pipeline/account/run-counting.js'
import { Stats } from '../../src/pipeline/account/stats.js'
import { leaseOne } from '../kit/attempts.js'
import { die } from '../kit/letters.js'
import { putRuns } from '../kit/rows.js'
import { Tenant } from '../kit/tenants.js'
import type { TestNode } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

function statsOf(node: TestNode): Stats {
  return new Stats({ database: node.database, clock: house().clock })
}

async function counted(node: TestNode): Promise<void> {
  const counting = new RunCounting(node.database)
  for (let pass = 0; pass < 1_000; pass++) if (!(await counting.runOnce())) return
  throw new Error('Counting never ended.')
}

/** Rows of the ledger, as if runs had ended then, so late. */
async function ended(
  job: { key: number },
  at: number,
  given: { outcome?: string; lag?: number; final?: boolean; count?: number } = {},
) {
  const { outcome = 'success', lag = 0, final = true, count = 1 } = given
  await house().query(
    `INSERT INTO carillon.ledger (recorded_at, tenant, job, due, origin, seq, outcome, final, round, attempt, version,
                                  epoch, available_at, started_at, partition)
     SELECT $1::bigint, tenant, job, $1::bigint - n, 0, 0, $2::carillon.outcome, $3, 0, 1, 1, 0, $1::bigint, $1::bigint + $4::bigint, partition
     FROM carillon.jobs, generate_series(1, $5) n WHERE job = $6`,
    [at, outcome, final, lag, count, job.key],
  )
}

describe('the numbers', () => {
  test('count jobs, runs in flight, dead letters and nodes of one tenant', async () => {
    const node = await house().node()
    const other = await Tenant.make(house())
    const foreign = await other.register(node)
    await putRuns(house(), foreign, { count: 5 })
    const [ready, paused, dying] = [
      await node.register(),
      await node.register(),
      await node.register({ max_retries: 0 }),
    ]
    await die(house(), node, dying)
    const now = await house().now()
    await leaseOne(house(), node, dying)
    await node.registry.pause(1, paused.job_id, {})
    await putRuns(house(), ready, { availableAt: now - 700 })
    await house().clock.advance(10)
    await putRuns(house(), ready, { attempt: 2, availableAt: now + 60_000 })
    expect(await statsOf(node).get(1)).toMatchObject({
      jobs: { active: 2, paused: 1, ended: 0, cancelled: 0 },
      queue: { ready: 1, waiting_retry: 1, parked: 0, oldest_ready_ms: 710 },
      dead_letters: 1,
      nodes: { alive: 1 },
      catch_up: { replays: 0, ticks: 0 },
    })
    expect((await statsOf(node).get(other.key)).jobs.active).toBe(1)
  })

  test('count what became of the runs of the last minute and hour, each once, and how late they began', async () => {
    const node = await house().node()
    const job = await node.register()
    await counted(node)
    await house().clock.advance(3_600_000)
    const now = await house().now()
    await ended(job, now - 3_700_000, { count: 7 })
    await ended(job, now - 600_000, { count: 5 })
    await ended(job, now - 20_000, { count: 94, lag: 4 })
    await ended(job, now - 20_001, { count: 5, lag: 600 })
    await ended(job, now - 20_002, { lag: 2_345 })
    await ended(job, now - 20_003, { outcome: 'failed', final: false })
    await ended(job, now - 20_004, { outcome: 'dead' })
    await counted(node)
    await counted(node)
    const { last_minute: minute, last_hour: hour } = await statsOf(node).get(1)
    expect(minute).toEqual({
      fired: 102,
      success: 100,
      failed: 1,
      dead: 1,
      skipped: 0,
      lag_ms: { p50: 5, p95: 700, p99: 700, max: 2_345 },
    })
    expect(hour).toMatchObject({ success: 105, fired: 107 })
  })

  test('hold also where rows of the ledger stand for more ticks than an int has', async () => {
    const node = await house().node()
    const other = await Tenant.make(house())
    const [job, theirs] = [await node.register(), await other.register(node)]
    await counted(node)
    await house().clock.advance(60_000)
    const now = await house().now()
    await ended(theirs, now - 20_000)
    await house().query(
      `INSERT INTO carillon.ledger (recorded_at, tenant, job, due, origin, seq, outcome, final, round, attempt, version,
                                    epoch, due_to, ticks, partition)
       SELECT $1::bigint - 20000, tenant, job, n, 0, 0, 'skipped', true, 0, 0, 1, 0, n + 5, 1500000000, partition
       FROM carillon.jobs, generate_series(1, 3) n WHERE job = $2`,
      [now, job.key],
    )
    await counted(node)
    expect((await statsOf(node).get(1)).last_minute.skipped).toBe(4_500_000_000)
    expect((await statsOf(node).get(other.key)).last_minute.success).toBe(1)
  })

  test('count the jobs that were cancelled', async () => {
    const node = await house().node()
    const [job] = [await node.register(), await node.register()]
    await node.registry.cancel(1, job.job_id)
    expect((await statsOf(node).get(1)).jobs).toEqual({ active: 1, paused: 0, ended: 0, cancelled: 1 })
  })

  test('leave out what may still be committed, and count it later', async () => {
    const node = await house().node()
    const job = await node.register()
    await counted(node)
    await house().clock.advance(10_000)
    await ended(job, await house().now())
    await counted(node)
    expect((await statsOf(node).get(1)).last_minute.success).toBe(0)
    await house().clock.advance(4_000)
    await counted(node)
    expect((await statsOf(node).get(1)).last_minute.success).toBe(1)
  })

  test('are counted by one of two at once', async () => {
    const node = await house().node()
    const job = await node.register()
    await counted(node)
    await house().clock.advance(20_000)
    await ended(job, (await house().now()) - 10_000, { count: 10 })
    await Promise.all([counted(node), counted(node), counted(node)])
    expect((await statsOf(node).get(1)).last_minute.success).toBe(10)
  })

  test('are asked for once by many, and anew after a moment', async () => {
    const node = await house().node()
    const stats = statsOf(node)
    const [one, two] = await Promise.all([stats.get(1), stats.get(1)])
    expect(two).toBe(one)
    expect(await stats.get(1)).toBe(one)
    const [minute, same] = await Promise.all([stats.recent(1), stats.recent(1)])
    expect(same).toBe(minute)
    // One that was read before it was asked for could leave a gap to what a stream tells.
    expect(await stats.history(1, 1)).not.toBe(minute)
    await house().clock.advance(1_100)
    expect(await stats.get(1)).not.toBe(one)
    expect(await stats.recent(1)).not.toBe(minute)
  })

  test('of the last while come piece by piece, the oldest first, of one tenant and no further back than asked for', async () => {
    const node = await house().node()
    const other = await Tenant.make(house())
    const [job, foreign] = [await node.register(), await other.register(node)]
    await counted(node)
    await house().clock.advance(20 * 60_000)
    const now = Math.floor((await house().now()) / 60_000) * 60_000
    await ended(job, now - 14 * 60_000, { count: 3 })
    await ended(job, now - 2 * 60_000, { count: 2, lag: 40 })
    await ended(job, now - 2 * 60_000 + 4_000, { outcome: 'dead' })
    await ended(job, now - 60_000, { outcome: 'failed', final: false })
    await ended(foreign, now - 60_000, { count: 9 })
    await counted(node)
    const stats = statsOf(node)
    const { data, step_seconds: step } = await stats.history(1, 10)
    expect(step).toBe(5)
    expect(data.map(({ at }) => Date.parse(at) - now)).toEqual([-120_000, -60_000])
    expect(data[0]?.counts).toMatchObject({ fired: 3, success: 2, dead: 1, lag_ms: { max: 40 } })
    expect(data[1]?.counts).toMatchObject({ fired: 1, success: 0, failed: 1 })
    // Longer pieces for a longer time; the ones before are added up in them.
    const hour = await stats.history(1, 60)
    expect(hour.step_seconds).toBe(15)
    expect(hour.data.map(({ counts }) => counts.fired)).toEqual([3, 3, 1])
    expect((await stats.history(1, 120)).step_seconds).toBe(60)
  })
})
