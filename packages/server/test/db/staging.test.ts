import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Database } from '../../src/db/pool.js'
import type { Statement } from '../../src/db/statement.js'
import { Scan } from '../../src/pipeline/fire/scan.js'
import type { Horizon } from '../../src/pipeline/fire/horizon.js'
import { Staging } from '../../src/pipeline/fire/staging.js'
import { crowd } from '../kit/crowd.js'
import { meddleWith } from '../kit/meddle.js'
import { ownerBelieving } from '../kit/owner.js'
import { countOf, queueOf, timerOf } from '../kit/rows.js'
import type { TestNode } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()
/** Only the first pass looks into the table: what is fired after it, the wheel knew of. */
const scanIntervalMs = 3_600_000

async function reach(node: TestNode, instant: number): Promise<void> {
  await house().clock.advance(instant - (await house().now()))
  await node.beat()
}

describe('the scan', () => {
  function scanOf(node: TestNode, knows: (job: number, startAt: number) => boolean, intervalMs = 0) {
    return new Scan({
      database: node.database,
      databaseClock: node.databaseClock,
      clock: house().clock,
      horizon: { knows } as Partial<Horizon> as Horizon,
      owned: () => node.ownership.current(),
      aheadMs: 2_000,
      intervalMs,
    })
  }

  test('turns pages past more timers of one instant than fit on one, and sees each once', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 1h' })
    const startAt = (await house().now()) + 1_000
    const jobs = await crowd(house(), job, { count: 1_234, startAt, partition: 9 })
    const [behind] = await crowd(house(), job, { count: 1, startAt: startAt + 1, partition: 9 })
    const scan = scanOf(node, () => false)
    for (let round = 0; round < 2; round++) {
      const seen: number[] = []
      do seen.push(...(await scan.runOnce()).keys())
      while (scan.goesOn && seen.length < 5_000)
      expect(seen).toEqual([...jobs, behind])
    }
  })

  test('finds one behind a thousand that wait for a moment of their own', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 1h' })
    const startAt = (await house().now()) + 1_000
    const waiting = new Set(await crowd(house(), job, { count: 1_000, startAt, partition: 9 }))
    const [behind] = await crowd(house(), job, { count: 1, startAt, partition: 9 })
    const scan = scanOf(node, (key) => waiting.has(key))
    const found: number[] = []
    for (let page = 0; page < 3; page++) found.push(...(await scan.runOnce()).keys())
    expect(found).toEqual([behind])
    expect(scan.goesOn).toBe(false)
  })

  test('does not find what is fired beside it, nor what the wheel knows as it is', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 1h' })
    const { horizon } = node.tier
    await horizon.refresh()
    const startAt = (await house().now()) + 1_000
    const [beside, known, moved, unknown] = await crowd(house(), job, { count: 4, startAt, partition: 9 })
    horizon.startsAt(known as number, 9, startAt)
    horizon.startsAt(moved as number, 9, startAt + 1)
    const scan = scanOf(node, (key, at) => horizon.knows(key, at))
    const found = await scan.runOnce((key, at) => key === beside && at === startAt)
    expect([...found]).toEqual([moved, unknown].map((key) => [key, { partition: 9, startAt }]))
  })

  test('looks no more often than its interval, and not beyond the staging time', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 1h' })
    const startAt = (await house().now()) + 2_000
    const [edge] = await crowd(house(), job, { count: 2, startAt, apartMs: 1 })
    const scan = scanOf(node, () => false, 500)
    expect([...(await scan.runOnce()).keys()]).toEqual([edge])
    await house().clock.advance(499)
    expect((await scan.runOnce()).size).toBe(0)
    await house().clock.advance(1)
    expect((await scan.runOnce()).size).toBe(2)
  })
})

describe('a scan from the bottom of the index that is dear', () => {
  /** On a database where every scan takes 100 ms. */
  async function dearScan(owned?: { partition: number }[], waits = false) {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 1h' })
    const looks: number[] = []
    const slow = {
      run: async (statement: Statement<never, object>, params: { from_starts: number[] }) => {
        looks.push(Math.min(...params.from_starts))
        const rows = await node.database.run(statement, params as never)
        await house().clock.advance(100)
        return rows
      },
    }
    const scan = new Scan({
      database: slow as unknown as Database,
      databaseClock: node.databaseClock,
      clock: house().clock,
      horizon: { knows: () => waits } as unknown as Horizon,
      owned: () => owned ?? node.ownership.current(),
      aheadMs: 2_000,
      intervalMs: 0,
    })
    return { job, scan, looks }
  }

  test('leaves time between where many are seen and all of them wait, unless something changed', async () => {
    const { job, scan, looks } = await dearScan(undefined, true)
    await crowd(house(), job, { count: 300, startAt: (await house().now()) + 1_000, partition: 9 })
    for (let pass = 0; pass < 5; pass++) await scan.runOnce()
    expect(looks).toHaveLength(1)
    await house().clock.advance(2_000)
    for (let pass = 0; pass < 5; pass++) await scan.runOnce()
    expect(looks).toHaveLength(2)
    scan.soon()
    await scan.runOnce()
    expect(looks).toHaveLength(3)
  })

  test('is made again at once where something changed while it was under way', async () => {
    const { job, scan, looks } = await dearScan(undefined, true)
    await crowd(house(), job, { count: 300, startAt: (await house().now()) + 1_000, partition: 9 })
    const scanning = scan.runOnce()
    scan.soon()
    await scanning
    await scan.runOnce()
    expect(looks).toHaveLength(2)
  })

  test('goes on at once from page to page, and leaves time after the last', async () => {
    const { job, scan, looks } = await dearScan(undefined, true)
    await crowd(house(), job, { count: 1_100, startAt: (await house().now()) + 1_000, partition: 9 })
    for (let pass = 0; pass < 6; pass++) await scan.runOnce()
    expect(looks).toHaveLength(3)
  })

  test('is not made each time: what is a little late is found all the same', async () => {
    const { job, scan, looks } = await dearScan()
    await scan.runOnce()
    const [late] = await crowd(house(), job, { count: 1, startAt: (await house().now()) - 20_000 })
    expect([...(await scan.runOnce()).keys()]).toEqual([late])
    const now = await house().now()
    expect(looks[0]).toBe(0)
    expect(looks[1]).toBeGreaterThan(now - 31_000)
  })

  test('is made within two seconds: what comes very late is found then', async () => {
    const { job, scan, looks } = await dearScan()
    await scan.runOnce()
    const [late] = await crowd(house(), job, { count: 1, startAt: (await house().now()) - 3_600_000 })
    const found: number[] = []
    while (found.length === 0 && looks.length < 30) found.push(...(await scan.runOnce()).keys())
    expect(found).toEqual([late])
    expect(looks.filter((from) => from === 0)).toHaveLength(2)
    expect(looks.length).toBeGreaterThan(10)
  })

  test('is made at once for a partition that is new', async () => {
    const owned = [{ partition: 1 }]
    const { job, scan } = await dearScan(owned)
    const startAt = (await house().now()) - 3_600_000
    const [here] = await crowd(house(), job, { count: 1, startAt, partition: 1 })
    const [there] = await crowd(house(), job, { count: 1, startAt, partition: 2 })
    expect([...(await scan.runOnce()).keys()]).toEqual([here])
    owned.push({ partition: 2 })
    expect([...(await scan.runOnce()).keys()]).toContain(there)
  })
})

test('the wheel wakes the owner when a tick may be staged, without a look into the table', async () => {
  const node = await house().node()
  const job = await node.register({ schedule: '@every 5m' })
  const { start_at: startAt } = await timerOf(house(), job)
  const state = { woken: false }
  const { tier } = ownerBelieving(house(), {
    node,
    believes: node.ownership.current(),
    settings: { scanIntervalMs },
    wake: () => {
      state.woken = true
    },
  })
  await tier.horizon.refresh()
  await tier.firing.runOnce()
  let passes = 0
  while ((await house().now()) < (startAt ?? 0)) {
    await house().clock.advance(100)
    if (!state.woken) continue
    state.woken = false
    passes += 1
    await tier.firing.runOnce()
  }
  const [run] = await queueOf(house(), job)
  expect(run?.available_at).toBe(startAt)
  // Woken at the instant; the test's clock goes on in steps.
  expect((startAt ?? 0) - (run?.fired_at ?? 0)).toBeGreaterThan(1_800)
  expect((startAt ?? 0) - (run?.fired_at ?? 0)).toBeLessThanOrEqual(2_000)
  // The wheel may wake a little early, while a timer comes down through its levels.
  expect(passes).toBeLessThan(10)
})

test('a scan that finds more than a pass takes is worked off pass by pass', async () => {
  const node = await house().node()
  const job = await node.register({ schedule: '@every 1h' })
  const startAt = (await house().now()) + 1_000
  await crowd(house(), job, { count: 12_000, startAt, definition: { schedule: '@every 1h' } })
  const pages: number[] = []
  const giveBack = meddleWith(node.database, 'read-timers', async (send) => {
    const rows = await send()
    pages.push(rows.length)
    return rows
  })
  let passes = 0
  while ((await node.firing.runOnce()) && passes < 20) passes += 1
  giveBack()
  expect(Math.max(...pages)).toBeLessThanOrEqual(10_000)
  expect(await countOf(house(), 'queue')).toBe(12_000)
}, 60_000)

test('an owner that stops is woken no more', async () => {
  const node = await house().node()
  await node.register({ schedule: '@every 1m' })
  let woken = 0
  const { tier } = ownerBelieving(house(), {
    node,
    believes: node.ownership.current(),
    wake: () => {
      woken += 1
    },
  })
  await tier.horizon.refresh()
  await tier.firing.runOnce()
  await tier.firing.stop()
  await house().clock.advance(120_000)
  expect(woken).toBe(0)
})

test('many ticks of one instant are staged earlier than the setting, a few are not', async () => {
  const node = await house().node()
  const job = await node.register({ schedule: '@every 1h' })
  const startAt = (await house().now()) + 60_000
  const [lone] = await crowd(house(), job, { count: 1, startAt })
  const believes = node.ownership.current()
  const owner = { node, believes, stageAheadMs: 100, settings: { scanIntervalMs } }
  const { tier } = ownerBelieving(house(), owner)
  while (await tier.horizon.refresh());
  await house().clock.advance(59_100)
  await tier.firing.runOnce()
  expect(await countOf(house(), 'queue')).toBe(0)

  const midnight = startAt + 60_000
  // At 20,000 a second these need about a second.
  await crowd(house(), job, { count: 16_000, startAt: midnight })
  const { tier: other } = ownerBelieving(house(), owner)
  while (await other.horizon.refresh());
  await other.firing.runOnce()
  expect(await queueOf(house(), { key: lone ?? 0 })).toHaveLength(0)
  await house().clock.advance(60_000)
  await other.firing.runOnce()
  const staged = await house().query<{ count: number; soonest: number }>(
    'SELECT count(*)::int AS count, min(available_at) AS soonest FROM carillon.queue WHERE due = $1',
    [midnight],
  )
  expect(staged[0]?.count).toBeGreaterThan(1_000)
  expect(staged[0]?.soonest).toBe(midnight)
})

test('a job of every second leaves its place free for half of the time between two ticks', async () => {
  const node = await house().node()
  const job = await node.register({ schedule: '* * * * * *' })
  const { due } = await timerOf(house(), job)
  await reach(node, (due ?? 0) + 100)
  await node.firing.runOnce()
  await node.worker.leaseOnce()
  await house().finished(node)
  for (const early of [899, 600, 501]) {
    await reach(node, (due ?? 0) + 1_000 - early)
    await node.firing.runOnce()
    expect(await queueOf(house(), job)).toEqual([])
  }
  await reach(node, (due ?? 0) + 500)
  await node.firing.runOnce()
  expect(await queueOf(house(), job)).toMatchObject([{ due: (due ?? 0) + 1_000 }])
})

test('a job of every ten seconds is staged as early as the setting says, and not earlier', async () => {
  const node = await house().node()
  const job = await node.register({ schedule: '@every 10s' })
  const { due } = await timerOf(house(), job)
  await reach(node, (due ?? 0) - 2_001)
  await node.firing.runOnce()
  expect(await queueOf(house(), job)).toEqual([])
  await reach(node, (due ?? 0) - 2_000)
  await node.firing.runOnce()
  expect(await queueOf(house(), job)).toMatchObject([{ due, available_at: due }])
})

test('who decides how early ticks are staged hears of those that were, and up to where all were taken', async () => {
  const staged = vi.spyOn(Staging.prototype, 'staged')
  const taken = vi.spyOn(Staging.prototype, 'taken')
  onTestFinished(() => {
    staged.mockRestore()
    taken.mockRestore()
  })
  const node = await house().node()
  const job = await node.register({ schedule: '@every 1h' })
  const startAt = (await house().now()) + 1_000
  const jobs = await crowd(house(), job, { count: 3, startAt, apartMs: 5_000 })
  while (await node.tier.horizon.refresh());
  const now = await house().now()
  await node.firing.runOnce()
  const timer = await timerOf(house(), { key: jobs[0] as number })
  expect(staged.mock.calls.map(([start, periodMs]) => [start, periodMs])).toEqual([
    [startAt, (timer.start_at as number) - startAt],
  ])
  expect(taken.mock.lastCall).toEqual([now + 2_000, now])
})
