import type pg from 'pg'
import { describe, expect, test } from 'vitest'
import { RunTail, type RunTailOptions } from '../../src/pipeline/record/run-tail.js'
import { placeFrom } from '../../src/pipeline/record/tail-place.js'
import { closeAll, lease, leaseOne, resultOf } from '../kit/attempts.js'
import { endAll } from '../kit/letters.js'
import { putRuns } from '../kit/rows.js'
import { Tenant } from '../kit/tenants.js'
import type { TestNode } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

interface Told {
  id: string
  run_id: string
  status: string
}

/** Somebody who watches, and all that was told. */
class Watching {
  readonly told: Told[] = []
  readonly gaps: string[] = []
  place = ''

  readonly leave: () => void

  constructor(
    tail: RunTail,
    { tenant = 1, job = null, from }: { tenant?: number; job?: number | null; from?: string } = {},
  ) {
    this.leave = tail.watch({
      tenant,
      job,
      from: from === undefined ? null : placeFrom(from),
      onRuns: (events, place) => {
        this.told.push(...events.map(({ id, run }) => ({ id, run_id: run.run_id, status: run.status })))
        this.place = place
      },
      onGap: ({ reason }, place) => {
        this.gaps.push(reason)
        this.place = place
      },
    })
  }

  get statuses(): string[] {
    return this.told.map(({ status }) => status)
  }
}

function tailOf(node: TestNode, options: Partial<RunTailOptions> = {}): RunTail {
  return new RunTail({ database: node.database, clock: house().clock, ...options })
}

async function row(session: pg.Client, job: { key: number }, at: number): Promise<void> {
  await session.query(
    `INSERT INTO carillon.ledger (recorded_at, tenant, job, due, origin, seq, outcome, final, round, attempt, version,
                                  epoch, partition)
     SELECT $1::bigint, tenant, job, $1::bigint, 0, 0, 'success', true, 0, 1, 1, 0, partition FROM carillon.jobs WHERE job = $2`,
    [at, job.key],
  )
}

describe('who watches runs', () => {
  test('is told when one begins and when it ends, once each, and of nothing before', async () => {
    const node = await house().node()
    const job = await node.register()
    await putRuns(house(), job)
    await endAll(house(), node, job)
    const tail = tailOf(node)
    const watching = new Watching(tail)
    await tail.runOnce()
    expect(watching.told).toEqual([])
    await house().clock.advance(10)
    const run = await leaseOne(house(), node, job)
    await tail.runOnce()
    await tail.runOnce()
    expect(watching.statuses).toEqual(['running'])
    await closeAll(house(), node.closer, [await resultOf(house(), node, run)])
    await tail.runOnce()
    await tail.runOnce()
    expect(watching.statuses).toEqual(['running', 'success'])
    expect(new Set(watching.told.map((one) => one.run_id)).size).toBe(1)
  })

  test('is told of a run that was leased ahead when its time has come', async () => {
    const node = await house().node()
    const job = await node.register()
    const tail = tailOf(node)
    const watching = new Watching(tail)
    await tail.runOnce()
    await leaseOne(house(), node, job, { availableAt: (await house().now()) + 500 })
    await tail.runOnce()
    expect(watching.statuses).toEqual([])
    await house().clock.advance(600)
    await tail.runOnce()
    await tail.runOnce()
    expect(watching.statuses).toEqual(['running'])
  })

  test('is told that a run waits after an attempt that failed', async () => {
    const node = await house().node()
    const job = await node.register({ max_retries: 2 })
    const tail = tailOf(node)
    const watching = new Watching(tail)
    await tail.runOnce()
    await putRuns(house(), job)
    await endAll(house(), node, job, { outcome: 'failed' })
    await tail.runOnce()
    expect(watching.statuses).toEqual(['pending'])
  })

  test('sees runs of one tenant, or of one job', async () => {
    const node = await house().node()
    const other = await Tenant.make(house())
    const [one, two, foreign] = [await node.register(), await node.register(), await other.register(node)]
    const tail = tailOf(node)
    const [all, only, theirs] = [
      new Watching(tail),
      new Watching(tail, { job: two.key }),
      new Watching(tail, { tenant: other.key }),
    ]
    await tail.runOnce()
    for (const job of [one, two, foreign]) await putRuns(house(), job)
    const results = []
    for (const run of await lease(node)) results.push(await resultOf(house(), node, run))
    await closeAll(house(), node.closer, results)
    await tail.runOnce()
    expect([all, only, theirs].map(({ told }) => told.length)).toEqual([2, 1, 1])
    expect(only.told[0]?.run_id).not.toBe(theirs.told[0]?.run_id)
  })

  test('is told of a row that commits late, after later ones, and only once', async () => {
    const node = await house().node()
    const job = await node.register()
    const tail = tailOf(node)
    const [slow, quick] = [await house().session(), await house().session()]
    const now = await house().now()
    const watching = new Watching(tail)
    await tail.runOnce()
    await slow.query('BEGIN')
    await row(slow, job, now + 1)
    await house().clock.advance(5_000)
    await row(quick, job, now + 5_000)
    await tail.runOnce()
    expect(watching.told).toHaveLength(1)
    await house().clock.advance(20_000)
    await row(quick, job, now + 25_000)
    await tail.runOnce()
    await slow.query('COMMIT')
    await tail.runOnce()
    await tail.runOnce()
    expect(watching.told).toHaveLength(3)
    expect(new Set(watching.told.map((one) => one.run_id)).size).toBe(3)
  })

  test('goes on after any event, at another process, without gaps and without doubles', async () => {
    const node = await house().node()
    const job = await node.register()
    const tail = tailOf(node)
    const slow = await house().session()
    const quick = await house().session()
    const now = await house().now()
    const first = new Watching(tail)
    await tail.runOnce()
    await slow.query('BEGIN')
    await row(slow, job, now + 7)
    for (const at of [1, 2, 3]) await row(quick, job, now + at)
    await tail.runOnce()
    expect(first.told).toHaveLength(3)
    await slow.query('COMMIT')
    for (const at of [4, 5]) await row(quick, job, now + at)
    await tail.runOnce()
    const whole = first.told.map((one) => one.run_id)
    expect(whole).toHaveLength(6)
    for (let cut = 0; cut < whole.length; cut++) {
      const elsewhere = tailOf(node)
      const again = new Watching(elsewhere, { from: first.told[cut]?.id ?? '' })
      await elsewhere.runOnce()
      const rest = again.told.map((one) => one.run_id)
      expect([...whole.slice(0, cut + 1), ...rest].sort()).toEqual([...whole].sort())
      // And once more, cut off amid what was told after the first cut.
      const [next] = again.told
      if (next === undefined) continue
      const thirdTail = tailOf(node)
      const third = new Watching(thirdTail, { from: next.id })
      await thirdTail.runOnce()
      expect(third.told.map((one) => one.run_id)).toEqual(rest.slice(1))
    }
  })

  test('goes on with a run that began meanwhile', async () => {
    const node = await house().node()
    const job = await node.register()
    const tail = tailOf(node)
    const watching = new Watching(tail)
    await tail.runOnce()
    watching.leave()
    await leaseOne(house(), node, job)
    const again = new Watching(tail, { from: watching.place })
    await tail.runOnce()
    await tail.runOnce()
    expect(again.statuses).toEqual(['running'])
  })

  test('is told of a gap where there is too much for one look, and a tenant with little is told all of it', async () => {
    const node = await house().node()
    const other = await Tenant.make(house())
    const [job, small] = [await node.register(), await other.register(node)]
    const tail = tailOf(node, { mostEvents: 5 })
    const [watching, theirs] = [new Watching(tail), new Watching(tail, { tenant: other.key })]
    await tail.runOnce()
    const session = await house().session()
    const now = await house().now()
    for (let n = 0; n < 8; n++) await row(session, job, now + n)
    await row(session, small, now + 9)
    await tail.runOnce()
    expect(watching.gaps).toEqual(['too_many'])
    expect(watching.told).toHaveLength(5)
    expect(theirs.gaps).toEqual([])
    expect(theirs.told).toHaveLength(1)
    await row(session, job, now + 20)
    await tail.runOnce()
    expect(watching.told).toHaveLength(6)
  })

  test('is told of every run that begins, also where another tenant begins more than one look tells', async () => {
    const node = await house().node()
    const other = await Tenant.make(house())
    const mine = await other.register(node)
    const crowd = await Promise.all(
      Array.from({ length: 6 }, (_, n) => node.register({ name: `crowd-${n}` })),
    )
    const tail = tailOf(node, { mostEvents: 5 })
    const [small, large] = [new Watching(tail, { tenant: other.key }), new Watching(tail)]
    await tail.runOnce()
    await putRuns(house(), mine)
    await lease(node)
    await house().clock.advance(20)
    for (const job of crowd) await putRuns(house(), job)
    await lease(node)
    await tail.runOnce()
    expect(small).toMatchObject({ statuses: ['running'], gaps: [] })
    expect(large.told).toHaveLength(5)
    expect(large.gaps).toEqual(['too_many'])
  })

  test('from a place that nobody was told is told nothing that lies longer ago than a look reaches', async () => {
    const node = await house().node()
    const job = await node.register()
    const session = await house().session()
    const now = await house().now()
    await row(session, job, now - 20 * 86_400_000)
    await row(session, job, now - 1_000)
    const tail = tailOf(node)
    const watching = new Watching(tail, { from: `${now}_0_1:1:` })
    await tail.runOnce()
    expect(watching.told).toHaveLength(1)
  })

  test('whose place the database cannot read is told of a gap, and keeps nobody else from being told', async () => {
    const node = await house().node()
    const job = await node.register()
    const tail = tailOf(node)
    const others = new Watching(tail)
    await tail.runOnce()
    await row(await house().session(), job, await house().now())
    const gaps: string[] = []
    const from = { at: await house().now(), since: 0, seen: 'nonsense', within: null }
    tail.watch({
      tenant: 1,
      job: null,
      from,
      onRuns: () => undefined,
      onGap: ({ reason }) => gaps.push(reason),
    })
    await tail.runOnce()
    expect(others.told).toHaveLength(1)
    expect(gaps).toEqual(['too_many'])
    await tail.runOnce()
    expect(gaps).toHaveLength(1)
  })

  test('who comes back after too long begins anew, and knows it', async () => {
    const node = await house().node()
    const job = await node.register()
    const tail = tailOf(node, { longestMs: 60_000 })
    const watching = new Watching(tail)
    await tail.runOnce()
    watching.leave()
    await house().clock.advance(61_000)
    await row(await house().session(), job, await house().now())
    const again = new Watching(tail, { from: watching.place })
    await tail.runOnce()
    expect(again).toMatchObject({ told: [], gaps: ['too_long_ago'] })
  })

  test('costs nothing while nobody watches', async () => {
    const node = await house().node()
    const asked: string[] = []
    const database = Object.create(node.database) as TestNode['database']
    database.snapshot = (work) => {
      asked.push('look')
      return node.database.snapshot(work)
    }
    const tail = new RunTail({ database, clock: house().clock })
    await tail.runOnce()
    expect(asked).toEqual([])
    const watching = new Watching(tail)
    await tail.runOnce()
    watching.leave()
    await tail.runOnce()
    expect(asked).toEqual(['look'])
  })

  test('is told nothing twice after a look that failed', async () => {
    const node = await house().node()
    const job = await node.register()
    const database = Object.create(node.database) as TestNode['database']
    let broken = false
    database.snapshot = async (work) => {
      const result = await node.database.snapshot(work)
      if (broken) throw new Error('the connection is lost at the end')
      return result
    }
    const tail = new RunTail({ database, clock: house().clock })
    const watching = new Watching(tail)
    await tail.runOnce()
    await row(await house().session(), job, await house().now())
    broken = true
    await expect(tail.runOnce()).rejects.toThrow('lost')
    broken = false
    await tail.runOnce()
    expect(watching.told).toHaveLength(1)
  })
})
