import { describe, expect, test } from 'vitest'
import type { LeasedRun } from '../../src/pipeline/run.js'
import { lease } from '../kit/attempts.js'
import { meddleWith } from '../kit/meddle.js'
import { putRuns } from '../kit/rows.js'
import { Tenant } from '../kit/tenants.js'
import type { TestNode } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()
const minuteMs = 60_000

async function oneByOne(node: TestNode, times: number): Promise<LeasedRun[]> {
  const runs: LeasedRun[] = []
  for (let at = 0; at < times; at++) runs.push(...(await lease(node, 1)))
  return runs
}

function countOf(runs: readonly LeasedRun[], tenant: Tenant): number {
  return runs.filter((run) => run.tenant === tenant.key).length
}

async function tenantWith(node: TestNode, count: number, options: { weight?: number; agoMs?: number } = {}) {
  const tenant = await Tenant.make(house(), options)
  const availableAt = (await house().now()) - (options.agoMs ?? 0)
  await putRuns(house(), await tenant.register(node), { count, availableAt })
  return tenant
}

test('what a first look leased is not forgotten when the second, deeper one has to give way', async () => {
  const node = await house().node()
  for (let priority = 0; priority < 10; priority++)
    await putRuns(house(), await node.register({ priority }), { count: priority === 5 ? 60 : 1 })
  let statements = 0
  meddleWith(node.database, 'lease', (send) => {
    statements += 1
    return statements === 2
      ? Promise.reject(Object.assign(new Error('deadlock detected'), { code: '40P01' }))
      : send()
  })
  const runs = await lease(node, 100)
  expect(statements).toBe(2)
  expect(runs.length).toBeGreaterThan(10)
  const [held] = await house().query<{ count: number }>(
    'SELECT count(*)::int AS count FROM carillon.queue WHERE holder IS NOT NULL',
  )
  expect(runs).toHaveLength(held?.count ?? 0)
})

describe('tenants', () => {
  test.each([
    ['in one lease', (node: TestNode) => lease(node, 40)],
    ['one run at a time', (node: TestNode) => oneByOne(node, 40)],
  ])('share a worker by their weights, %s', async (_name, take) => {
    const node = await house().node()
    const heavy = await tenantWith(node, 100, { weight: 300 })
    const light = await tenantWith(node, 100, { weight: 100, agoMs: minuteMs })
    const runs = await take(node)
    expect([countOf(runs, heavy), countOf(runs, light)]).toEqual([30, 10])
  })

  test('a backlog, however old, does not hold up the one run of another', async () => {
    const node = await house().node()
    await tenantWith(node, 2_000, { agoMs: 60 * minuteMs })
    const small = await tenantWith(node, 1)
    expect(countOf(await oneByOne(node, 2), small)).toBe(1)
  })

  test('what one does not need goes to the others', async () => {
    const node = await house().node()
    const large = await tenantWith(node, 100)
    const small = await tenantWith(node, 3)
    const runs = await lease(node, 50)
    expect([countOf(runs, large), countOf(runs, small)]).toEqual([47, 3])
  })

  test('one that had nothing to run has saved up no claim', async () => {
    const node = await house().node()
    const busy = await tenantWith(node, 500)
    await lease(node, 200)
    const late = await tenantWith(node, 100)
    const runs = await oneByOne(node, 20)
    expect(countOf(runs, late)).toBeGreaterThanOrEqual(9)
    expect(countOf(runs, busy)).toBeGreaterThanOrEqual(9)
  })

  test('one that always has a little to run saves up none either', async () => {
    const node = await house().node()
    const busy = await tenantWith(node, 500)
    const little = await Tenant.make(house())
    const job = await little.register(node)
    for (let pass = 0; pass < 5; pass++) {
      await putRuns(house(), job)
      await lease(node, 40)
      await house().clock.advance(1)
    }
    await house().clock.advance(200)
    await putRuns(house(), job, { count: 100 })
    expect(countOf(await oneByOne(node, 20), busy)).toBeGreaterThanOrEqual(9)
  })

  test('the smallest weight beside the largest has its turn', async () => {
    const node = await house().node()
    await tenantWith(node, 300, { weight: 10_000, agoMs: minuteMs })
    const least = await tenantWith(node, 300, { weight: 1 })
    expect(countOf(await lease(node, 100), least)).toBe(1)
  })
})

describe('priority', () => {
  /** One run for each priority and age; answers the order in which they are leased, one by one. */
  async function order(...runs: { priority: number; agoMs: number }[]): Promise<number[]> {
    const node = await house().node()
    const tenant = await Tenant.make(house())
    const now = await house().now()
    const names = new Map<number, number>()
    for (const { priority, agoMs } of runs) {
      const job = await tenant.register(node, { priority })
      await putRuns(house(), job, { availableAt: now - agoMs })
      names.set(job.key, priority)
    }
    return (await oneByOne(node, runs.length)).map(({ job }) => names.get(job) ?? -1)
  }

  test('the higher goes first', async () => {
    const all = [3, 9, 0, 5].map((priority) => ({ priority, agoMs: 0 }))
    expect(await order(...all)).toEqual([9, 5, 3, 0])
  })

  test('the higher overtakes what has waited less than a minute longer for each step', async () => {
    expect(await order({ priority: 5, agoMs: 4 * minuteMs - 1 }, { priority: 9, agoMs: 0 })).toEqual([9, 5])
  })

  test('the lowest goes before the highest once it has waited long enough: none waits for ever', async () => {
    expect(await order({ priority: 9, agoMs: 0 }, { priority: 0, agoMs: 9 * minuteMs + 1 })).toEqual([0, 9])
  })

  test('what is due goes before what is only about to be, whatever its priority', async () => {
    expect(await order({ priority: 9, agoMs: -900 }, { priority: 0, agoMs: 0 })).toEqual([0, 9])
  })

  test('it counts inside a tenant only', async () => {
    const node = await house().node()
    const urgent = await Tenant.make(house())
    await putRuns(house(), await urgent.register(node, { priority: 9 }), { count: 50 })
    const patient = await Tenant.make(house())
    await putRuns(house(), await patient.register(node, { priority: 0 }), { count: 50 })
    expect(countOf(await lease(node, 20), patient)).toBe(10)
  })

  test('a run keeps the priority that it was fired with; an edit counts from the next', async () => {
    const node = await house().node()
    const job = await node.register({ priority: 2, overlap_policy: 'ALLOW' })
    expect(job.priority).toBe(2)
    const priorities = async () =>
      (
        await house().query<{ priority: number }>(
          'SELECT r.priority FROM carillon.queue q JOIN carillon.routes r USING (route) WHERE q.job = $1 ORDER BY due',
          [job.key],
        )
      ).map(({ priority }) => priority)
    await node.registry.trigger(1, job.job_id)
    await house().clock.advance(10)
    const edited = await node.registry.edit(1, job.job_id, { priority: 7 })
    expect(edited.priority).toBe(7)
    await node.registry.trigger(1, job.job_id)
    expect(await priorities()).toEqual([2, 7])
    await house().clock.advance(1_000)
    await node.beat()
    await node.firing.runOnce()
    expect((await priorities()).slice(2).length).toBeGreaterThan(0)
    expect(new Set((await priorities()).slice(1))).toEqual(new Set([7]))
  })
})
