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
