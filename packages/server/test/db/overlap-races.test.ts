import { describe, expect, test } from 'vitest'
import { statement } from '../../src/db/statement.js'
import { type OverlapAnswer, Overlapping } from '../../src/pipeline/fire/overlapping.js'
import { type DueTimer, type PlannedTick, planTick } from '../../src/pipeline/fire/plan.js'
import { Gate } from '../kit/gate.js'
import { OverlappingJob } from '../kit/overlapping-job.js'
import { handAllTo, heldNow } from '../kit/owner.js'
import { timerOf } from '../kit/rows.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

const readTimers = statement<
  { jobs: number[]; partitions: number[]; start_ats: (number | null)[] },
  DueTimer
>(new URL('../../src/pipeline/fire/read-timers.sql', import.meta.url))

async function planned(...jobs: OverlappingJob[]) {
  const timers = await Promise.all(jobs.map((job) => timerOf(house(), job)))
  const due = await house().database.database.run(readTimers, {
    jobs: jobs.map(({ key }) => key),
    partitions: timers.map(({ partition }) => partition),
    start_ats: timers.map(({ start_at }) => start_at),
  })
  return due.map((timer) => planTick(timer, { lateToleranceMs: 15_000, overloaded: false, windowFactor: 1 }))
}

/** Decides the ticks of these jobs as their owner does. */
async function settle(...jobs: OverlappingJob[]): Promise<OverlapAnswer['decision'][]> {
  return settlePlanned(jobs, await planned(...jobs))
}

async function settlePlanned(
  jobs: OverlappingJob[],
  ticks: PlannedTick[],
): Promise<OverlapAnswer['decision'][]> {
  const [{ node } = { node: null }] = jobs
  if (node === null) return []
  const overlapping = new Overlapping({ database: node.database })
  const answers = await overlapping.settle(node.membership.incarnation, node.ownership.current(), ticks)
  const byJob = new Map(answers.map(({ job, decision }) => [job, decision]))
  return jobs.map(({ key }) => byJob.get(key) ?? 'changed')
}

type Policy = 'QUEUE' | 'REPLACE'

/** The first tick runs, and the instant of the second has come: nobody has decided about it. */
async function atSecondTick(overlap_policy: Policy) {
  const job = await OverlappingJob.register(house(), await house().node(), { overlap_policy })
  await job.toTick(1)
  const first = await job.leaseOne()
  await house().clock.advance(job.due(2) - (await house().now()))
  await job.node.beat()
  return { job, first }
}

/** The first tick runs, the second waits, and the instant of the third has come. */
async function atThirdTick(overlap_policy: Policy) {
  const { job, first } = await atSecondTick(overlap_policy)
  expect(await settle(job)).toEqual(['fired'])
  await house().clock.advance(job.due(3) - (await house().now()))
  await job.node.beat()
  return { job, first }
}

/** A run that comes in by another way than the schedule, as a trigger puts it there. */
function put(job: OverlappingJob, slot: number, due: number): [string, unknown[]] {
  return [
    `INSERT INTO carillon.queue (due, job, origin, seq, tenant, route, version, epoch, slot, places, max_attempts,
                                 available_at, fired_at, partition)
     SELECT $2, job, 1, 1, tenant, route, version, 0, $3, 1, 1, $2, $2, partition FROM carillon.jobs WHERE job = $1`,
    [job.key, due, slot],
  ]
}

/** Stops the statement after it has its snapshot, before it has looked at anything; lets `meanwhile` happen. */
async function withOldSnapshot<Result>(
  job: OverlappingJob,
  work: () => Promise<Result>,
  meanwhile: () => Promise<unknown>,
): Promise<Result> {
  const { partition } = await timerOf(house(), job)
  const session = await house().session()
  await session.query('BEGIN')
  await session.query('SELECT FROM carillon.partitions WHERE partition = $1 FOR UPDATE', [partition])
  const result = work()
  await house().lockWaits(1)
  await meanwhile()
  await session.query('ROLLBACK')
  return result
}

describe('a decision that meets', () => {
  test('a close in progress waits for it: the waiting run moves up, and the tick waits in its stead', async () => {
    const { job, first } = await atThirdTick('QUEUE')
    const session = await house().session()
    await session.query('BEGIN')
    await session.query('DELETE FROM carillon.queue WHERE token = $1', [first.token])
    const settled = settle(job)
    await house().lockWaits(1)
    await session.query('COMMIT')
    expect(await settled).toEqual(['fired'])
    expect(await job.places()).toEqual([
      [2, 0, 'ready'],
      [3, -1, 'ready'],
    ])
  })

  test.each([
    ['QUEUE', 'held'],
    ['REPLACE', 'asked'],
  ] as const)('a lease of the waiting run in progress sees it running: %s', async (policy, state) => {
    const { job, first } = await atThirdTick(policy)
    await job.close(first, { outcome: 'cancelled' })
    const gate = await Gate.closeBefore(house(), 'UPDATE', 'queue')
    const leasing = job.lease()
    await house().lockWaits(1)
    const settled = settle(job)
    await house().lockWaits(2)
    await gate.open()
    expect(await leasing).toHaveLength(1)
    expect(await settled).toEqual(['fired'])
    expect(await job.places()).toEqual([
      [2, 0, state],
      [3, -1, 'ready'],
    ])
  })

  test('a trigger that took the waiting place unseen decides nothing, and sees it the next time', async () => {
    const { job } = await atSecondTick('QUEUE')
    const before = await timerOf(house(), job)
    const now = await house().now()
    const settled = await withOldSnapshot(
      job,
      () => settle(job),
      () => house().query(...put(job, -1, now - 1)),
    )
    expect(settled).toEqual(['changed'])
    expect(await timerOf(house(), job)).toEqual(before)
    expect(await settle(job)).toEqual(['overlap'])
    expect(await timerOf(house(), job)).toMatchObject({ due: job.due(3), accounted_through: job.due(2) })
  })

  test('a run that took the running place unseen, which the waiting one was to have, decides nothing', async () => {
    const { job, first } = await atThirdTick('QUEUE')
    await job.close(first)
    const now = await house().now()
    const settled = await withOldSnapshot(
      job,
      () => settle(job),
      () => house().query(...put(job, 0, now - 1)),
    )
    expect(settled).toEqual(['changed'])
    expect(await settle(job)).toEqual(['overlap'])
  })

  test('an edit committed meanwhile decides nothing', async () => {
    const { job } = await atSecondTick('QUEUE')
    const settled = await withOldSnapshot(
      job,
      () => settle(job),
      () => job.edit('REPLACE'),
    )
    expect(settled).toEqual(['changed'])
    expect(await job.places()).toEqual([[1, 0, 'held']])
  })

  test('a change of the job in progress does not wait for it', async () => {
    const { job } = await atSecondTick('REPLACE')
    const session = await house().session()
    await session.query('BEGIN')
    await session.query('SELECT FROM carillon.timers WHERE job = $1 FOR UPDATE', [job.key])
    expect(await settle(job)).toEqual(['changed'])
    expect(await job.places()).toEqual([[1, 0, 'held']])
  })

  test('another decision about the same tick: one of them counts', async () => {
    const { job } = await atSecondTick('QUEUE')
    const seen = await planned(job)
    const decisions = await Promise.all([1, 2, 3].map(() => settlePlanned([job], seen)))
    expect(decisions.flat().sort()).toEqual(['changed', 'changed', 'fired'])
    expect(await job.places()).toHaveLength(2)
  })
})

describe('a decision looks for itself, whatever the fire saw before it', () => {
  test.each([
    ['QUEUE', 'was fired after the tick', 'fired_at = $2'],
    ['REPLACE', 'was fired after the tick', 'fired_at = $2'],
    ['QUEUE', 'catches up', 'catch_up = $2::bigint > 0'],
    ['REPLACE', 'catches up', 'catch_up = $2::bigint > 0'],
  ] as const)('%s: a run in the place that %s leaves the tick its turn', async (policy, _what, set) => {
    const { job } = await atSecondTick(policy)
    const before = await timerOf(house(), job)
    const change = `UPDATE carillon.queue SET ${set} WHERE job = $1`
    await house().query(change, [job.key, job.due(2) + 1])
    expect(await settle(job)).toEqual(['changed'])
    expect(await job.places()).toEqual([[1, 0, 'held']])
    expect(await timerOf(house(), job)).toEqual(before)
  })

  test('REPLACE spares a run that catches up and waits for its retry', async () => {
    const { job } = await atSecondTick('REPLACE')
    const now = await house().now()
    await house().query(...put(job, 5, now - 1))
    await house().query(
      `UPDATE carillon.queue SET slot = NULL, catch_up = true, available_at = $2 WHERE job = $1 AND slot = 5`,
      [job.key, now + 60_000],
    )
    expect(await settle(job)).toEqual(['fired'])
    expect((await job.places()).map(([, slot, state]) => [slot, state])).toEqual([
      [0, 'asked'],
      [null, 'ready'],
      [-1, 'ready'],
    ])
    expect(await job.ends()).toEqual([])
  })
})

describe('the epoch', () => {
  test.each(['QUEUE', 'REPLACE'] as const)('refuses an owner that was overtaken: %s', async (policy) => {
    const { job } = await atSecondTick(policy)
    await house().query('UPDATE carillon.partitions SET epoch = epoch + 1')
    expect(await settle(job)).toEqual(['refused'])
    expect(await job.places()).toEqual([[1, 0, 'held']])
    expect(await timerOf(house(), job)).toMatchObject({ due: job.due(2) })
  })

  test('refuses also one that waited for the takeover', async () => {
    const { job } = await atSecondTick('REPLACE')
    const { partition } = await timerOf(house(), job)
    const session = await house().session()
    await session.query('BEGIN')
    await session.query('UPDATE carillon.partitions SET epoch = epoch + 1 WHERE partition = $1', [partition])
    const settled = settle(job)
    await house().lockWaits(1)
    await session.query('COMMIT')
    expect(await settled).toEqual(['refused'])
    expect(await job.places()).toEqual([[1, 0, 'held']])
  })

  test('a takeover waits for a decision in progress', async () => {
    const { job } = await atSecondTick('QUEUE')
    const other = await house().node()
    const gate = await Gate.closeBefore(house(), 'INSERT', 'queue')
    const settled = settle(job)
    await house().lockWaits(1)
    const taken = handAllTo(house(), other)
    await house().lockWaits(2)
    await gate.open()
    expect(await settled).toEqual(['fired'])
    await taken
    expect(await heldNow(house())).toEqual(await taken)
  })
})

test('a lease passes by a run that is just being replaced, and never starts it', async () => {
  const job = await OverlappingJob.register(house(), await house().node(), { overlap_policy: 'REPLACE' })
  await job.toTick(1)
  await house().clock.advance(job.due(2) - (await house().now()))
  await job.node.beat()
  const gate = await Gate.closeBefore(house(), 'DELETE', 'queue')
  const settled = settle(job)
  await house().lockWaits(1)
  expect(await job.lease()).toEqual([])
  await gate.open()
  expect(await settled).toEqual(['fired'])
  expect(await job.leasedTicks()).toEqual([2])
})

test('before the instant nothing is decided, whoever asks', async () => {
  const { job } = await atSecondTick('REPLACE')
  await house().clock.stepDatabase(-1)
  expect(await settle(job)).toEqual(['changed'])
  expect(await job.places()).toEqual([[1, 0, 'held']])
})

test('one statement decides many jobs, each by its own policy', async () => {
  const node = await house().node()
  const policies = ['QUEUE', 'REPLACE', 'QUEUE', 'REPLACE', 'QUEUE'] as const
  const jobs: OverlappingJob[] = []
  for (const overlap_policy of policies) {
    jobs.push(await OverlappingJob.register(house(), node, { overlap_policy, schedule: '*/10 * * * * *' }))
  }
  const [first, second, third, fourth, fifth] = jobs
  if (!first || !second || !third || !fourth || !fifth) throw new Error('five jobs')
  await first.toTick(1)
  await node.leasing.lease(node.membership.incarnation, 100)
  await house().query(
    'UPDATE carillon.queue SET holder = NULL, token = NULL, leased_at = NULL WHERE job = $1',
    [fourth.key],
  )
  await house().query(...put(third, -1, (await house().now()) + 1))
  await house().query('DELETE FROM carillon.queue WHERE job = $1', [fifth.key])
  await house().clock.advance(10_000)
  await node.beat()
  expect(await settle(...jobs)).toEqual(['fired', 'fired', 'overlap', 'fired', 'fired'])
  const slots = await Promise.all(jobs.map((job) => job.places()))
  expect(slots.map((places) => places.map(([, slot, state]) => [slot, state]))).toEqual([
    [
      [0, 'held'],
      [-1, 'ready'],
    ],
    [
      [0, 'asked'],
      [-1, 'ready'],
    ],
    [
      [0, 'held'],
      [-1, 'ready'],
    ],
    [[0, 'ready']],
    [[0, 'ready']],
  ])
})
