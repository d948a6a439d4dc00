import { describe, expect, test } from 'vitest'
import { leaseOne, lease } from '../kit/attempts.js'
import { expectAccounted, holdNextTick, iso, jobRow, parked, stage, staged } from '../kit/changes.js'
import { ledgerOf, putRuns, queueOf, replaysOf, timerOf } from '../kit/rows.js'
import type { TestNode } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()
const minute = 60_000

type Change = (node: TestNode, jobId: string) => Promise<unknown>
const changes: [string, Change][] = [
  ['a pause', (node, jobId) => node.registry.pause(1, jobId)],
  ['an edit', (node, jobId) => node.registry.edit(1, jobId, { payload: 'new' })],
  ['a delete', (node, jobId) => node.registry.delete(1, jobId)],
]

describe.each(changes)('%s', (_name, change) => {
  test('takes back what is staged, raises rev, and tells the owners', async () => {
    const node = await house().node()
    const { job, tick } = await staged(house(), node)
    const { rev } = await timerOf(house(), job)
    await change(node, job.job_id)
    expect(await queueOf(house(), job)).toEqual([])
    const after = await timerOf(house(), job)
    expect(after).toMatchObject({ rev: rev + 1, runs: 0 })
    expect(after.accounted_through).toBeLessThan(tick)
    expect(await jobRow(house(), job)).toMatchObject({ changed_at: await house().now() })
    expect(await ledgerOf(house(), job)).toEqual([])
  })

  test('never steps back over a run that somebody holds', async () => {
    const node = await house().node()
    const { job } = await staged(house(), node, { overlap_policy: 'ALLOW' })
    const held = await holdNextTick(house(), node, job)
    await change(node, job.job_id)
    expect((await timerOf(house(), job)).accounted_through).toBe(held)
    expect(await queueOf(house(), job)).toContainEqual(expect.objectContaining({ due: held, token: 7 }))
    await expectAccounted(house(), job)
  })

  test('leaves what a worker runs to the worker', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 1h' })
    const run = await leaseOne(house(), node, job)
    await change(node, job.job_id)
    expect(await queueOf(house(), job)).toMatchObject([{ due: run.due, token: run.token }])
    expect(await ledgerOf(house(), job)).toEqual([])
  })

  test('is nothing that another tenant could do', async () => {
    const node = await house().node()
    const { job } = await staged(house(), node)
    const before = [await timerOf(house(), job), await queueOf(house(), job)]
    const { registry } = node
    for (const theirs of [
      () => registry.pause(2, job.job_id),
      () => registry.edit(2, job.job_id, { payload: 1 }),
      () => registry.delete(2, job.job_id),
      () => registry.trigger(2, job.job_id),
      () => registry.resume(2, job.job_id),
    ]) {
      await expect(theirs()).rejects.toMatchObject({ code: 'job_not_found' })
    }
    expect([await timerOf(house(), job), await queueOf(house(), job)]).toEqual(before)
  })
})

describe('a delete', () => {
  test('notes what was still to be caught up, as a range that leads on', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 1m', missed_window: 'RUN_ALL', max_missed: 5 })
    await stage(house(), node, 10 * minute + 1_000)
    await node.catchUp.runOnce()
    const [replay] = await replaysOf(house(), job)
    expect(replay).toMatchObject({ total: 5, done: 1, state: 'running' })
    await node.registry.delete(1, job.job_id)
    expect(await replaysOf(house(), job)).toMatchObject([{ state: 'cancelled' }])
    const rows = (await ledgerOf(house(), job)).filter(({ reason }) => reason === 'deleted')
    expect(rows).toMatchObject([
      { due: replay?.from_ms, outcome: 'cancelled', catch_up: true },
      {
        due: replay?.cursor_ms,
        due_to: replay?.to_ms,
        ticks: 4,
        outcome: 'skipped',
        final: true,
        next_due: (replay?.to_ms ?? 0) + minute,
      },
    ])
    await expectAccounted(house(), job)
  })

  test('of a paused job notes the ticks of the pause, and ends what was parked', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 1m' })
    const first = Date.parse(job.next_run_at ?? '')
    await stage(house(), node, minute)
    await node.registry.pause(1, job.job_id, { until: iso((await house().now()) + 60 * minute) })
    expect(await queueOf(house(), job)).toMatchObject([parked])
    await house().clock.advance(3 * minute)
    await node.registry.delete(1, job.job_id)
    expect(await ledgerOf(house(), job)).toMatchObject([
      { due: first, outcome: 'cancelled', reason: 'deleted' },
      { due: first + minute, ticks: 3, outcome: 'skipped', reason: 'deleted' },
    ])
    expect(await jobRow(house(), job)).toMatchObject({ state: 'deleted', paused_until: null })
    await expectAccounted(house(), job)
  })
})

test('a parked run is not taken for a staged one by an edit or a second pause', async () => {
  const node = await house().node()
  const job = await node.register({ schedule: '@every 10s' })
  await stage(house(), node, 10_000)
  await node.registry.pause(1, job.job_id)
  const [before] = await queueOf(house(), job)
  expect(before).toMatchObject(parked)
  await node.registry.edit(1, job.job_id, { payload: 1 })
  await node.registry.pause(1, job.job_id)
  expect(await queueOf(house(), job)).toEqual([before])
  expect((await node.registry.get(1, job.job_id)).next_run_at).toBeNull()
  await node.registry.resume(1, job.job_id)
  expect(await lease(node)).toMatchObject([{ due: before?.due, version: 1 }])
  await expectAccounted(house(), job)
})

test('a retry is no staged tick: an edit leaves it where it is', async () => {
  const node = await house().node()
  const job = await node.register({ schedule: '@every 1h' })
  await putRuns(house(), job, { attempt: 2, availableAt: (await house().now()) + 5_000 })
  const before = await queueOf(house(), job)
  await node.registry.edit(1, job.job_id, { payload: 1 })
  expect(await queueOf(house(), job)).toEqual(before)
})
