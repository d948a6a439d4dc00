import { describe, expect, test } from 'vitest'
import { closeAll, lease, leaseOne, resultOf } from '../kit/attempts.js'
import { parked } from '../kit/changes.js'
import { queueOf } from '../kit/rows.js'
import type { TestNode } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()
const minute = 60_000

describe('an attempt under way when its job is paused', () => {
  async function underWay(node: TestNode) {
    const job = await node.register({ schedule: '@every 1h' })
    return { job, run: await leaseOne(house(), node, job) }
  }

  test('that fails is tried again when the job is resumed, not before', async () => {
    const node = await house().node()
    const { job, run } = await underWay(node)
    await node.registry.pause(1, job.job_id)
    await closeAll(house(), node.closer, [await resultOf(house(), node, run, { outcome: 'failed' })])
    expect(await queueOf(house(), job)).toMatchObject([{ ...parked, attempt: 2 }])
    await node.registry.resume(1, job.job_id)
    expect(await lease(node)).toMatchObject([{ attempt: 2 }])
  })

  test('that loses its worker is tried again when the job is resumed, not before', async () => {
    const [lost, node] = [await house().node(), await house().node()]
    const { job } = await underWay(lost)
    await node.registry.pause(1, job.job_id)
    await lost.leave()
    await node.rescue.runOnce()
    expect(await queueOf(house(), job)).toMatchObject([{ ...parked, attempt: 2 }])
    await node.registry.resume(1, job.job_id)
    expect(await lease(node)).toMatchObject([{ attempt: 2 }])
  })

  test('that its worker gives back, since it shuts down, runs again when the job is resumed, not before', async () => {
    const node = await house().node()
    const { job, run } = await underWay(node)
    await node.registry.pause(1, job.job_id)
    await node.leasing.handBack(node.membership.incarnation, [run])
    expect(await queueOf(house(), job)).toMatchObject([{ ...parked, holder: null, attempt: 1 }])
    expect(await lease(node)).toEqual([])
    await node.registry.resume(1, job.job_id)
    expect(await lease(node)).toMatchObject([{ attempt: 1 }])
  })

  test('that was asked for by hand is tried again in the pause: a trigger works on a paused job', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 1h' })
    await node.registry.pause(1, job.job_id)
    await node.registry.trigger(1, job.job_id)
    const [run] = await lease(node)
    if (run === undefined) throw new Error('The triggered run was not leased.')
    await closeAll(house(), node.closer, [await resultOf(house(), node, run, { outcome: 'failed' })])
    await house().clock.advance(10 * minute)
    await node.beat()
    expect(await lease(node)).toMatchObject([{ attempt: 2, origin: 1 }])
  })
})

/** Resumes or pauses the job between the look of a statement that waits for its run, and what that statement writes. */
describe('an attempt that ends while its job is', () => {
  type Change = 'resumed' | 'paused'
  const changes = {
    resumed: `UPDATE carillon.jobs SET state = 'active', paused_at = NULL WHERE job = $1`,
    paused: `UPDATE carillon.jobs SET state = 'paused', paused_at = 1 WHERE job = $1`,
  }

  /** Both hold the runs of the job from their look until they commit. */
  async function meanwhile(change: Change, job: { key: number }, ending: () => Promise<unknown>) {
    const changing = await house().session()
    await changing.query('BEGIN')
    await changing.query('SELECT FROM carillon.queue WHERE job = $1 FOR UPDATE', [job.key])
    const ended = ending()
    await house().lockWaits(1)
    await changing.query(changes[change], [job.key])
    await changing.query('COMMIT')
    await ended
  }

  test.each<[Change, boolean]>([
    ['resumed', false],
    ['paused', true],
  ])('%s goes by what the job is then', async (change, waits) => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 1h' })
    const run = await leaseOne(house(), node, job)
    if (change === 'resumed') await node.registry.pause(1, job.job_id)
    const result = await resultOf(house(), node, run, { outcome: 'failed' })
    await meanwhile(change, job, () => closeAll(house(), node.closer, [result]))
    const [queued] = await queueOf(house(), job)
    expect(queued?.attempt).toBe(2)
    expect(queued?.available_at === parked.available_at).toBe(waits)
  })

  test.each<[Change, boolean]>([
    ['resumed', false],
    ['paused', true],
  ])('%s and is given back goes by what the job is then', async (change, waits) => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 1h' })
    const run = await leaseOne(house(), node, job)
    if (change === 'resumed') await node.registry.pause(1, job.job_id)
    await meanwhile(change, job, () => node.leasing.handBack(node.membership.incarnation, [run]))
    const [queued] = await queueOf(house(), job)
    expect(queued?.holder).toBeNull()
    expect(queued?.available_at === parked.available_at).toBe(waits)
  })
})
