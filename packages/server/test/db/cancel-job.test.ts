import { describe, expect, test } from 'vitest'
import { closeAll, lease, resultOf } from '../kit/attempts.js'
import { expectAccounted, jobRow, stage, staged } from '../kit/changes.js'
import { ledgerOf, putRuns, queueOf, replaysOf, timerOf } from '../kit/rows.js'
import { useHouse } from '../kit/use-house.js'
import { utcText } from '../../src/time/iso-text.js'

const house = useHouse()

test('no tick comes any more; the definition and the history stay, and the name is free', async () => {
  const node = await house().node()
  const job = await node.register({ schedule: '@every 10s', description: 'a report' })
  const cancelled = await node.registry.cancel(1, job.job_id, { reason: 'not needed' })
  const now = await house().now()
  expect(cancelled).toMatchObject({
    state: 'cancelled',
    cancel_reason: 'not needed',
    next_run_at: null,
    description: 'a report',
    version: 1,
    warnings: [],
  })
  expect(Date.parse(cancelled.cancelled_at ?? '')).toBe(now)
  await stage(house(), node, 60_000)
  expect(await queueOf(house(), job)).toEqual([])
  expect(await timerOf(house(), job)).toMatchObject({ due: null })
  expect(await node.registry.get(1, job.job_id)).toEqual(cancelled)
  const next = await node.registry.create(1, { name: job.name, schedule: '@every 5m' })
  expect(next.job_id).not.toBe(job.job_id)
  expect(await node.registry.getByName(1, job.name)).toMatchObject({ job_id: next.job_id })
})

test('a staged tick that has not come is taken back: it was never owed', async () => {
  const node = await house().node()
  const { job } = await staged(house(), node)
  expect(await queueOf(house(), job)).toHaveLength(1)
  await node.registry.cancel(1, job.job_id)
  expect(await queueOf(house(), job)).toEqual([])
  expect(await ledgerOf(house(), job)).toEqual([])
  await expectAccounted(house(), job)
})

test('a tick that was due and not fired has a record with the reason', async () => {
  const node = await house().node()
  const job = await node.register({ schedule: '@every 10s' })
  await house().clock.advance(25_000)
  await node.registry.cancel(1, job.job_id)
  expect(await ledgerOf(house(), job)).toMatchObject([
    { outcome: 'skipped', reason: 'job_cancelled', ticks: 2, final: true },
  ])
  await expectAccounted(house(), job)
})

describe('a run in flight', () => {
  test.each([
    ['that waits for a worker', 1, 0],
    ['that waits for a retry', 2, 60_000],
  ])('%s goes on', async (_name, attempt, aheadMs) => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 1h' })
    await putRuns(house(), job, { attempt, availableAt: (await house().now()) + aheadMs })
    await node.registry.cancel(1, job.job_id)
    expect(await queueOf(house(), job)).toMatchObject([{ cancel_requested: false }])
    await house().clock.advance(aheadMs)
    await node.beat()
    const [run] = await lease(node)
    if (run === undefined) throw new Error('Nothing was leased.')
    await closeAll(house(), node.closer, [
      await resultOf(house(), node, run, { outcome: 'failed', retryable: true }),
    ])
    expect(await queueOf(house(), job)).toMatchObject([{ attempt: attempt + 1, holder: null }])
  })

  test('that a worker holds and whose tick is ahead is cancelled by the worker', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 10s' })
    await stage(house(), node, 9_200)
    await node.worker.leaseOnce()
    await node.registry.cancel(1, job.job_id)
    expect(await queueOf(house(), job)).toMatchObject([{ cancel_requested: true }])
    const look = node.worker.lookOnce()
    await house().finished(node)
    await look
    await house().clock.advance(5_000)
    expect(node.delivered).toEqual([])
    expect(await ledgerOf(house(), job)).toMatchObject([
      { outcome: 'cancelled', final: true, reason: 'cancelled_before_start' },
    ])
  })

  test('that a pause had parked ends as cancelled: a cancel starts nothing', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 1h' })
    await putRuns(house(), job)
    await node.registry.pause(1, job.job_id)
    await node.registry.cancel(1, job.job_id)
    expect(await queueOf(house(), job)).toEqual([])
    expect(await ledgerOf(house(), job)).toMatchObject([
      { outcome: 'cancelled', reason: 'job_cancelled', final: true, available_at: null },
    ])
    expect(await jobRow(house(), job)).toMatchObject({ state: 'cancelled', paused_at: null })
  })
})

test('what was still to be caught up is noted as a range', async () => {
  const node = await house().node()
  const job = await node.register({ schedule: '@every 10s', missed_window: 'RUN_ALL', max_missed: 20 })
  await node.registry.pause(1, job.job_id)
  await house().clock.advance(45_000)
  await node.registry.resume(1, job.job_id)
  expect(await replaysOf(house(), job)).toMatchObject([{ state: 'running', total: 4 }])
  await node.registry.cancel(1, job.job_id)
  expect(await replaysOf(house(), job)).toMatchObject([{ state: 'cancelled' }])
  expect(await ledgerOf(house(), job)).toMatchObject([
    { outcome: 'skipped', reason: 'job_cancelled', ticks: 4 },
  ])
  await expectAccounted(house(), job)
})

test('a cancelled job is not paused, resumed, edited or triggered; a second cancel changes nothing', async () => {
  const node = await house().node()
  const job = await node.register({ schedule: '@every 10s' })
  const { registry } = node
  await registry.cancel(1, job.job_id, { reason: 'first' })
  await house().clock.advance(5_000)
  expect(await registry.cancel(1, job.job_id, { reason: 'second' })).toMatchObject({
    cancel_reason: 'first',
  })
  for (const change of [
    () => registry.pause(1, job.job_id),
    () => registry.resume(1, job.job_id),
    () => registry.edit(1, job.job_id, { payload: 1 }),
    () => registry.rollback(1, job.job_id, { version: 1 }),
    () => registry.trigger(1, job.job_id),
  ]) {
    await expect(change()).rejects.toMatchObject({ code: 'job_cancelled', status: 409 })
  }
})

test('a job that has ended has nothing to cancel; a one-off that is ahead has', async () => {
  const node = await house().node()
  const at = (await house().now()) + 60_000
  const job = await node.register({ schedule: utcText(at) })
  expect(await node.registry.cancel(1, job.job_id)).toMatchObject({ state: 'cancelled' })
  const other = await node.register({ schedule: utcText(at) })
  await stage(house(), node, 61_000)
  await node.firing.runOnce()
  await expect(node.registry.cancel(1, other.job_id)).rejects.toMatchObject({ code: 'job_ended' })
  expect(await queueOf(house(), job)).toEqual([])
})

test('a cancelled job can be deleted, and keeps the instant at which its ticks ended', async () => {
  const node = await house().node()
  const job = await node.register({ schedule: '@every 10s' })
  const { cancelled_at: cancelledAt } = await node.registry.cancel(1, job.job_id)
  await house().clock.advance(60_000)
  await node.registry.delete(1, job.job_id)
  expect(await jobRow(house(), job)).toMatchObject({
    state: 'deleted',
    ended_at: Date.parse(cancelledAt ?? ''),
  })
  expect(await ledgerOf(house(), job)).toEqual([])
  await expect(node.registry.get(1, job.job_id)).rejects.toMatchObject({ code: 'job_not_found' })
})
