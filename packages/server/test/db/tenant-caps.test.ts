import { expect, test } from 'vitest'
import type { AttemptResult, LeasedRun } from '../../src/pipeline/run.js'
import { closeAll, lease, resultOf } from '../kit/attempts.js'
import { Gate } from '../kit/gate.js'
import { putRuns } from '../kit/rows.js'
import { Tenant } from '../kit/tenants.js'
import type { TestNode } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

async function close(node: TestNode, run: LeasedRun, given: Partial<AttemptResult> = {}): Promise<void> {
  await closeAll(house(), node.closer, [await resultOf(house(), node, run, given)])
}

async function capped(node: TestNode, cap: number, count: number): Promise<Tenant> {
  const tenant = await Tenant.make(house(), { cap })
  await putRuns(house(), await tenant.register(node), { count })
  return tenant
}

test('workers that lease at once never hold more of a tenant than its cap', async () => {
  const workers = await house().fleet(3)
  const [first] = workers
  if (first === undefined) throw new Error('no fleet')
  const tenant = await capped(first, 5, 100)
  await Promise.all(workers.flatMap((node) => [lease(node, 3), lease(node, 3), lease(node, 3)]))
  for (const node of workers) await lease(node, 10)
  expect(await tenant.slots()).toEqual({ taken: 5, held: 5 })
})

test('a lease that comes while another is in progress counts what that one takes', async () => {
  const [one, two] = await house().fleet(2)
  if (one === undefined || two === undefined) throw new Error('no fleet')
  const tenant = await capped(one, 5, 20)
  const gate = await Gate.closeBefore(house(), 'UPDATE', 'queue')
  const first = lease(one, 4)
  await house().lockWaits(1)
  const second = lease(two, 4)
  await house().lockWaits(2)
  await gate.open()
  expect([(await first).length, (await second).length]).toEqual([4, 1])
  expect(await tenant.slots()).toEqual({ taken: 5, held: 5 })
})

test('what a tenant may not take is left to the others', async () => {
  const node = await house().node()
  const tenant = await capped(node, 2, 50)
  await putRuns(house(), await node.register(), { count: 50 })
  const runs = await lease(node, 20)
  expect(runs).toHaveLength(20)
  expect(runs.filter((run) => run.tenant === tenant.key)).toHaveLength(2)
  expect((await lease(node, 20)).filter((run) => run.tenant === tenant.key)).toEqual([])
})

test('a run that is closed, or waits for its retry, gives its tenant the place back', async () => {
  const node = await house().node()
  const tenant = await capped(node, 2, 10)
  const [done, again] = await lease(node, 10)
  if (done === undefined || again === undefined) throw new Error('two runs')
  expect(await lease(node, 10)).toEqual([])
  await close(node, done)
  expect(await tenant.slots()).toEqual({ taken: 1, held: 1 })
  await close(node, again, { outcome: 'failed', retryAfterMs: 60_000 })
  expect(await tenant.slots()).toEqual({ taken: 0, held: 0 })
  expect(await lease(node, 10)).toHaveLength(2)
})

test('a run that is handed back gives its tenant the place back, once', async () => {
  const node = await house().node()
  const tenant = await capped(node, 3, 10)
  const [run] = await lease(node, 10)
  if (run === undefined) throw new Error('no run')
  await node.leasing.handBack(node.membership.incarnation, [run])
  await node.leasing.handBack(node.membership.incarnation, [run])
  expect(await tenant.slots()).toEqual({ taken: 2, held: 2 })
})

test('the runs of a process that died give their tenant the places back', async () => {
  const [worker, peer] = [await house().node(), await house().node()]
  const tenant = await capped(worker, 3, 10)
  expect(await lease(worker, 10)).toHaveLength(3)
  await house().query(
    "UPDATE carillon.incarnations SET state = 'dead', ended_at = 1 WHERE incarnation = $1",
    [worker.membership.incarnation],
  )
  await peer.rescue.runOnce()
  expect(await tenant.slots()).toEqual({ taken: 0, held: 0 })
  expect(await lease(peer, 10)).toHaveLength(3)
})

test('a cap that comes while runs are held counts them, also those of a lease in progress', async () => {
  const node = await house().node()
  const tenant = await Tenant.make(house())
  await putRuns(house(), await tenant.register(node), { count: 20 })
  await lease(node, 4)
  const gate = await Gate.closeBefore(house(), 'UPDATE', 'queue')
  const leasing = lease(node, 2)
  await house().lockWaits(1)
  const capping = tenant.cap(7)
  await house().lockWaits(2)
  await gate.open()
  await Promise.all([leasing, capping])
  expect(await tenant.slots()).toEqual({ taken: 6, held: 6 })
  expect(await lease(node, 10)).toHaveLength(1)
})

test('under a cap that was lowered nothing is leased until it fits; without one everything is', async () => {
  const node = await house().node()
  const tenant = await capped(node, 4, 20)
  const runs = await lease(node, 10)
  await tenant.cap(2)
  for (const run of runs.slice(0, 2)) {
    await close(node, run)
    expect(await lease(node, 10)).toEqual([])
  }
  await close(node, runs[2] as LeasedRun)
  expect(await lease(node, 10)).toHaveLength(1)
  await tenant.cap(null)
  expect(await lease(node, 100)).toHaveLength(15)
})
