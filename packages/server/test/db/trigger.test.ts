import { describe, expect, test } from 'vitest'
import { runIdentityOf } from '../../src/platform/ids.js'
import { closeAll, lease, resultOf } from '../kit/attempts.js'
import { expectAccounted, iso, jobRow, stage, staged } from '../kit/changes.js'
import { Gate } from '../kit/gate.js'
import { ledgerOf, putRuns, queueOf, timerOf } from '../kit/rows.js'
import { type TestNode } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

interface Place {
  due: number
  origin: number
  slot: number | null
  cancel_requested: boolean
}

function placesOf(job: { key: number }): Promise<Place[]> {
  return house().query<Place>('SELECT * FROM carillon.queue WHERE job = $1 ORDER BY origin, due, seq', [
    job.key,
  ])
}

/** Triggers it, and leases the run: it is under way. */
async function running(node: TestNode, job: { job_id: string }) {
  await node.registry.trigger(1, job.job_id)
  const [run] = await lease(node)
  if (run === undefined) throw new Error('The run was not leased.')
  return run
}

describe('a trigger', () => {
  test('makes a run for now, with an identity beside the schedule, and leaves the cursor alone', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 1h', max_retries: 2, max_runs: 1 })
    const before = await timerOf(house(), job)
    await house().clock.advance(5_000)
    const now = await house().now()
    const run = await node.registry.trigger(1, job.job_id)
    expect(run).toMatchObject({
      job_id: job.job_id,
      scheduled_at: iso(now),
      status: 'pending',
      attempt: 1,
      max_attempts: 3,
      version: 1,
      reason: 'waiting_for_worker',
    })
    expect(runIdentityOf(run.run_id)).toMatchObject({ due: now, job: job.key, origin: 1 })
    expect(await timerOf(house(), job)).toEqual(before)
    expect(await jobRow(house(), job)).toMatchObject({ changed_at: now, state: 'active' })
    expect(await lease(node)).toMatchObject([{ origin: 1, due: now }])
    expect(await node.runs(job)).toMatchObject([{ run_id: run.run_id, status: 'running' }])
  })

  test('several times in one millisecond makes as many runs', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 1h', overlap_policy: 'ALLOW' })
    const runs = await Promise.all(Array.from({ length: 5 }, () => node.registry.trigger(1, job.job_id)))
    expect(new Set(runs.map(({ run_id }) => run_id)).size).toBe(5)
    expect(await queueOf(house(), job)).toHaveLength(5)
  })

  test('at the very instant of a tick takes nothing from it', async () => {
    const node = await house().node()
    const { job, tick } = await staged(house(), node, { overlap_policy: 'ALLOW' })
    await house().clock.advance(1_500)
    await node.registry.trigger(1, job.job_id)
    expect(await placesOf(job)).toMatchObject([
      { due: tick, origin: 0 },
      { due: tick, origin: 1 },
    ])
    await expectAccounted(house(), job)
  })

  test('takes a staged tick that is in its way back, and the tick comes all the same', async () => {
    const node = await house().node()
    const { job, tick } = await staged(house(), node)
    const { rev } = await timerOf(house(), job)
    expect(await node.registry.trigger(1, job.job_id)).toMatchObject({ status: 'pending' })
    expect(await placesOf(job)).toMatchObject([{ origin: 1, slot: 0 }])
    expect(await timerOf(house(), job)).toMatchObject({ due: tick, start_at: tick, runs: 0, rev: rev + 1 })
    await expectAccounted(house(), job)
    const [run] = await lease(node)
    if (run === undefined) throw new Error('nothing was leased')
    await closeAll(house(), node.closer, [await resultOf(house(), node, run)])
    await stage(house(), node, 1_500)
    expect(await placesOf(job)).toMatchObject([{ due: tick, origin: 0 }])
  })

  test('does not take back what somebody holds: its policy decides', async () => {
    const node = await house().node()
    const { job, tick } = await staged(house(), node)
    await house().clock.advance(700)
    expect(await lease(node)).toHaveLength(1)
    expect(await node.registry.trigger(1, job.job_id)).toMatchObject({ status: 'skipped', reason: 'overlap' })
    expect(await placesOf(job)).toMatchObject([{ due: tick, cancel_requested: false }])
  })

  test('works while the job is paused, and after it has ended', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: iso((await house().now()) + 1_000) })
    await node.registry.pause(1, job.job_id)
    expect(await node.registry.trigger(1, job.job_id)).toMatchObject({ status: 'pending' })
    const [first] = await lease(node)
    if (first === undefined) throw new Error('nothing was leased')
    await closeAll(house(), node.closer, [await resultOf(house(), node, first)])
    await house().clock.advance(60_000)
    await node.beat()
    await node.registry.resume(1, job.job_id)
    await node.catchUp.runOnce()
    expect(await jobRow(house(), job)).toMatchObject({ state: 'ended' })
    const [tick] = await lease(node)
    if (tick === undefined) throw new Error('nothing was leased')
    await closeAll(house(), node.closer, [await resultOf(house(), node, tick)])
    expect(await node.registry.trigger(1, job.job_id)).toMatchObject({ status: 'pending' })
  })

  test('of a job that is not there is not found', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 1h' })
    await node.registry.delete(1, job.job_id)
    await expect(node.registry.trigger(1, job.job_id)).rejects.toMatchObject({ code: 'job_not_found' })
  })
})

describe('a trigger while a run is under way', () => {
  test('SKIP leaves a record that it was passed over', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 1h' })
    await running(node, job)
    const run = await node.registry.trigger(1, job.job_id)
    expect(run).toMatchObject({ status: 'skipped', reason: 'overlap', attempt: 0 })
    expect(await ledgerOf(house(), job)).toMatchObject([
      { outcome: 'skipped', reason: 'overlap', final: true, attempt: 0 },
    ])
    expect((await node.runs(job)).map(({ run_id }) => run_id)).toContain(run.run_id)
  })

  test('ALLOW with a limit fills the places, then passes over', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 1h', overlap_policy: 'ALLOW', max_concurrent: 3 })
    const statuses = []
    for (let at = 0; at < 4; at++) statuses.push((await node.registry.trigger(1, job.job_id)).status)
    expect(statuses).toEqual(['pending', 'pending', 'pending', 'skipped'])
    expect((await placesOf(job)).map(({ slot }) => slot)).toEqual([0, 1, 2])
  })

  test('QUEUE lets one wait, and passes over the next', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 1h', overlap_policy: 'QUEUE' })
    await running(node, job)
    expect(await node.registry.trigger(1, job.job_id)).toMatchObject({
      status: 'pending',
      reason: 'waiting_for_overlap_place',
    })
    expect(await node.registry.trigger(1, job.job_id)).toMatchObject({ status: 'skipped' })
    expect((await placesOf(job)).map(({ slot }) => slot)).toEqual([0, -1])
  })

  test('QUEUE lets the one that waits go first, once the place is free', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 1h', overlap_policy: 'QUEUE' })
    const run = await running(node, job)
    await node.registry.trigger(1, job.job_id)
    const [, waiting] = await placesOf(job)
    await closeAll(house(), node.closer, [await resultOf(house(), node, run)])
    await house().clock.advance(1)
    await node.registry.trigger(1, job.job_id)
    const places = await placesOf(job)
    expect(places.map(({ slot }) => slot)).toEqual([0, -1])
    expect(places[0]?.due).toBe(waiting?.due)
  })

  test('REPLACE asks the holder to cancel, and waits for the place', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 1h', overlap_policy: 'REPLACE' })
    await running(node, job)
    await house().clock.advance(1)
    await node.registry.trigger(1, job.job_id)
    expect(await placesOf(job)).toMatchObject([
      { slot: 0, cancel_requested: true },
      { slot: -1, cancel_requested: false },
    ])
    await house().clock.advance(1)
    await node.registry.trigger(1, job.job_id)
    expect(await placesOf(job)).toMatchObject([{ slot: 0, cancel_requested: true }, { slot: -1 }])
    expect(await ledgerOf(house(), job)).toMatchObject([
      { outcome: 'cancelled', reason: 'replaced', final: true },
    ])
  })

  test.each([
    ['waits for a worker', 1],
    ['waits for its retry', 2],
  ])('REPLACE ends a run that %s, and takes its place', async (_what, attempt) => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 1h', overlap_policy: 'REPLACE' })
    await putRuns(house(), job, {
      attempt,
      needPlace: true,
      availableAt: (await house().now()) + (attempt - 1) * 9_000,
    })
    await node.registry.trigger(1, job.job_id)
    expect(await placesOf(job)).toMatchObject([{ origin: 1, slot: 0 }])
    expect(await ledgerOf(house(), job)).toMatchObject([
      { outcome: 'cancelled', reason: 'replaced', attempt },
    ])
  })

  test('REPLACE leaves the next tick alone, though it is held already', async () => {
    const node = await house().node()
    const { job, tick } = await staged(house(), node, { overlap_policy: 'REPLACE' })
    await house().clock.advance(700)
    expect(await lease(node)).toHaveLength(1)
    await node.registry.trigger(1, job.job_id)
    expect(await placesOf(job)).toMatchObject([
      { due: tick, origin: 0, slot: 0, cancel_requested: false },
      { origin: 1, slot: -1 },
    ])
  })
})

test('a trigger that waits for a fire in progress sees the place that it took', async () => {
  const node = await house().node()
  const job = await node.register({ schedule: '@every 10s' })
  await house().clock.advance(10_000)
  await node.beat()
  const gate = await Gate.closeBefore(house(), 'INSERT', 'queue')
  const fire = node.firing.runOnce()
  await house().lockWaits(1)
  const triggered = node.registry.trigger(1, job.job_id)
  await house().lockWaits(2)
  await gate.open()
  await fire
  expect(await triggered).toMatchObject({ status: 'skipped', reason: 'overlap' })
  expect(await placesOf(job)).toMatchObject([{ origin: 0, slot: 0 }])
})
