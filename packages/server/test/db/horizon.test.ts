import { expect, test } from 'vitest'
import { settings } from '../../src/config/settings.js'
import { farMs } from '../../src/pipeline/register/create.js'
import { Horizon } from '../../src/pipeline/fire/horizon.js'
import { crowd } from '../kit/crowd.js'
import { heldNow, ownerBelieving } from '../kit/owner.js'
import { ledgerOf, queueOf, timerOf } from '../kit/rows.js'
import type { TestNode } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()
const minute = 60_000

interface Owned {
  partition: number
  epoch: number
}

function horizonOf(
  node: TestNode,
  { owned, capacity = 100_000 }: { owned?: Owned[]; capacity?: number } = {},
) {
  const held = { now: owned ?? node.ownership.current() }
  const horizon = new Horizon({
    database: node.database,
    databaseNow: () => house().clock.wall(),
    owned: () => held.now,
    horizonMs: 10 * minute,
    capacity,
  })
  return { horizon, held }
}

/** Reads until there is nothing more to read at once. */
async function readAll(horizon: Horizon): Promise<void> {
  for (let turn = 1; await horizon.refresh(); turn++) expect(turn).toBeLessThan(20)
}

/** All that the wheel knows, in its order. */
function known(horizon: Horizon, withinMs = 10 * minute): number[] {
  return [...horizon.take(house().clock.wall(), withinMs, 1_000_000).keys()]
}

test('the wheel knows what starts in the horizon, in order, and nothing beyond it', async () => {
  const node = await house().node()
  const [late, soon] = [
    await node.register({ schedule: '@every 9m' }),
    await node.register({ schedule: '@every 2m' }),
  ]
  await node.register({ schedule: '@every 11m' })
  const { horizon } = horizonOf(node)
  await readAll(horizon)
  expect(horizon.size).toBe(2)
  expect(known(horizon, 2 * minute - 1)).toEqual([])
  expect(known(horizon, 2 * minute)).toEqual([soon.key])
  expect(known(horizon)).toEqual([late.key])
})

test('what comes into the horizon as time passes is read on', async () => {
  const node = await house().node()
  const job = await node.register({ schedule: '@every 30m' })
  const { horizon } = horizonOf(node)
  for (let at = 0; at < 19; at++) {
    await house().clock.advance(minute)
    await readAll(horizon)
    expect(horizon.size).toBe(0)
  }
  await house().clock.advance(2 * minute)
  await readAll(horizon)
  expect(known(horizon)).toEqual([job.key])
})

test('a partition is read by pages, and what is on the edge of a page is read once', async () => {
  const node = await house().node()
  const job = await node.register({ schedule: '@every 1h' })
  const startAt = (await house().now()) + minute
  // 256 partitions share a page of 20,000: 78 each.
  const jobs = await crowd(house(), job, { count: 300, startAt, apartMs: 7, partition: 9 })
  const { horizon } = horizonOf(node)
  expect(await horizon.refresh()).toBe(true)
  expect(horizon.size).toBeLessThan(300)
  await readAll(horizon)
  expect(known(horizon)).toEqual(jobs)
})

test('more timers of one instant than fit on a page are all read, and reading comes to an end', async () => {
  const node = await house().node()
  const job = await node.register({ schedule: '@every 1h' })
  const startAt = (await house().now()) + minute
  const jobs = await crowd(house(), job, { count: 20_300, startAt, partition: 9 })
  const after = await crowd(house(), job, { count: 3, startAt: startAt + 1, partition: 9 })
  const { horizon } = horizonOf(node, { owned: [{ partition: 9, epoch: 1 }] })
  await readAll(horizon)
  expect(known(horizon)).toHaveLength(jobs.length + after.length)
})

test('a wheel that is full keeps the earliest, and reads the others when it has room', async () => {
  const node = await house().node()
  const job = await node.register({ schedule: '@every 1h' })
  const startAt = (await house().now()) + minute
  const jobs = await crowd(house(), job, { count: 120, startAt, apartMs: 1_000, partition: 9 })
  const { horizon } = horizonOf(node, { owned: [{ partition: 9, epoch: 1 }], capacity: 50 })
  const seen: number[] = []
  for (let turn = 0; turn < 3; turn++) {
    await readAll(horizon)
    expect(horizon.size).toBeLessThanOrEqual(50)
    const taken = known(horizon)
    expect(taken).toEqual(jobs.slice(seen.length, seen.length + 50))
    seen.push(...taken)
  }
  expect(seen).toEqual(jobs)
})

test('what is created, moved, paused and deleted reaches the wheel with the next look', async () => {
  const node = await house().node()
  const [moved, paused, deleted, far] = await Promise.all(
    ['@every 3m', '@every 3m', '@every 3m', '@every 1h'].map((schedule) => node.register({ schedule })),
  )
  if (!moved || !paused || !deleted || !far) throw new Error('no jobs')
  const { horizon } = horizonOf(node)
  await readAll(horizon)
  expect(horizon.size).toBe(3)
  await house().clock.advance(minute)
  await node.beat()
  const now = await house().now()
  const created = await node.register({ schedule: '@every 5m' })
  const change = async (job: { key: number }, startAt: number | null) => {
    await house().query('UPDATE carillon.timers SET due = $2, start_at = $2, rev = rev + 1 WHERE job = $1', [
      job.key,
      startAt,
    ])
    await house().query('UPDATE carillon.jobs SET changed_at = $2 WHERE job = $1', [job.key, now])
  }
  await change(moved, now + 30_000)
  await change(paused, null)
  await change(deleted, null)
  await change(far, now + 4 * minute)
  await horizon.refresh()
  expect(horizon.size).toBe(3)
  expect(known(horizon, 30_000)).toEqual([moved.key])
  expect(known(horizon)).toEqual([far.key, created.key])
})

test('a job that starts beyond the longest horizon is not told, and read when the horizon comes to it', async () => {
  const node = await house().node()
  const { horizon } = horizonOf(node)
  await readAll(horizon)
  const [near, far] = await Promise.all(
    ['@every 60m', '@every 62m'].map((schedule) => node.register({ schedule })),
  )
  if (!near || !far) throw new Error('no jobs')
  const told = await house().query<{ job: number }>('SELECT job FROM carillon.jobs WHERE changed_at > 0')
  expect(told).toEqual([{ job: near.key }])
  await house().clock.advance(53 * minute)
  await node.beat()
  await readAll(horizon)
  expect(known(horizon)).toEqual([near.key, far.key])
})

test('what is far away at a registration lies beyond the horizon of any scheduler, by time enough for a late commit', () => {
  expect(settings.horizonSeconds.max * 1000 + minute).toBeLessThanOrEqual(farMs)
})

test('a timer that waits for a moment of its own is heard of too when it is changed', async () => {
  const node = await house().node()
  const job = await node.register({ schedule: '@every 3m' })
  const { horizon } = horizonOf(node)
  await readAll(horizon)
  const { partition, start_at: startAt } = await timerOf(house(), job)
  if (startAt === null) throw new Error('the job has a tick ahead')
  horizon.lookAgainAt(job.key, { partition, startAt }, (await house().now()) + 50_000)
  expect(horizon.knows(job.key, startAt)).toBe(true)
  expect(horizon.knows(job.key, startAt + 1)).toBe(false)
  await house().query('UPDATE carillon.timers SET due = NULL, start_at = NULL WHERE job = $1', [job.key])
  await house().query('UPDATE carillon.jobs SET changed_at = $2 WHERE job = $1', [
    job.key,
    await house().now(),
  ])
  await horizon.refresh()
  expect(horizon.knows(job.key, startAt)).toBe(false)
  expect(horizon.size).toBe(0)
})

test('a change that commits seconds late is heard of, and one that is later still is found by the scan', async () => {
  const node = await house().node()
  const { tier } = node
  await readAll(tier.horizon)
  const [heard, unheard] = [
    await node.register({ schedule: '@every 1m' }),
    await node.register({ schedule: '@every 1m' }),
  ]
  const registered = await house().now()
  // As if their transactions had begun then and commit only now.
  await house().clock.advance(10_000)
  await node.beat()
  await readAll(tier.horizon)
  tier.horizon.take(registered, 10 * minute, 100)
  await house().query('UPDATE carillon.jobs SET changed_at = $2 WHERE job = $1', [
    heard.key,
    registered + 10_000 - 2_900,
  ])
  await house().query('UPDATE carillon.jobs SET changed_at = $2 WHERE job = $1', [
    unheard.key,
    registered + 10_000 - 3_100,
  ])
  await tier.horizon.refresh()
  expect(tier.horizon.size).toBe(1)
  expect(tier.horizon.startBy(registered + minute, 1)).toBe(true)
  await house().clock.advance(49_000)
  await node.beat()
  await node.firing.runOnce()
  for (const job of [heard, unheard]) expect(await queueOf(house(), job)).toHaveLength(1)
})

test('a partition that comes back under a new epoch is read anew', async () => {
  const node = await house().node()
  const job = await node.register({ schedule: '@every 5m' })
  const { partition } = await timerOf(house(), job)
  const { horizon, held } = horizonOf(node, { owned: [{ partition, epoch: 4 }] })
  await readAll(horizon)
  expect(known(horizon)).toEqual([job.key])
  held.now = []
  expect(await horizon.refresh()).toBe(false)
  // Registered while another owned it; its change is long past when the partition comes back.
  const [other] = await crowd(house(), job, { count: 1, startAt: (await house().now()) + minute, partition })
  held.now = [{ partition, epoch: 6 }]
  await readAll(horizon)
  expect(known(horizon)).toEqual([other, job.key])
})

test('a partition that was lost and regained between two looks is read anew', async () => {
  const node = await house().node()
  const job = await node.register({ schedule: '@every 5m' })
  const { partition } = await timerOf(house(), job)
  const { horizon, held } = horizonOf(node, { owned: [{ partition, epoch: 4 }] })
  await readAll(horizon)
  known(horizon)
  held.now = [{ partition, epoch: 5 }]
  await readAll(horizon)
  expect(known(horizon)).toEqual([job.key])
})

test('timers of a partition that was lost come up and are passed over', async () => {
  const node = await house().node()
  const job = await node.register({ schedule: '@every 10s' })
  const { partition } = await timerOf(house(), job)
  const believes = await heldNow(house())
  const { tier } = ownerBelieving(house(), { node, believes })
  await readAll(tier.horizon)
  believes.splice(
    believes.findIndex((held) => held.partition === partition),
    1,
  )
  await house().clock.advance(10_000)
  await tier.firing.runOnce()
  expect(await queueOf(house(), job)).toEqual([])
  expect(tier.horizon.size).toBe(0)
})

test('losing the wheel at any moment loses no tick and doubles none', async () => {
  const node = await house().node()
  const jobs = await Promise.all(
    [1, 3, 5].map(async (seconds) => ({
      everyMs: seconds * 1_000,
      ...(await node.register({ schedule: `@every ${seconds}s`, overlap_policy: 'ALLOW' })),
    })),
  )
  const registered = await house().now()
  let { tier } = ownerBelieving(house(), { node, believes: node.ownership.current() })
  for (let pass = 1; pass <= 60; pass++) {
    await house().clock.advance(500)
    await node.beat()
    if (pass % 7 === 0) tier = ownerBelieving(house(), { node, believes: node.ownership.current() }).tier
    if (pass % 3 === 0) await tier.horizon.refresh()
    await tier.firing.runOnce()
  }
  const now = await house().now()
  for (const job of jobs) {
    const expected: number[] = []
    for (let tick = registered + job.everyMs; tick <= now; tick += job.everyMs) expected.push(tick)
    const runs = (await queueOf(house(), job)).map(({ due }) => due)
    expect(runs.filter((due) => due <= now)).toEqual(expected)
    expect(await ledgerOf(house(), job)).toEqual([])
  }
})

test('what could have been looked at and was not is overdue since its moment', async () => {
  const node = await house().node()
  const { horizon } = horizonOf(node)
  await readAll(horizon)
  const now = house().clock.wall()
  horizon.startsAt(1, 0, now - 7_000)
  horizon.lookAgainAt(2, { partition: 0, startAt: now }, now - 9_000)
  horizon.startsAt(3, 0, now + 5_000)
  expect(horizon.overdueMs(now)).toBe(9_000)
  expect([...horizon.take(now, 2_000, 1).keys()]).toEqual([2])
  expect(horizon.overdueMs(now)).toBe(7_000)
  expect([...horizon.take(now, 2_000, 1).keys()]).toEqual([1])
  expect(horizon.overdueMs(now)).toBe(0)
})
