import { describe, expect, test } from 'vitest'
import { Gate } from '../kit/gate.js'
import { firePlainly, type PlainParams, plainly } from '../kit/plain-fire.js'
import { queueOf } from '../kit/rows.js'
import { Tenant } from '../kit/tenants.js'
import type { TestNode } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

const tenSeconds = { schedule: '@every 10s' } as const
const http = (host: string) => ({ ...tenSeconds, target: { type: 'http', url: `http://${host}/` } as const })

/** Fires for the node's own worker, which serves the task `task` and no commands. */
async function fire(node: TestNode, job: { key: number }, change: Partial<PlainParams> = {}) {
  const served = { holder: node.membership.incarnation, tasks: ['task'] }
  const answer = await firePlainly(node, await plainly(house(), node, [job], { ...served, ...change }))
  const [run] = await house().query<{
    holder: number | null
    token: number | null
    leased_at: number | null
  }>('SELECT holder, token, leased_at FROM carillon.queue WHERE job = $1', [job.key])
  return { answer, run }
}

const toNobody = { holder: null, token: null, leased_at: null }

test('a run that the worker serves is made as its lease, under a token of its own', async () => {
  const node = await house().node()
  const job = await node.register(tenSeconds)
  const { answer, run } = await fire(node, job)
  expect(run).toMatchObject({ holder: node.membership.incarnation, leased_at: await house().now() })
  expect(answer.tokens).toEqual([run?.token])
  // Tokens only grow, through a failover, too.
  const [row] = await house().query<{ base: number }>('SELECT carillon.timeline_base() AS base')
  expect(run?.token).toBeGreaterThan(row?.base ?? Number.POSITIVE_INFINITY)
  const { answer: next } = await fire(node, await node.register(tenSeconds))
  expect(next.tokens[0]).toBeGreaterThan(run?.token ?? Number.POSITIVE_INFINITY)
})

test('what the worker must know of a host that has no limits comes along', async () => {
  const node = await house().node()
  await node.targets.put(1, 'slow.test', { timeout_seconds: 7 })
  const job = await node.register(http('slow.test'))
  const { answer, run } = await fire(node, job)
  expect(run?.holder).toBe(node.membership.incarnation)
  expect(answer).toMatchObject({ timeouts: [7] })
  expect(answer.slow_routes).toHaveLength(1)
})

describe('a run is made, and leased to nobody,', () => {
  test('where the worker does not serve its task', async () => {
    const node = await house().node()
    const { answer, run } = await fire(node, await node.register(tenSeconds), { tasks: ['other'] })
    expect(run).toEqual(toNobody)
    expect(answer.tokens).toEqual([null])
  })

  test('where the worker runs no commands; where it does, it gets them', async () => {
    const node = await house().node()
    const command = { ...tenSeconds, target: { type: 'command', command: 'true' } as const }
    expect((await fire(node, await node.register(command))).run).toEqual(toNobody)
    expect((await fire(node, await node.register(command), { commands: true })).run).toMatchObject({
      holder: node.membership.incarnation,
    })
  })

  test('where its tenant has a cap', async () => {
    const node = await house().node()
    const tenant = await Tenant.make(house(), { cap: 5 })
    expect((await fire(node, await tenant.register(node, tenSeconds))).run).toEqual(toNobody)
    expect(await tenant.slots()).toEqual({ taken: 0, held: 0 })
  })

  test.each([
    ['a limit of runs at once', { max_concurrent: 5 }],
    ['a limit of runs per second', { rate_per_second: 5 }],
  ])('where its host has %s', async (_name, limits) => {
    const node = await house().node()
    await node.targets.put(1, 'limited.test', limits)
    expect((await fire(node, await node.register(http('limited.test')))).run).toEqual(toNobody)
  })

  test('where the breaker of its host is open', async () => {
    const node = await house().node()
    await node.targets.put(1, 'broken.test', { timeout_seconds: 7 })
    await house().query("UPDATE carillon.targets SET state = 'open', retry_at = 1 WHERE host = 'broken.test'")
    expect((await fire(node, await node.register(http('broken.test')))).run).toEqual(toNobody)
  })

  test('where there is no such process, or it is dead', async () => {
    const node = await house().node()
    const absent = await fire(node, await node.register(tenSeconds), { holder: 987_654 })
    expect(absent.run).toEqual(toNobody)
    await house().query(
      "UPDATE carillon.incarnations SET state = 'dead', ended_at = carillon.now_ms() WHERE incarnation = $1",
      [node.membership.incarnation],
    )
    expect((await fire(node, await node.register(tenSeconds))).run).toEqual(toNobody)
  })

  test('where nobody asked for it', async () => {
    const node = await house().node()
    expect((await fire(node, await node.register(tenSeconds), { holder: null })).run).toEqual(toNobody)
  })
})

test('declaring the worker dead waits for the statement that leases to it', async () => {
  const node = await house().node()
  const job = await node.register(tenSeconds)
  const gate = await Gate.closeBefore(house(), 'INSERT', 'queue')
  const firing = fire(node, job)
  await house().lockWaits(1)
  const judge = await house().session()
  const declared = judge.query(
    "UPDATE carillon.incarnations SET state = 'dead', ended_at = 1 WHERE incarnation = $1",
    [node.membership.incarnation],
  )
  await house().lockWaits(2)
  await gate.open()
  await Promise.all([firing, declared])
  expect((await queueOf(house(), job))[0]?.holder).toBe(node.membership.incarnation)
})
