import { describe, expect, test } from 'vitest'
import { OverlappingJob, periodMs } from '../kit/overlapping-job.js'
import { queueOf } from '../kit/rows.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

interface Row {
  tick: number
  slot: number | null
  places?: number | null
  held?: boolean
  version?: number
  attempt?: number
  availableAt?: number
}

async function jobWith(...rows: Row[]): Promise<OverlappingJob> {
  const node = await house().node()
  const job = await OverlappingJob.register(house(), node, { schedule: '@every 1h' })
  await put(job, ...rows)
  return job
}

/** Puts runs into the queue as fires, closes and edits leave them. */
async function put(job: OverlappingJob, ...rows: Row[]): Promise<void> {
  const now = await house().now()
  for (const row of rows) {
    const { tick, slot, places = 1, held = false, version = 1, attempt = 1, availableAt = now } = row
    await house().query(
      `INSERT INTO carillon.queue (due, job, tenant, route, version, epoch, slot, places, attempt, max_attempts,
                                   available_at, fired_at, holder, token, leased_at, partition)
       SELECT $2, job, tenant, route, $3, 1, $4, $5, $6, 9, $7, 1, $8, $8, $8, partition
       FROM carillon.jobs WHERE job = $1`,
      [job.key, job.due(tick), version, slot, places, attempt, availableAt, held ? 1 + tick : null],
    )
  }
}

async function slotsAfterLease(job: OverlappingJob): Promise<[number, number | null, string][]> {
  await job.lease()
  return job.places()
}

describe('runs that need a place', () => {
  test('take the lowest free ones, the one that has waited longest first', async () => {
    const now = await house().now()
    const job = await jobWith(
      { tick: 1, slot: 1, places: 4, held: true },
      { tick: 2, slot: null, places: 4, attempt: 2, availableAt: now - 10 },
      { tick: 3, slot: null, places: 4, attempt: 2, availableAt: now - 30 },
      { tick: 4, slot: null, places: 4, attempt: 2, availableAt: now - 20 },
      { tick: 5, slot: null, places: 4, attempt: 2, availableAt: now - 5 },
    )
    expect(await slotsAfterLease(job)).toEqual([
      [1, 1, 'held'],
      [2, 3, 'held'],
      [3, 0, 'held'],
      [4, 2, 'held'],
      [5, null, 'ready'],
    ])
    expect(await slotsAfterLease(job)).toContainEqual([5, null, 'ready'])
  })

  test('wait while every place is taken, also by a run that nobody has leased', async () => {
    const job = await jobWith(
      { tick: 1, slot: 0, places: 2, held: true },
      { tick: 2, slot: 1, places: 2, availableAt: (await house().now()) + 60_000 },
      { tick: 3, slot: null, places: 2, attempt: 2 },
    )
    expect(await job.lease()).toEqual([])
  })

  test('the waiting run and a retry: the earlier one goes first', async () => {
    const now = await house().now()
    const job = await jobWith(
      { tick: 1, slot: null, attempt: 2, availableAt: now - 10 },
      { tick: 2, slot: -1, availableAt: now - 20 },
    )
    expect(await job.leasedTicks()).toEqual([2])
    const other = await jobWith(
      { tick: 1, slot: null, attempt: 2, availableAt: now - 20 },
      { tick: 2, slot: -1, availableAt: now - 10 },
    )
    expect(await other.leasedTicks()).toEqual([1])
    expect(await other.places()).toEqual([
      [1, 0, 'held'],
      [2, -1, 'ready'],
    ])
  })

  test('take no place before their time, so that a tick in between still has it', async () => {
    const job = await jobWith({ tick: 1, slot: null, attempt: 2, availableAt: (await house().now()) + 900 })
    await job.node.beat()
    expect(await job.lease()).toEqual([])
    await house().clock.advance(900)
    expect(await job.leasedTicks()).toEqual([1])
  })

  test('take as many places as their own version has, whatever the others have', async () => {
    const now = await house().now()
    const job = await jobWith(
      { tick: 1, slot: null, places: 3, attempt: 2, availableAt: now - 30 },
      { tick: 2, slot: null, places: 1, attempt: 2, availableAt: now - 20 },
      { tick: 3, slot: null, places: 3, attempt: 2, availableAt: now - 10 },
    )
    expect(await slotsAfterLease(job)).toEqual([
      [1, 0, 'held'],
      [2, null, 'ready'],
      [3, 2, 'held'],
    ])
  })

  test('of many jobs are leased together, past those that must wait', async () => {
    const node = await house().node()
    const jobs: OverlappingJob[] = []
    for (let at = 0; at < 30; at++) {
      const job = await OverlappingJob.register(house(), node, { schedule: '@every 1h' })
      jobs.push(job)
      await put(job, { tick: 2, slot: -1 })
      if (at < 20) await put(job, { tick: 1, slot: 0, held: true })
    }
    const leased = await node.leasing.lease(node.membership.incarnation, 10)
    expect(new Set(leased.map(({ job }) => job))).toEqual(new Set(jobs.slice(20).map(({ key }) => key)))
  })
})

describe('after an edit that narrows', () => {
  test.each([
    ['in a place that there is no more', { slot: 2, places: 3, held: true }],
    ['without a limit', { slot: null, places: null, held: true }],
    [
      'without a limit, fired and not leased yet',
      { slot: null, places: null, availableAt: Number.MAX_SAFE_INTEGER },
    ],
  ])('a waiting run waits for older ones %s', async (_name, older) => {
    const job = await jobWith({ tick: 1, ...older }, { tick: 2, slot: -1, version: 2 })
    expect(await job.lease()).toEqual([])
    await house().query('DELETE FROM carillon.queue WHERE job = $1 AND version = 1', [job.key])
    expect(await job.leasedTicks()).toEqual([2])
  })

  test('it does not wait for an older one that only waits for its retry', async () => {
    const job = await jobWith(
      { tick: 1, slot: null, places: null, attempt: 2, availableAt: (await house().now()) + periodMs },
      { tick: 2, slot: -1, version: 2 },
    )
    expect(await job.leasedTicks()).toEqual([2])
  })

  test('a run of an older version does not wait for newer ones beyond its places', async () => {
    const job = await jobWith(
      { tick: 1, slot: -1, version: 2 },
      { tick: 2, slot: 1, places: 3, held: true, version: 3 },
    )
    expect(await job.leasedTicks()).toEqual([1])
  })

  test('a new tick waits until the older runs beyond its places have ended', async () => {
    const node = await house().node()
    const job = await OverlappingJob.register(house(), node, { overlap_policy: 'ALLOW', max_concurrent: 3 })
    for (const tick of [1, 2, 3]) await job.toTick(tick)
    const [first, second, third] = await job.lease()
    if (first === undefined || second === undefined || third === undefined) throw new Error('three runs')
    await job.edit('QUEUE')
    await job.close(first)
    await job.toTick(4)
    expect(await job.places()).toEqual([
      [2, 1, 'held'],
      [3, 2, 'held'],
      [4, -1, 'ready'],
    ])
    await job.close(second)
    expect(await job.lease()).toEqual([])
    await job.close(third)
    expect(await job.leasedTicks()).toEqual([4])
  })

  test('a REPLACE tick asks all of them to cancel and waits for the last', async () => {
    const node = await house().node()
    const job = await OverlappingJob.register(house(), node, { overlap_policy: 'ALLOW' })
    for (const tick of [1, 2]) await job.toTick(tick)
    const runs = await job.lease()
    await job.edit('REPLACE')
    await job.toTick(3)
    expect(await job.places()).toEqual([
      [1, null, 'asked'],
      [2, null, 'asked'],
      [3, -1, 'ready'],
    ])
    for (const run of runs) {
      expect(await job.lease()).toEqual([])
      await job.close(run, { outcome: 'cancelled', reason: 'replaced' })
    }
    expect(await job.leasedTicks()).toEqual([3])
    expect((await queueOf(house(), job)).map(({ slot }) => slot)).toEqual([0])
  })

  test('an older run without limit that waits for its retry holds up no tick', async () => {
    const node = await house().node()
    const job = await OverlappingJob.register(house(), node, { overlap_policy: 'ALLOW', max_retries: 3 })
    await job.toTick(1)
    await job.close(await job.leaseOne(), { outcome: 'failed', retryAfterMs: 60_000 })
    await job.edit('SKIP')
    await job.toTick(2)
    expect(await job.places()).toEqual([
      [1, null, 'ready'],
      [2, 0, 'ready'],
    ])
  })

  test('a run that waits under the older policy is not overtaken under the newer', async () => {
    const node = await house().node()
    const job = await OverlappingJob.register(house(), node, { overlap_policy: 'QUEUE' })
    await job.toTick(1)
    const first = await job.leaseOne()
    await job.toTick(2)
    await job.edit('SKIP')
    await job.close(first)
    await job.toTick(3, -1_500)
    await job.toTick(3)
    expect(await job.places()).toEqual([[2, -1, 'ready']])
    expect(await job.ends()).toContainEqual([3, 'skipped', 'overlap'])
    expect(await job.leasedTicks()).toEqual([2])
  })
})
