import type { JobInput } from '@carillon/contract'
import { describe, expect, test } from 'vitest'
import { faultsInAccount } from '../kit/invariants.js'
import { ledgerOf, queueOf, replaysOf, timerOf } from '../kit/rows.js'
import type { TestNode } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()
const minute = 60_000

async function pass(node: TestNode, afterMs: number): Promise<void> {
  await house().clock.advance(afterMs)
  await node.beat()
  await node.firing.runOnce()
}

/** A node that finds ticks of one job after the other 12 s late: within the tolerance, but it does not keep up. */
async function fallBehind(node: TestNode): Promise<void> {
  for (let turn = 0; turn < 4 && !node.tier.load.overloaded; turn++) {
    const busy = await node.register({ schedule: '@every 1h' })
    await house().clock.advance(600)
    await house().query(
      `UPDATE carillon.timers SET due = $2, start_at = $2, accounted_through = $2::bigint - 3600000 WHERE job = $1`,
      [busy.key, (await house().now()) - 12_000],
    )
    await node.beat()
    await node.firing.runOnce()
  }
}

/** Passes in which all is on time, until what was owed is fired. */
async function recover(node: TestNode): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await pass(node, 500)
}

describe('overload', () => {
  test('is told of when fresh ticks are late for a while, and ends by itself', async () => {
    const node = await house().node()
    await fallBehind(node)
    expect(node.tier.load.overloaded).toBe(true)
    expect(node.events).toMatchObject([{ kind: 'overload', fingerprint: 'overload:node_test' }])
    expect(node.tier.report()).toMatchObject({ overloaded: true })
    expect(await node.metrics.registry.metrics()).toMatch(/carillon_\w*overloaded\w* 1/)
    expect(node.resolved).toEqual([])
    await recover(node)
    expect(node.tier.load.overloaded).toBe(false)
    expect(node.resolved).toEqual(['overload:node_test'])
    expect(node.events).toHaveLength(1)
  })

  test('is over for a node whose partitions are others’ now', async () => {
    const node = await house().node()
    await fallBehind(node)
    expect(node.tier.load.overloaded).toBe(true)
    node.ownership.dropAll()
    for (let turn = 0; turn < 10; turn++) {
      await house().clock.advance(500)
      await node.firing.runOnce()
    }
    expect(node.tier.load.overloaded).toBe(false)
    expect(node.resolved).toEqual(['overload:node_test'])
  })

  test('is not a single late pass', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 20s' })
    for (let turn = 0; turn < 3; turn++) {
      await pass(node, 34_000)
      expect(node.tier.load.lagMs).toBe(14_000)
      for (let good = 0; good < 12; good++) {
        await node.worker.leaseOnce()
        await pass(node, 500)
      }
      await house().finished(node)
    }
    expect(node.events).toEqual([])
    expect((await ledgerOf(house(), job)).every(({ outcome }) => outcome === 'success')).toBe(true)
  })

  test('is not one job that trails by its own ticks, each fired after the other', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '* * * * * *', overlap_policy: 'ALLOW' })
    await pass(node, 14_500)
    for (let turn = 0; turn < 6; turn++) await pass(node, 600)
    expect(await queueOf(house(), job)).toHaveLength(7)
    expect(node.events).toEqual([])
  })

  test('is not an outage: what was missed then is caught up at its pace', async () => {
    const node = await house().node()
    await node.register({ schedule: '@every 10s', missed_window: 'RUN_ALL' })
    for (let turn = 0; turn < 4; turn++) await pass(node, 10 * minute)
    expect(node.events).toEqual([])
    expect(node.tier.load.lagMs).toBe(0)
  })

  test.each<[Partial<JobInput>, { skipped: number; replayed: number; fired: number }]>([
    [{ missed_window: 'RUN_ALL' }, { skipped: 0, replayed: 3, fired: 0 }],
    [
      { missed_window: 'RUN_ALL', max_missed: 2 },
      { skipped: 1, replayed: 2, fired: 0 },
    ],
    [{ missed_window: 'RUN_ONCE' }, { skipped: 2, replayed: 0, fired: 1 }],
    [{ missed_window: 'SKIP' }, { skipped: 1, replayed: 0, fired: 1 }],
  ])('leaves what is late to each job’s policy: %o', async (policy, { skipped, replayed, fired }) => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 1h', ...policy })
    await fallBehind(node)
    expect(node.tier.load.overloaded).toBe(true)
    // Its three ticks were due 12 s ago and since: later than the overload allows, within the usual tolerance.
    const now = await house().now()
    await house().query(
      `UPDATE carillon.jobs SET definition = definition || jsonb_build_object('schedule', '@every 5s', 'anchor', $2::bigint)
       WHERE job = $1`,
      [job.key, now - 17_000],
    )
    await house().query(
      'UPDATE carillon.timers SET due = $2, start_at = $2, accounted_through = $3 WHERE job = $1',
      [job.key, now - 12_000, now - 17_000],
    )
    await node.firing.runOnce()
    const rows = await ledgerOf(house(), job)
    expect(rows.map(({ ticks, reason }) => [ticks, reason])).toEqual(
      skipped === 0 ? [] : [[skipped, 'overload']],
    )
    expect((await replaysOf(house(), job)).map(({ total, reason }) => [total, reason])).toEqual(
      replayed === 0 ? [] : [[replayed, 'overload']],
    )
    expect(await queueOf(house(), job)).toHaveLength(fired)
    const rule = { schedule: '@every 5s', timezone: 'UTC', anchor: now - 17_000 }
    const simulated = { key: job.key, job_id: job.job_id, rule, from: now - 17_000, deletedAt: null }
    expect(await faultsInAccount(house(), simulated)).toEqual([])
  })

  test('puts off all catching up until it is over', async () => {
    const node = await house().node()
    const missed = await node.register({ schedule: '@every 10m', missed_window: 'RUN_ONCE' })
    await pass(node, 65 * minute)
    expect(await replaysOf(house(), missed)).toHaveLength(1)
    await fallBehind(node)
    await node.catchUp.runOnce()
    expect(await queueOf(house(), missed)).toEqual([])
    await recover(node)
    await node.catchUp.runOnce()
    expect(await queueOf(house(), missed)).toHaveLength(1)
  })

  test('spreads what has a fire window over what is left of it', async () => {
    const node = await house().node()
    const jobs = await Promise.all(
      Array.from({ length: 12 }, () => node.register({ schedule: '@every 1m', fire_window_seconds: 50 })),
    )
    const due = (await house().now()) + minute
    await house().query('UPDATE carillon.timers SET due = $1, start_at = $1', [due])
    await fallBehind(node)
    await house().clock.advance(due + 5_000 - (await house().now()))
    await node.beat()
    expect(node.tier.load.overloaded).toBe(true)
    await node.firing.runOnce()
    const starts = (await Promise.all(jobs.map((job) => queueOf(house(), job)))).map(
      ([run]) => run?.available_at ?? 0,
    )
    for (const start of starts) {
      expect(start).toBeGreaterThanOrEqual(due + 5_000)
      expect(start).toBeLessThan(due + 50_000)
    }
    expect(new Set(starts).size).toBeGreaterThan(6)
  })
})

describe('the brake', () => {
  async function order(windowFactor: number, catchUpFactor: number, forMs: number): Promise<void> {
    await house().query(
      `INSERT INTO carillon.brake (window_factor, catch_up_factor, reason, ends_at)
       VALUES ($1, $2, 'incident', carillon.now_ms() + $3::bigint)`,
      [windowFactor, catchUpFactor, forMs],
    )
  }

  test('stops catching up, and ends by itself', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 10m', missed_window: 'RUN_ONCE' })
    await pass(node, 65 * minute)
    await order(1, 0, minute)
    await node.tier.brake.runOnce()
    for (let turn = 0; turn < 3; turn++) {
      await house().clock.advance(15_000)
      await node.beat()
      await node.tier.brake.runOnce()
      await node.catchUp.runOnce()
      expect(await queueOf(house(), job)).toEqual([])
    }
    await house().clock.advance(15_000)
    await node.beat()
    await node.tier.brake.runOnce()
    await node.catchUp.runOnce()
    expect(await queueOf(house(), job)).toHaveLength(1)
  })

  test('slows catching up down to a part of its pace', async () => {
    const node = await house().node({ catchUpPerSecond: 40 })
    await order(1, 0.25, minute)
    await node.tier.brake.runOnce()
    await Promise.all(
      Array.from({ length: 20 }, () => node.register({ schedule: '@every 10m', missed_window: 'RUN_ONCE' })),
    )
    await house().clock.advance(65 * minute)
    await node.beat()
    await node.firing.runOnce()
    await node.catchUp.runOnce()
    const [row] = await house().query<{ runs: number }>('SELECT count(*)::int AS runs FROM carillon.queue')
    expect(row?.runs).toBe(10)
  })

  test('widens fire windows of ticks to come, and ends by itself', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 1h', fire_window_seconds: 60 })
    const spread = async () => {
      const { due, start_at: startAt } = await timerOf(house(), job)
      return (startAt ?? 0) - (due ?? 0)
    }
    const usual = await spread()
    expect(usual).toBeGreaterThan(0)
    const fireNext = async () => {
      const { start_at: startAt } = await timerOf(house(), job)
      await house().clock.advance((startAt ?? 0) - (await house().now()))
      await node.beat()
      await node.tier.brake.runOnce()
      await node.firing.runOnce()
      await node.worker.leaseOnce()
      await house().finished(node)
    }
    await order(10, 1, 90 * minute)
    await fireNext()
    expect(Math.abs((await spread()) - 10 * usual)).toBeLessThanOrEqual(10)
    await fireNext()
    expect(await spread()).toBe(usual)
    expect((await ledgerOf(house(), job)).map(({ outcome }) => outcome)).toEqual(['success', 'success'])
  })
})
