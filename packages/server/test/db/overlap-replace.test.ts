import { describe, expect, test } from 'vitest'
import type { Delivered } from '../../src/pipeline/execute/worker.js'
import { OverlappingJob } from '../kit/overlapping-job.js'
import { ledgerOf, queueOf, timerOf } from '../kit/rows.js'
import { failed, type NodeOptions, succeeded } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

async function replacingJob(
  input: Parameters<typeof OverlappingJob.register>[2] = {},
  options: NodeOptions = {},
): Promise<OverlappingJob> {
  return OverlappingJob.register(house(), await house().node(options), {
    overlap_policy: 'REPLACE',
    ...input,
  })
}

/** A delivery that goes on until the test ends it, or until it is told to stop. */
function slowly() {
  const open: { finish: (delivered: Delivered) => void; signal: AbortSignal }[] = []
  const deliver: NodeOptions['deliver'] = (_run, _definition, { signal }) =>
    new Promise((finish) => {
      open.push({ finish, signal })
    })
  return { open, deliver }
}

describe('a tick of a REPLACE job meets', () => {
  test('a run that nobody has leased: it ends, and the tick has the place at once', async () => {
    const job = await replacingJob({ max_retries: 2 })
    await job.toTick(1)
    const [before] = await queueOf(house(), job)
    await job.toTick(2)
    expect(await job.places()).toEqual([[2, 0, 'ready']])
    expect(await ledgerOf(house(), job)).toMatchObject([
      {
        due: job.due(1),
        outcome: 'cancelled',
        final: true,
        reason: 'replaced',
        attempt: 1,
        epoch: before?.epoch,
        next_due: job.due(2),
        available_at: job.due(1),
        fired_at: before?.fired_at,
        token: null,
      },
    ])
    expect(await timerOf(house(), job)).toMatchObject({ due: job.due(3), accounted_through: job.due(2) })
  })

  test('a run that a worker holds: it is asked to cancel, and the tick waits for its end', async () => {
    const job = await replacingJob()
    await job.toTick(1)
    const first = await job.leaseOne()
    await job.toTick(2)
    expect(await job.places()).toEqual([
      [1, 0, 'asked'],
      [2, -1, 'ready'],
    ])
    expect(await job.ends()).toEqual([])
    expect(await job.lease()).toEqual([])
    await job.close(first, { outcome: 'cancelled', reason: 'replaced' })
    expect(await job.leasedTicks()).toEqual([2])
    expect(await job.ends()).toEqual([[1, 'cancelled', 'replaced']])
  })

  test('one that is held and one that waits: the newest waits, the older one ends', async () => {
    const job = await replacingJob()
    await job.toTick(1)
    await job.leaseOne()
    await job.toTick(2)
    await job.toTick(3)
    expect(await job.places()).toEqual([
      [1, 0, 'asked'],
      [3, -1, 'ready'],
    ])
    expect(await job.ends()).toEqual([[2, 'cancelled', 'replaced']])
  })

  test('one that waits for the place, which has just become free: it ends, and the tick has the place', async () => {
    const job = await replacingJob()
    await job.toTick(1)
    const first = await job.leaseOne()
    await job.toTick(2)
    await job.close(first, { outcome: 'cancelled', reason: 'replaced' })
    await job.toTick(3, -1_500)
    expect(await job.places()).toEqual([[2, -1, 'ready']])
    await job.toTick(3)
    expect(await job.places()).toEqual([[3, 0, 'ready']])
    expect(await job.ends()).toEqual([
      [1, 'cancelled', 'replaced'],
      [2, 'cancelled', 'replaced'],
    ])
  })

  test('one that waits for its retry: it ends at the tick, not before', async () => {
    const job = await replacingJob({ max_retries: 3 })
    await job.toTick(1)
    await job.close(await job.leaseOne(), { outcome: 'failed', retryAfterMs: 60_000 })
    await job.toTick(2, -1_500)
    expect(await job.places()).toEqual([[1, null, 'ready']])
    await job.toTick(2)
    expect(await job.places()).toEqual([[2, 0, 'ready']])
    expect(await job.ends()).toEqual([[1, 'cancelled', 'replaced']])
    expect(await ledgerOf(house(), job)).toMatchObject([
      { attempt: 1, outcome: 'failed', final: false },
      { attempt: 2, outcome: 'cancelled', final: true, error: 'boom' },
    ])
  })

  test('a run that catches up: the tick waits its turn', async () => {
    const job = await replacingJob()
    await job.toTick(1)
    await house().query('UPDATE carillon.queue SET catch_up = true WHERE job = $1', [job.key])
    await job.toTick(2)
    expect(await job.places()).toEqual([[1, 0, 'ready']])
    expect(await timerOf(house(), job)).toMatchObject({ due: job.due(2) })
    await job.close(await job.leaseOne())
    await job.toTick(2, 200)
    expect(await job.places()).toEqual([[2, 0, 'ready']])
  })

  test('a run that catches up and waits for its retry: that one stays', async () => {
    const job = await replacingJob({ max_retries: 3 })
    await job.toTick(1)
    await house().query('UPDATE carillon.queue SET catch_up = true WHERE job = $1', [job.key])
    await job.close(await job.leaseOne(), { outcome: 'failed', retryAfterMs: 60_000 })
    await job.toTick(2)
    expect(await job.places()).toEqual([
      [1, null, 'ready'],
      [2, 0, 'ready'],
    ])
  })

  test('a run that was itself fired late, after this tick: the tick waits its turn', async () => {
    const job = await replacingJob()
    await job.toTick(2, 1)
    await job.toTick(2, 500)
    expect(await job.places()).toEqual([[1, 0, 'ready']])
    expect(await job.ends()).toEqual([])
  })
})

describe('a worker whose run is replaced', () => {
  test('tells a run under way to stop, and records that it was replaced', async () => {
    const { open, deliver } = slowly()
    const job = await replacingJob({ max_retries: 3 }, { deliver })
    await job.toTick(1)
    await job.node.worker.leaseOnce()
    const [delivery] = open
    delivery?.signal.addEventListener('abort', () => delivery.finish({ ...failed, reason: 'worker_stopped' }))
    await job.toTick(2)
    await job.node.worker.lookOnce()
    expect(delivery?.signal.aborted).toBe(true)
    await house().finished(job.node)
    expect(await ledgerOf(house(), job)).toMatchObject([
      { due: job.due(1), outcome: 'cancelled', final: true, reason: 'replaced', started_at: job.due(1) },
    ])
    await job.node.worker.leaseOnce()
    expect(job.node.delivered.map(({ due }) => job.tickOf(due))).toEqual([1, 2])
  })

  test('records what a run came to that did not stop', async () => {
    const { open, deliver } = slowly()
    const job = await replacingJob({}, { deliver })
    await job.toTick(1)
    await job.node.worker.leaseOnce()
    await job.toTick(2)
    await job.node.worker.lookOnce()
    open[0]?.finish(succeeded)
    await house().finished(job.node)
    expect(await job.ends()).toEqual([[1, 'success', null]])
  })

  test('starts no other attempt of one that failed on its way out', async () => {
    const { open, deliver } = slowly()
    const job = await replacingJob({ max_retries: 3 }, { deliver })
    await job.toTick(1)
    await job.node.worker.leaseOnce()
    await job.toTick(2)
    open[0]?.finish(failed)
    await house().finished(job.node)
    expect(await job.ends()).toEqual([[1, 'failed', 'task_error']])
    expect(await job.places()).toEqual([[2, -1, 'ready']])
  })

  test('ends a run that it has not started as replaced', async () => {
    const job = await replacingJob()
    await job.toTick(1)
    // Its start was moved by a fire window, beyond the next tick.
    await house().query('UPDATE carillon.queue SET available_at = $2 WHERE job = $1', [
      job.key,
      job.due(2) + 500,
    ])
    await job.toTick(2, -400)
    await job.node.worker.leaseOnce()
    await job.toTick(2)
    await house().during(job.node.worker.lookOnce(), 0)
    expect(job.node.delivered).toEqual([])
    expect(await job.ends()).toEqual([[1, 'cancelled', 'replaced']])
  })

  test('lets a run under way go on when it is asked to cancel for another reason', async () => {
    const { open, deliver } = slowly()
    const job = await replacingJob({ overlap_policy: 'QUEUE' }, { deliver })
    await job.toTick(1)
    await job.node.worker.leaseOnce()
    await job.toTick(2)
    await house().query('UPDATE carillon.queue SET cancel_requested = true WHERE job = $1 AND slot = 0', [
      job.key,
    ])
    await job.node.worker.lookOnce()
    expect(open[0]?.signal.aborted).toBe(false)
  })

  test('knows it also when the job was edited meanwhile', async () => {
    const { open, deliver } = slowly()
    const job = await replacingJob({}, { deliver })
    await job.toTick(1)
    await job.node.worker.leaseOnce()
    await job.toTick(2)
    await job.edit('QUEUE')
    await job.node.worker.lookOnce()
    expect(open[0]?.signal.aborted).toBe(true)
  })
})

test('a replaced run whose worker died ends there: no other attempt, and the new one starts', async () => {
  const job = await replacingJob({ max_retries: 3 })
  await job.toTick(1)
  await job.leaseOne()
  await job.toTick(2)
  const other = await house().node()
  await house().query(
    "UPDATE carillon.incarnations SET state = 'dead', ended_at = 1 WHERE incarnation = $1",
    [job.node.membership.incarnation],
  )
  await other.rescue.runOnce()
  expect(await job.ends()).toEqual([[1, 'failed', 'worker_lost']])
  await other.leasing.lease(other.membership.incarnation, 10)
  expect(await job.places()).toEqual([[2, 0, 'held']])
})
