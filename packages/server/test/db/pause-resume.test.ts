import type { JobInput } from '@carillon/contract'
import { describe, expect, test } from 'vitest'
import { lease, leaseOne, resultOf, closeAll } from '../kit/attempts.js'
import { expectAccounted, holdNextTick, iso, jobRow, parked, stage, staged } from '../kit/changes.js'
import { Gate } from '../kit/gate.js'
import { ledgerOf, putRuns, queueOf, replaysOf, timerOf } from '../kit/rows.js'
import { succeeded, type TestNode } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()
const minute = 60_000

describe('a pause', () => {
  test('takes a staged tick back, and the cursor with it', async () => {
    const node = await house().node()
    const { job, tick } = await staged(house(), node)
    const before = await timerOf(house(), job)
    await node.registry.pause(1, job.job_id)
    expect(await queueOf(house(), job)).toEqual([])
    expect(await ledgerOf(house(), job)).toEqual([])
    expect(await timerOf(house(), job)).toMatchObject({
      due: null,
      start_at: null,
      rev: before.rev + 1,
      runs: 0,
      accounted_through: tick - 10_000,
    })
    await expectAccounted(house(), job)
  })

  test('is shown with its reason and end, and told to the owners', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 10s' })
    await house().clock.advance(3_000)
    const now = await house().now()
    const until = iso(now + minute)
    expect(await node.registry.pause(1, job.job_id, { reason: 'moving', until })).toMatchObject({
      state: 'paused',
      paused_at: iso(now),
      pause_reason: 'moving',
      paused_until: until,
      next_run_at: null,
      version: 1,
    })
    expect(await jobRow(house(), job)).toMatchObject({ changed_at: now })
    const again = await node.registry.pause(1, job.job_id, { reason: 'still moving' })
    expect(again).toMatchObject({ pause_reason: 'still moving', paused_until: null, paused_at: iso(now) })
    const silent = await node.registry.pause(1, job.job_id, {})
    expect(silent).toMatchObject({ pause_reason: 'still moving', paused_until: null })
  })

  test('asks the holder of a run that has not begun, and never steps back over it', async () => {
    const node = await house().node()
    const { job, tick } = await staged(house(), node)
    await house().clock.advance(700)
    await node.worker.leaseOnce()
    await node.registry.pause(1, job.job_id)
    expect(await queueOf(house(), job)).toMatchObject([{ due: tick, cancel_requested: true }])
    expect(await timerOf(house(), job)).toMatchObject({ due: null, accounted_through: tick })
    const look = node.worker.lookOnce()
    await house().finished(node)
    await look
    await house().clock.advance(5_000)
    expect(node.delivered).toEqual([])
    expect(await ledgerOf(house(), job)).toMatchObject([{ due: tick, outcome: 'cancelled', final: true }])
    await expectAccounted(house(), job)
  })

  test('ends a staged run that lies before one that is held', async () => {
    const node = await house().node()
    const { job, tick } = await staged(house(), node, { overlap_policy: 'ALLOW' })
    const next = await holdNextTick(house(), node, job)
    await node.registry.pause(1, job.job_id)
    expect(await queueOf(house(), job)).toMatchObject([{ due: next, cancel_requested: true }])
    expect(await ledgerOf(house(), job)).toMatchObject([
      { due: tick, outcome: 'cancelled', reason: 'paused', final: true, next_due: next },
    ])
    expect(await timerOf(house(), job)).toMatchObject({ accounted_through: next, runs: 2 })
    await expectAccounted(house(), job)
  })

  test('lets a run go on that is under way', async () => {
    let finish: () => void = () => undefined
    const node = await house().node({
      deliver: () => new Promise((resolve) => (finish = () => resolve(succeeded))),
    })
    const job = await node.register({ schedule: '@every 1h' })
    await putRuns(house(), job)
    await node.worker.leaseOnce()
    await node.registry.pause(1, job.job_id)
    expect(await queueOf(house(), job)).toMatchObject([{ cancel_requested: false }])
    finish()
    await house().finished(node)
    expect(await ledgerOf(house(), job)).toMatchObject([{ outcome: 'success', final: true }])
  })

  test.each([
    ['waits for a worker', 1, 0],
    ['waits for its retry', 2, 60_000],
  ])('parks a run that %s; resuming lets it go on', async (_what, attempt, aheadMs) => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 1h' })
    await putRuns(house(), job, { attempt, availableAt: (await house().now()) + aheadMs, needPlace: true })
    await node.registry.pause(1, job.job_id)
    expect(await queueOf(house(), job)).toMatchObject([{ ...parked, attempt }])
    await house().clock.advance(10 * minute)
    expect(await lease(node)).toEqual([])
    expect(await node.runs(job)).toMatchObject([
      { status: 'pending', reason: 'job_paused', available_at: null },
    ])
    await node.beat()
    await node.registry.resume(1, job.job_id)
    expect(await lease(node)).toMatchObject([{ attempt }])
  })

  test('gives the place of a parked run to a trigger', async () => {
    const node = await house().node()
    const { job } = await staged(house(), node)
    await house().clock.advance(1_500)
    await node.registry.pause(1, job.job_id)
    expect(await queueOf(house(), job)).toMatchObject([parked])
    expect(await node.registry.trigger(1, job.job_id)).toMatchObject({ status: 'pending' })
    expect(await lease(node)).toMatchObject([{ origin: 1 }])
  })

  test('stops catching up, and resuming goes on with it', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 1m', missed_window: 'RUN_ALL', max_missed: 5 })
    await stage(house(), node, 10 * minute + 1_000)
    expect(await replaysOf(house(), job)).toMatchObject([{ state: 'running', total: 5 }])
    await node.registry.pause(1, job.job_id)
    expect(await replaysOf(house(), job)).toMatchObject([{ state: 'paused' }])
    await node.catchUp.runOnce()
    expect(await queueOf(house(), job)).toEqual([])
    await node.registry.resume(1, job.job_id)
    await node.catchUp.runOnce()
    expect(await queueOf(house(), job)).toMatchObject([{ catch_up: true }])
    await expectAccounted(house(), job)
  })

  test('of a one-off whose tick is staged brings it back to life', async () => {
    const node = await house().node()
    const tick = (await house().now()) + 10_000
    const job = await node.register({ schedule: iso(tick), name: 'once' })
    await stage(house(), node, 8_500)
    expect(await jobRow(house(), job)).toMatchObject({ state: 'ended' })
    await node.registry.pause(1, job.job_id)
    expect(await jobRow(house(), job)).toMatchObject({ state: 'paused', ended_at: null })
    expect(await queueOf(house(), job)).toEqual([])
    await node.registry.resume(1, job.job_id)
    expect(await timerOf(house(), job)).toMatchObject({ due: tick, start_at: tick, runs: 0 })
  })

  test('of a job that has ended is refused', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: iso((await house().now()) + 1_000) })
    await stage(house(), node, 1_000)
    for (const change of [
      () => node.registry.pause(1, job.job_id),
      () => node.registry.resume(1, job.job_id),
      () => node.registry.edit(1, job.job_id, { payload: 1 }),
    ]) {
      await expect(change()).rejects.toMatchObject({ code: 'job_ended', status: 409 })
    }
  })

  test('with an end that has passed, or is no instant, is refused and changes nothing', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 10s' })
    for (const until of [iso(await house().now()), 'tomorrow']) {
      await expect(node.registry.pause(1, job.job_id, { until })).rejects.toMatchObject({
        code: 'validation_failed',
        errors: [{ pointer: '/until' }],
      })
    }
    expect(await jobRow(house(), job)).toMatchObject({ state: 'active' })
  })
})

describe('a pause and a fire at once', () => {
  test('a pause that waits for a fire in progress takes back what it fired', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 10s' })
    await house().clock.advance(8_500)
    await node.beat()
    const gate = await Gate.closeBefore(house(), 'INSERT', 'queue')
    const fire = node.firing.runOnce()
    await house().lockWaits(1)
    const paused = node.registry.pause(1, job.job_id)
    await house().lockWaits(2)
    await gate.open()
    await Promise.all([fire, paused])
    expect(await queueOf(house(), job)).toEqual([])
    await expectAccounted(house(), job)
  })

  test('a fire that saw the timer before the pause fires nothing after it', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 10s' })
    await house().clock.advance(10_000)
    await node.beat()
    const keeper = await house().session()
    await keeper.query('BEGIN')
    await keeper.query('SELECT FROM carillon.partitions FOR UPDATE')
    const fire = node.firing.runOnce()
    await house().lockWaits(1)
    await node.registry.pause(1, job.job_id)
    await keeper.query('ROLLBACK')
    await fire
    expect(await queueOf(house(), job)).toEqual([])
  })

  test('a pause that waits for a lease in progress asks the new holder', async () => {
    const node = await house().node({ leaseAheadMs: 5_000 })
    const { job, tick } = await staged(house(), node)
    const gate = await Gate.closeBefore(house(), 'UPDATE', 'queue')
    const leasing = lease(node)
    await house().lockWaits(1)
    const paused = node.registry.pause(1, job.job_id)
    await house().lockWaits(2)
    await gate.open()
    await paused
    expect(await leasing).toHaveLength(1)
    expect(await queueOf(house(), job)).toMatchObject([{ due: tick, cancel_requested: true }])
    expect(await timerOf(house(), job)).toMatchObject({ accounted_through: tick })
  })

  test('a pause that waits for a retry in the making parks it', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 1h' })
    const run = await leaseOne(house(), node, job)
    const failure = await resultOf(house(), node, run, { outcome: 'failed' })
    const gate = await Gate.closeBefore(house(), 'UPDATE', 'queue')
    const closing = closeAll(house(), node.closer, [failure])
    await house().lockWaits(1)
    const paused = node.registry.pause(1, job.job_id)
    await house().lockWaits(2)
    await gate.open()
    await paused
    expect(await closing).toEqual(['retrying'])
    expect(await queueOf(house(), job)).toMatchObject([{ ...parked, attempt: 2 }])
  })
})

/** Paused from just before its first tick; ten minutely ticks come in the pause; resumed half a minute after the last. */
async function pausedForTen(node: TestNode, input: Partial<JobInput>) {
  const job = await node.register({ schedule: '@every 1m', ...input })
  const first = Date.parse(job.next_run_at ?? '')
  await node.registry.pause(1, job.job_id)
  await house().clock.advance(10 * minute + 30_000)
  await node.beat()
  await node.registry.resume(1, job.job_id)
  const tick = (number: number) => first + (number - 1) * minute
  return { job, tick }
}

/** How far a job is spread hangs on its id, which is random: one in fifty has less than a second. */
async function spreadJob(node: TestNode) {
  for (;;) {
    const job = await node.register({ schedule: '@every 1m', jitter_seconds: 50 })
    const before = await timerOf(house(), job)
    const spread = (before.start_at ?? 0) - (before.due ?? 0)
    if (spread > 1_000) return { job, before, spread }
  }
}

describe('the ticks of a pause', () => {
  test('SKIP passes over all of them, in one row that leads to the next', async () => {
    const node = await house().node()
    const { job, tick } = await pausedForTen(node, { missed_window: 'SKIP' })
    expect(await ledgerOf(house(), job)).toMatchObject([
      {
        due: tick(1),
        due_to: tick(10),
        ticks: 10,
        outcome: 'skipped',
        reason: 'paused',
        final: true,
        next_due: tick(11),
      },
    ])
    expect(await replaysOf(house(), job)).toEqual([])
    expect(await timerOf(house(), job)).toMatchObject({ due: tick(11), accounted_through: tick(10), runs: 0 })
    expect(await jobRow(house(), job)).toMatchObject({ state: 'active', paused_at: null, pause_reason: null })
    await expectAccounted(house(), job)
  })

  test('RUN_ONCE runs the latest', async () => {
    const node = await house().node()
    const { job, tick } = await pausedForTen(node, { missed_window: 'RUN_ONCE' })
    expect(await ledgerOf(house(), job)).toMatchObject([
      { due: tick(1), due_to: tick(9), ticks: 9, reason: 'paused', next_due: tick(10) },
    ])
    expect(await replaysOf(house(), job)).toMatchObject([
      {
        from_ms: tick(10),
        to_ms: tick(10),
        cursor_ms: tick(10),
        total: 1,
        state: 'running',
        reason: 'paused',
      },
    ])
    expect(await timerOf(house(), job)).toMatchObject({ due: tick(11), accounted_through: tick(10), runs: 1 })
    await node.catchUp.runOnce()
    expect(await queueOf(house(), job)).toMatchObject([{ due: tick(10), catch_up: true }])
  })

  test.each<[string, Partial<JobInput>, number]>([
    ['max_missed of them', { max_missed: 4 }, 4],
    ['those within the grace', { max_missed: 100, misfire_grace_seconds: 180 }, 3],
    ['all of them', { max_missed: 100 }, 10],
    ['no more than max_runs leaves', { max_missed: 100, max_runs: 2 }, 2],
  ])('RUN_ALL runs %s', async (_what, input, count) => {
    const node = await house().node()
    const { job, tick } = await pausedForTen(node, { missed_window: 'RUN_ALL', ...input })
    expect(await replaysOf(house(), job)).toMatchObject([
      { from_ms: tick(11 - count), to_ms: tick(10), total: count, reason: 'paused' },
    ])
    const skipped = count === 10 ? [] : [{ due: tick(1), ticks: 10 - count, reason: 'paused' }]
    expect(await ledgerOf(house(), job)).toMatchObject(skipped)
    await expectAccounted(house(), job)
  })

  test('that are the last ones end the job', async () => {
    const node = await house().node()
    const { job } = await pausedForTen(node, { missed_window: 'RUN_ALL', max_missed: 100, max_runs: 2 })
    expect(await jobRow(house(), job)).toMatchObject({ state: 'ended', paused_at: null })
    expect(await timerOf(house(), job)).toMatchObject({ due: null, runs: 2 })
  })

  test('include those that were owed before it, because the scheduler was late', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 1m', missed_window: 'SKIP' })
    const first = Date.parse(job.next_run_at ?? '')
    await house().clock.advance(2 * minute)
    await node.registry.pause(1, job.job_id)
    await house().clock.advance(2 * minute)
    await node.registry.resume(1, job.job_id)
    expect(await ledgerOf(house(), job)).toMatchObject([{ due: first, ticks: 4, reason: 'paused' }])
  })

  test('are none where the start of the tick is still ahead: it comes as if nothing had been', async () => {
    const node = await house().node()
    const { job, before, spread } = await spreadJob(node)
    await house().clock.advance(minute + spread - 500)
    await node.registry.pause(1, job.job_id)
    await house().clock.advance(400)
    await node.registry.resume(1, job.job_id)
    expect(await timerOf(house(), job)).toMatchObject({ due: before.due, start_at: before.start_at })
    expect(await ledgerOf(house(), job)).toEqual([])
  })

  test('and the next tick fires in its own time', async () => {
    const node = await house().node()
    const { job, tick } = await pausedForTen(node, { missed_window: 'SKIP' })
    await stage(house(), node, 30_000)
    expect(await queueOf(house(), job)).toMatchObject([{ due: tick(11), catch_up: false }])
  })
})

test('resuming a job that is not paused leaves it as it is', async () => {
  const node = await house().node()
  const { job } = await staged(house(), node)
  const before = [await timerOf(house(), job), await queueOf(house(), job)]
  expect(await node.registry.resume(1, job.job_id)).toMatchObject({ state: 'active' })
  expect([await timerOf(house(), job), await queueOf(house(), job)]).toEqual(before)
})
