import { describe, expect, test } from 'vitest'
import { Dice } from '../kit/dice.js'
import { close, heldAt, jobAt, lease, targetRow } from '../kit/hosts.js'
import { putRuns } from '../kit/rows.js'
import { seedsOf } from '../kit/seeds.js'
import { failed } from '../kit/test-house.js'
import { Tenant } from '../kit/tenants.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

describe('the rate of a host', () => {
  test('lets a burst through, then so many a second, and saves up no more than the burst', async () => {
    const node = await house().node()
    const job = await jobAt(node, 'a.test')
    await putRuns(house(), job, { count: 100 })
    await node.targets.put(1, 'a.test', { rate_per_second: 10, burst: 5 })
    expect(await lease(node)).toHaveLength(5)
    expect(await lease(node)).toHaveLength(0)
    await house().clock.advance(99)
    expect(await lease(node)).toHaveLength(0)
    await house().clock.advance(1)
    expect(await lease(node)).toHaveLength(1)
    await house().clock.advance(60_000)
    await node.beat()
    expect(await lease(node)).toHaveLength(5)
  })

  test('holds for a fleet that leases at once, and is used to the full', async () => {
    const nodes = await house().fleet(4)
    const [first] = nodes
    if (first === undefined) throw new Error('A fleet has nodes.')
    const job = await jobAt(first, 'a.test')
    await putRuns(house(), job, { count: 400 })
    await first.targets.put(1, 'a.test', { rate_per_second: 20, burst: 10 })
    let started = 0
    for (let pass = 0; pass < 12; pass++) {
      const leased = await Promise.all([...nodes, ...nodes].map((node) => lease(node, 7)))
      started += leased.flat().length
      // Never more than the bucket gave, never less once everybody asked.
      expect(started).toBe(10 + pass * 5)
      await house().clock.advance(250)
      for (const node of nodes) await node.beat()
    }
  })

  test('takes nothing ahead of its time, so that it holds for starts', async () => {
    const node = await house().node()
    const job = await jobAt(node, 'a.test')
    const other = await jobAt(node, 'b.test')
    const soon = (await house().now()) + 500
    await putRuns(house(), job, { availableAt: soon })
    await putRuns(house(), other, { availableAt: soon })
    await node.targets.put(1, 'a.test', { rate_per_second: 10 })
    expect((await lease(node)).map((run) => run.job)).toEqual([other.key])
    // Neither beside one that is due.
    const due = await jobAt(node, 'a.test')
    await putRuns(house(), due)
    expect((await lease(node)).map((run) => run.job)).toEqual([due.key])
    await house().clock.advance(500)
    expect((await lease(node)).map((run) => run.job)).toEqual([job.key])
  })

  test('goes to the urgent runs of the host first, over its lanes together', async () => {
    const node = await house().node()
    const low = await jobAt(node, 'a.test', { priority: 0 })
    const high = await jobAt(node, 'a.test', { priority: 9 })
    await putRuns(house(), low, { count: 5 })
    await putRuns(house(), high, { count: 2 })
    await node.targets.put(1, 'a.test', { rate_per_second: 1, burst: 3 })
    const jobs = (await lease(node)).map((run) => run.job).sort((a, b) => a - b)
    expect(jobs).toEqual([low.key, high.key, high.key].sort((a, b) => a - b))
  })

  test('leaves other hosts and other tenants alone, and costs its tenant nothing that is held back', async () => {
    const node = await house().node()
    const tenant = await Tenant.make(house())
    const limited = await jobAt(node, 'a.test')
    const free = await jobAt(node, 'b.test')
    const others = await tenant.register(node, { target: { type: 'http', url: 'http://a.test/' } })
    for (const job of [limited, free, others]) await putRuns(house(), job, { count: 20 })
    await node.targets.put(1, 'a.test', { rate_per_second: 1, burst: 1 })
    const runs = await lease(node, 21)
    const of = (job: { key: number }) => runs.filter((run) => run.job === job.key).length
    expect({ limited: of(limited), first: of(free) + of(limited), others: of(others) }).toEqual({
      limited: 1,
      first: 11,
      others: 10,
    })
  })
})

describe('the concurrency of a host', () => {
  test('counts what is held when it is set, and what ends in any way', async () => {
    const node = await house().node()
    const job = await jobAt(node, 'a.test')
    await putRuns(house(), job, { count: 20 })
    const held = await lease(node, 3)
    await node.targets.put(1, 'a.test', { max_concurrent: 5 })
    expect(await targetRow(house(), 'a.test')).toMatchObject({ in_use: 3 })
    const more = await lease(node)
    expect(more).toHaveLength(2)
    expect(await lease(node)).toHaveLength(0)
    await close(house(), node, held.slice(0, 1))
    await close(house(), node, held.slice(1, 2), failed)
    await node.leasing.handBack(node.membership.incarnation, held.slice(2))
    expect(await targetRow(house(), 'a.test')).toMatchObject({ in_use: 2 })
    expect(await lease(node)).toHaveLength(3)
  })

  test('gets the places of a dead worker back', async () => {
    const [node, other] = await house().fleet(2)
    if (node === undefined || other === undefined) throw new Error('A fleet has nodes.')
    const job = await jobAt(node, 'a.test', { max_retries: 5 })
    await putRuns(house(), job, { count: 5 })
    await node.targets.put(1, 'a.test', { max_concurrent: 2 })
    expect(await lease(other)).toHaveLength(2)
    expect(await lease(node)).toHaveLength(0)
    await other.crash()
    await house().query(
      "UPDATE carillon.incarnations SET state = 'dead', ended_at = 1 WHERE incarnation = $1",
      [other.membership.incarnation],
    )
    await node.rescue.runOnce()
    expect(await targetRow(house(), 'a.test')).toMatchObject({ in_use: 0 })
    expect(await lease(node)).toHaveLength(2)
  })

  test('a cap that is lowered below what is held lets nothing new begin until it fits', async () => {
    const node = await house().node()
    const job = await jobAt(node, 'a.test')
    await putRuns(house(), job, { count: 9 })
    await node.targets.put(1, 'a.test', { max_concurrent: 4 })
    const held = await lease(node)
    await node.targets.put(1, 'a.test', { max_concurrent: 1 })
    await close(house(), node, held.slice(0, 3))
    expect(await lease(node)).toHaveLength(0)
    await close(house(), node, held.slice(3))
    expect(await lease(node)).toHaveLength(1)
  })

  test.each(seedsOf(1, 2, 3))(
    'is never exceeded and always used, whatever workers do at once (seed %i)',
    async (seed) => {
      const roll = new Dice(seed)
      const nodes = await house().fleet(3)
      const [first] = nodes
      if (first === undefined) throw new Error('A fleet has nodes.')
      const most = roll.between(1, 6)
      const jobs = [await jobAt(first, 'a.test', { priority: 3 }), await jobAt(first, 'a.test')]
      for (const job of jobs) await putRuns(house(), job, { count: 60 })
      await first.targets.put(1, 'a.test', { max_concurrent: most })
      const holds = new Map(nodes.map((node) => [node, [] as Awaited<ReturnType<typeof lease>>]))
      for (let round = 0; round < 8; round++) {
        await Promise.all(
          nodes.map(async (node) => {
            const held = holds.get(node) ?? []
            const ending = held.splice(0, roll.between(0, held.length))
            const how = roll.between(0, 2)
            const ended =
              how === 0
                ? node.leasing.handBack(node.membership.incarnation, ending)
                : ending.length === 0
                  ? Promise.resolve()
                  : close(house(), node, ending, how === 1 ? undefined : { ...failed, retryable: true })
            const leased = await lease(node, roll.between(1, 5))
            held.push(...leased)
            await ended
          }),
        )
        const held = await heldAt(house(), 'a.test')
        expect(held).toBeLessThanOrEqual(most)
        expect(await targetRow(house(), 'a.test')).toMatchObject({ in_use: held })
        for (const node of nodes) holds.get(node)?.push(...(await lease(node, 2)))
        await house().clock.advance(60_000)
        for (const node of nodes) await node.beat()
      }
      for (const node of nodes) await lease(node)
      expect(await heldAt(house(), 'a.test')).toBe(most)
    },
  )
})

test('the timeout of a host is told to the worker with the lease, and costs no lease ahead', async () => {
  const node = await house().node()
  const job = await jobAt(node, 'a.test')
  await putRuns(house(), job, { availableAt: (await house().now()) + 500 })
  await node.targets.put(1, 'a.test', { timeout_seconds: 7 })
  const [run] = await lease(node)
  expect(run?.guard).toEqual({ probe: false, timeoutMs: 7_000 })
})

test('a job whose URL is edited calls its new host under the limits of that', async () => {
  const node = await house().node()
  const job = await jobAt(node, 'a.test')
  await node.targets.put(1, 'b.test', { rate_per_second: 1, burst: 1 })
  await node.registry.edit(1, job.job_id, { target: { type: 'http', url: 'https://B.test:443/x' } })
  await putRuns(house(), job, { count: 3 })
  expect(await lease(node)).toHaveLength(1)
})

test('with many lanes a pass finds the runs of all of them, and starts with a host that has room', async () => {
  const node = await house().node()
  const job = await jobAt(node, 'a.test')
  await house().query(
    `INSERT INTO carillon.routes (tenant, kind, name) SELECT 1, 'http', 'many-' || n FROM generate_series(1, 300) n`,
  )
  await putRuns(house(), job, { count: 3 })
  await house().query(
    `INSERT INTO carillon.queue (due, job, tenant, route, version, epoch, max_attempts, available_at, fired_at, partition)
     SELECT 1000 + r.route, j.job, 1, r.route, 1, 1, 1, carillon.now_ms(), 1, j.partition
     FROM carillon.jobs j, carillon.routes r WHERE j.job = $1 AND r.name LIKE 'many-%' AND r.route % 3 = 0`,
    [job.key],
  )
  await node.targets.put(1, 'a.test', { rate_per_second: 1, burst: 1 })
  const [{ due }] = (await house().query<{ due: number }>(
    'SELECT count(*)::int AS due FROM carillon.queue WHERE available_at <= carillon.now_ms()',
  )) as [{ due: number }]
  const leased = [...(await lease(node, 30)), ...(await lease(node, 500))]
  expect(leased).toHaveLength(due - 2)
  await house().query("DELETE FROM carillon.routes WHERE name LIKE 'many-%'")
})
