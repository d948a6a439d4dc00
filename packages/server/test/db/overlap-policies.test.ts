import { describe, expect, test } from 'vitest'
import { OverlappingJob } from '../kit/overlapping-job.js'
import { countOf, ledgerOf, queueOf, timerOf } from '../kit/rows.js'
import { useHouse } from '../kit/use-house.js'
import { utcText } from '../../src/time/iso-text.js'

const house = useHouse()

async function jobWith(input: Parameters<typeof OverlappingJob.register>[2]): Promise<OverlappingJob> {
  return OverlappingJob.register(house(), await house().node(), input)
}

/** The first tick is running, and the second has come. */
async function secondTickMeetsFirst(input: Parameters<typeof OverlappingJob.register>[2]) {
  const job = await jobWith(input)
  await job.toTick(1)
  const first = await job.leaseOne()
  await job.toTick(2)
  return { job, first }
}

describe('before its instant a tick whose place is taken is left alone', () => {
  test.each([
    ['SKIP', null],
    ['QUEUE', null],
    ['REPLACE', null],
    ['ALLOW', 1],
  ] as const)('%s', async (overlap_policy, max_concurrent) => {
    const job = await jobWith({ overlap_policy, ...(max_concurrent !== null && { max_concurrent }) })
    await job.toTick(1)
    await job.leaseOne()
    const waiting = await timerOf(house(), job)
    await job.toTick(2, -1_900)
    await job.toTick(2, -1)
    expect(await timerOf(house(), job)).toEqual(waiting)
    expect(await job.places()).toEqual([[1, 0, 'held']])
    expect(await countOf(house(), 'ledger')).toBe(0)
  })
})

describe('SKIP', () => {
  test('passes over a tick whose place is taken', async () => {
    const { job } = await secondTickMeetsFirst({ overlap_policy: 'SKIP' })
    expect(await job.places()).toEqual([[1, 0, 'held']])
    expect(await job.ends()).toEqual([[2, 'skipped', 'overlap']])
  })
})

describe('ALLOW', () => {
  test('without a limit lets every tick run', async () => {
    const job = await jobWith({ overlap_policy: 'ALLOW' })
    for (const tick of [1, 2, 3]) await job.toTick(tick)
    expect(await job.leasedTicks()).toEqual([1, 2, 3])
    expect(await job.places()).toEqual([1, 2, 3].map((tick) => [tick, null, 'held']))
  })

  test('with a limit lets as many run, each in a place of its own, and passes over the next', async () => {
    const job = await jobWith({ overlap_policy: 'ALLOW', max_concurrent: 3 })
    for (const tick of [1, 2, 3, 4]) await job.toTick(tick)
    expect(await job.leasedTicks()).toEqual([1, 2, 3])
    expect(await job.places()).toEqual([
      [1, 0, 'held'],
      [2, 1, 'held'],
      [3, 2, 'held'],
    ])
    expect(await job.ends()).toEqual([[4, 'skipped', 'overlap']])
  })

  test('a tick takes the lowest place that is free', async () => {
    const job = await jobWith({ overlap_policy: 'ALLOW', max_concurrent: 3 })
    for (const tick of [1, 2, 3]) await job.toTick(tick)
    const runs = await job.lease()
    for (const at of [0, 1]) if (runs[at] !== undefined) await job.close(runs[at])
    await job.toTick(4)
    expect(await job.places()).toEqual([
      [3, 2, 'held'],
      [4, 0, 'ready'],
    ])
  })
})

describe('QUEUE', () => {
  test('lets one tick wait, passes over those after it, and runs the waiting one next', async () => {
    const { job, first } = await secondTickMeetsFirst({ overlap_policy: 'QUEUE' })
    await job.toTick(3)
    expect(await job.places()).toEqual([
      [1, 0, 'held'],
      [2, -1, 'ready'],
    ])
    expect(await job.ends()).toEqual([[3, 'skipped', 'overlap']])
    expect(await job.lease()).toEqual([])
    await job.close(first)
    expect(await job.leasedTicks()).toEqual([2])
    expect(await job.places()).toEqual([[2, 0, 'held']])
  })

  test('a waiting run is what a fired one is: its own tick, its chain, its time', async () => {
    const { job } = await secondTickMeetsFirst({ overlap_policy: 'QUEUE', max_retries: 2 })
    const waiting = (await queueOf(house(), job)).find(({ slot }) => slot === -1)
    const { partition } = await timerOf(house(), job)
    const [owned] = await house().query('SELECT epoch FROM carillon.partitions WHERE partition = $1', [
      partition,
    ])
    expect(waiting).toMatchObject({
      ...owned,
      due: job.due(2),
      next_due: job.due(3),
      available_at: job.due(2),
      fired_at: job.due(2),
      places: 1,
      attempt: 1,
      max_attempts: 3,
      catch_up: false,
      partition,
    })
    expect(await timerOf(house(), job)).toMatchObject({ due: job.due(3), accounted_through: job.due(2) })
  })

  test('a tick that comes before the waiting run was leased waits behind it, however slow the workers are', async () => {
    const { job, first } = await secondTickMeetsFirst({ overlap_policy: 'QUEUE' })
    await job.close(first)
    await job.toTick(3, -1_500)
    await job.toTick(3)
    expect(await job.places()).toEqual([
      [2, 0, 'ready'],
      [3, -1, 'ready'],
    ])
    expect(await job.ends()).toEqual([[1, 'success', null]])
  })

  test('a run that waits for its retry does not hold up the next tick', async () => {
    const { job, first } = await secondTickMeetsFirst({ overlap_policy: 'QUEUE', max_retries: 3 })
    await job.close(first, { outcome: 'failed', retryAfterMs: 60_000 })
    expect(await job.leasedTicks()).toEqual([2])
    await job.toTick(3)
    expect(await job.places()).toEqual([
      [1, null, 'ready'],
      [2, 0, 'held'],
      [3, -1, 'ready'],
    ])
  })
})

describe('the waiting run takes the place when the running one', () => {
  test('is rescued for the last time', async () => {
    const { job } = await secondTickMeetsFirst({ overlap_policy: 'QUEUE', max_retries: 0 })
    await die(job)
    expect(await job.ends()).toEqual([[1, 'dead', 'worker_lost']])
    expect(await placeAfterLease(job)).toEqual([[2, 0, 'held']])
  })

  test('is cancelled by its holder', async () => {
    const { job, first } = await secondTickMeetsFirst({ overlap_policy: 'QUEUE' })
    await job.close(first, { outcome: 'cancelled', reason: 'asked' })
    expect(await placeAfterLease(job)).toEqual([[2, 0, 'held']])
  })

  test('fails and waits for its retry', async () => {
    const { job, first } = await secondTickMeetsFirst({ overlap_policy: 'QUEUE', max_retries: 3 })
    await job.close(first, { outcome: 'failed', retryAfterMs: 60_000 })
    expect(await placeAfterLease(job)).toEqual([
      [1, null, 'ready'],
      [2, 0, 'held'],
    ])
  })

  test('and not when it is rescued for another attempt: that one keeps the place', async () => {
    const { job } = await secondTickMeetsFirst({ overlap_policy: 'QUEUE', max_retries: 3 })
    await die(job)
    expect(await placeAfterLease(job)).toEqual([
      [1, 0, 'held'],
      [2, -1, 'ready'],
    ])
  })

  test('and not when it is handed back', async () => {
    const { job, first } = await secondTickMeetsFirst({ overlap_policy: 'QUEUE' })
    await job.node.leasing.handBack(job.node.membership.incarnation, [first])
    expect(await placeAfterLease(job)).toEqual([
      [1, 0, 'held'],
      [2, -1, 'ready'],
    ])
  })

  async function placeAfterLease(job: OverlappingJob) {
    const worker = await house().node()
    await worker.leasing.lease(worker.membership.incarnation, 100)
    return job.places()
  }

  async function die(job: OverlappingJob): Promise<void> {
    const other = await house().node()
    await house().query(
      "UPDATE carillon.incarnations SET state = 'dead', ended_at = 1 WHERE incarnation = $1",
      [job.node.membership.incarnation],
    )
    await other.rescue.runOnce()
  }
})

describe('the cursor of a tick that waits or replaces', () => {
  test.each(['QUEUE', 'REPLACE'] as const)('ends with the last of max_runs: %s', async (overlap_policy) => {
    const { job } = await secondTickMeetsFirst({ overlap_policy, max_runs: 2 })
    expect(await timerOf(house(), job)).toMatchObject({
      due: null,
      start_at: null,
      accounted_through: job.due(2),
    })
    expect((await queueOf(house(), job)).map(({ next_due }) => next_due)).toEqual([job.due(2), null])
    const [{ state } = { state: null }] = await house().query<{ state: string }>(
      'SELECT state FROM carillon.jobs WHERE job = $1',
      [job.key],
    )
    expect(state).toBe('ended')
  })

  test('counts no run for a tick that is passed over', async () => {
    const { job, first } = await secondTickMeetsFirst({ overlap_policy: 'QUEUE', max_runs: 4 })
    await job.toTick(3)
    await job.close(first)
    await job.leaseOne()
    await job.toTick(4)
    expect(await job.places()).toEqual([
      [2, 0, 'held'],
      [4, -1, 'ready'],
    ])
    expect(await timerOf(house(), job)).toMatchObject({ due: job.due(5) })
  })

  test('ends with the schedule', async () => {
    const job = await jobWith({ overlap_policy: 'QUEUE' })
    const ends_at = utcText(job.due(2) + 1)
    await house().query('UPDATE carillon.jobs SET definition = definition || $2::jsonb WHERE job = $1', [
      job.key,
      JSON.stringify({ ends_at }),
    ])
    await job.toTick(1)
    await job.leaseOne()
    await job.toTick(2)
    expect((await queueOf(house(), job)).map(({ slot, next_due }) => [slot, next_due])).toEqual([
      [0, job.due(2)],
      [-1, null],
    ])
    expect(await timerOf(house(), job)).toMatchObject({ due: null, accounted_through: job.due(2) })
  })

  test('passes over missed ticks with it, in one row with their number', async () => {
    const { job } = await secondTickMeetsFirst({ overlap_policy: 'QUEUE', missed_window: 'SKIP' })
    // Nobody fires for 45 s: three ticks are missed, and the next came within the tolerance.
    await job.toTick(6, 5_001)
    const skipped = (await ledgerOf(house(), job)).filter(({ reason }) => reason === 'missed')
    expect(skipped).toMatchObject([
      { due: job.due(3), due_to: job.due(5), ticks: 3, next_due: job.due(6), final: true },
    ])
    expect(await job.ends()).toContainEqual([6, 'skipped', 'overlap'])
    expect(await timerOf(house(), job)).toMatchObject({ due: job.due(7), accounted_through: job.due(6) })
  })
})
