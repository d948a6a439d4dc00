import { CarillonError } from '@carillon/contract'
import { describe, expect, test } from 'vitest'
import { Account } from '../../src/pipeline/account/account.js'
import { idempotencyKeyOf } from '../../src/pipeline/idempotency-key.js'
import { Backfills } from '../../src/pipeline/register/backfills.js'
import { iso, type TestJob } from '../kit/changes.js'
import { handAllTo, ownerBelieving } from '../kit/owner.js'
import { ledgerOf, queueOf, replaysOf, timerOf } from '../kit/rows.js'
import { failed, succeeded, type TestNode } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()
const hour = 3_600_000
const hourly = { schedule: '0 * * * *', missed_window: 'SKIP', retry_policy: undefined } as const

function backfillsOf(node: TestNode, mostTicks = 100): Backfills {
  return new Backfills({
    database: node.database,
    mostTicks,
    jobOf: (tenant, jobId) => node.registry.find(tenant, jobId),
  })
}

/** The whole hour before now, so many hours back. */
async function hourBack(hours: number): Promise<number> {
  return Math.floor((await house().now()) / hour) * hour - hours * hour
}

async function register(node: TestNode, input: Partial<Parameters<TestNode['register']>[0]> = {}) {
  const { retry_policy: _none, ...plain } = hourly
  return node.register({ ...plain, max_retries: 0, ...input })
}

/** One step of the pace: a run is made, delivered and closed. */
async function step(node: TestNode, afterMs = 1_000): Promise<void> {
  await house().clock.advance(afterMs)
  await node.beat()
  await node.catchUp.runOnce()
  await node.worker.leaseOnce()
  await house().finished(node)
}

async function refused(action: Promise<unknown>): Promise<CarillonError> {
  const error: unknown = await action.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (error instanceof CarillonError) return error
  throw new Error('Nothing was refused.', { cause: error })
}

const verify = async (node: TestNode, job: TestJob, from: number) =>
  new Account({ database: node.database, clock: house().clock, lateToleranceMs: 15_000 }).verify(1, {
    from: iso(from),
    jobId: job.job_id,
    budgetMs: null,
  })

describe('a backfill', () => {
  test('runs the ticks of a range in order, with keys of their own, and says how far it is', async () => {
    const node = await house().node()
    const job = await register(node)
    const backfills = backfillsOf(node)
    const from = await hourBack(5)
    const range = { from: iso(from), to: iso(from + 3 * hour) }
    expect(await backfills.plan(1, job.job_id, { ...range, per_minute: 30 })).toEqual({
      ticks: 3,
      first: iso(from),
      last: iso(from + 2 * hour),
      excluded_done: 0,
      estimated_seconds: 6,
    })
    const { backfill_id: id } = await backfills.start(1, job.job_id, { ...range, reason: 'new report' })
    expect(await backfills.get(1, id)).toMatchObject({
      job_id: job.job_id,
      state: 'running',
      total: 3,
      done: 0,
      eta_seconds: 3,
      reason: 'new report',
    })
    await step(node)
    expect(await backfills.get(1, id)).toMatchObject({ state: 'running', started: 1, done: 1, failed: 0 })
    await step(node)
    await step(node)
    expect(await backfills.get(1, id)).toMatchObject({ state: 'done', done: 3, failed: 0, eta_seconds: 0 })
    expect(node.delivered.map(({ due }) => due)).toEqual([from, from + hour, from + 2 * hour])
    expect(node.delivered.map(({ origin, catchUp }) => [origin, catchUp])).toEqual([
      [2, true],
      [2, true],
      [2, true],
    ])
    const [run] = node.delivered
    if (run === undefined) throw new Error('Nothing ran.')
    const definition = { jobId: job.job_id, definition: job as never }
    expect(idempotencyKeyOf(run, definition)).not.toBe(
      idempotencyKeyOf({ ...run, origin: 0, seq: 0 }, definition),
    )
    // The history shows them, why names them, verify is not confused, and max_runs does not count them.
    expect((await node.runs(job)).map(({ scheduled_at: at, catch_up }) => [at, catch_up])).toEqual(
      [2, 1, 0].map((nth) => [iso(from + nth * hour), true]),
    )
    const account = new Account({ database: node.database, clock: house().clock, lateToleranceMs: 15_000 })
    expect((await account.why(1, job.job_id, iso(from))).summary).toContain(
      `The backfill ${id} ran it: success`,
    )
    expect(await verify(node, job, from - hour)).toMatchObject({ expected: 0, unexpected: 0, findings: [] })
    expect((await timerOf(house(), job)).runs).toBe(0)
    expect((await backfills.list(1, { limit: 10, cursor: null, jobId: job.job_id })).data).toHaveLength(1)
  })

  test('leaves out what succeeded and what is on its way, unless told otherwise', async () => {
    let outcome = failed
    const node = await house().node({ deliver: () => Promise.resolve(outcome) })
    const job = await register(node)
    const backfills = backfillsOf(node)
    const from = await hourBack(6)
    const range = { from: iso(from), to: iso(from + 3 * hour) }
    const first = await backfills.start(1, job.job_id, { ...range, to: iso(from + 2 * hour) })
    await step(node)
    outcome = succeeded
    // The second is still before it: on its way.
    expect(await backfills.plan(1, job.job_id, range)).toMatchObject({ ticks: 2, excluded_done: 1 })
    await step(node)
    expect(await backfills.get(1, first.backfill_id)).toMatchObject({ state: 'done', done: 2, failed: 1 })
    expect(await backfills.plan(1, job.job_id, range)).toMatchObject({
      ticks: 2,
      excluded_done: 1,
      first: iso(from),
      last: iso(from + 2 * hour),
    })
    expect(await backfills.plan(1, job.job_id, { ...range, only_missing: false })).toMatchObject({ ticks: 3 })
    // Made again, none collides with the first: each has its own number.
    await backfills.start(1, job.job_id, { ...range, only_missing: false })
    for (let at = 0; at < 3; at++) await step(node)
    expect(node.delivered.map(({ due }) => (due - from) / hour)).toEqual([0, 1, 0, 1, 2])
  })

  test('leaves out a tick that the schedule itself ran', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 10s' })
    const tick = Date.parse(job.next_run_at ?? '')
    await house().clock.advance(10_100)
    await node.beat()
    await node.firing.runOnce()
    await node.worker.leaseOnce()
    await house().finished(node)
    await house().clock.advance(10_000)
    // The second has come and nobody has fired it yet: it is the schedule's.
    const plan = await backfillsOf(node).plan(1, job.job_id, {
      from: iso(tick),
      to: iso(tick + 10_001),
      only_missing: true,
    })
    expect(plan).toMatchObject({ ticks: 0, excluded_done: 2, first: null })
    const done = await backfillsOf(node).start(1, job.job_id, { from: iso(tick), to: iso(tick + 1) })
    expect(done).toMatchObject({ state: 'done', total: 0, eta_seconds: 0 })
  })

  test('goes no faster than its pace', async () => {
    const node = await house().node()
    const job = await register(node)
    const from = await hourBack(4)
    await backfillsOf(node).start(1, job.job_id, {
      from: iso(from),
      to: iso(from + 3 * hour),
      per_minute: 2,
    })
    await step(node)
    for (let at = 0; at < 5; at++) await step(node, 5_000)
    expect(node.delivered).toHaveLength(1)
    await step(node, 5_000)
    expect(node.delivered).toHaveLength(2)
  })

  test('is refused beyond the cap, with the count; for a range that is ahead, or none', async () => {
    const node = await house().node()
    const job = await register(node)
    const from = await hourBack(20)
    const range = { from: iso(from), to: iso(from + 12 * hour) }
    const many = await refused(backfillsOf(node, 10).start(1, job.job_id, range))
    expect(many).toMatchObject({ code: 'too_many_ticks', status: 422 })
    expect(many.message).toContain('12 ticks')
    const huge = await refused(backfillsOf(node, 1).plan(1, job.job_id, range))
    expect(huge.message).toContain('12 ticks')
    const now = await house().now()
    expect(
      (await refused(backfillsOf(node).plan(1, job.job_id, { from: iso(from), to: iso(now + 1) }))).errors,
    ).toMatchObject([{ pointer: '/to', message: 'must have passed' }])
    expect(
      (await refused(backfillsOf(node).plan(1, job.job_id, { from: iso(from), to: iso(from) }))).code,
    ).toBe('validation_failed')
    expect(await replaysOf(house(), job)).toEqual([])
  })

  test('waits while its job is paused, and goes on when it is resumed', async () => {
    const node = await house().node()
    const job = await register(node)
    const backfills = backfillsOf(node)
    const from = await hourBack(4)
    await node.registry.pause(1, job.job_id)
    const { backfill_id: id } = await backfills.start(1, job.job_id, {
      from: iso(from),
      to: iso(from + 2 * hour),
    })
    await step(node)
    expect(await backfills.get(1, id)).toMatchObject({ state: 'paused', started: 0, eta_seconds: null })
    await node.registry.resume(1, job.job_id)
    await step(node)
    expect(await backfills.get(1, id)).toMatchObject({ state: 'running', done: 1 })
    await node.registry.pause(1, job.job_id)
    await step(node)
    expect(await backfills.get(1, id)).toMatchObject({ state: 'paused', done: 1 })
    await node.registry.resume(1, job.job_id)
    await step(node)
    expect(await backfills.get(1, id)).toMatchObject({ state: 'done', done: 2 })
  })

  test('that is cancelled makes no further run', async () => {
    const node = await house().node()
    const job = await register(node)
    const backfills = backfillsOf(node)
    const from = await hourBack(4)
    const { backfill_id: id } = await backfills.start(1, job.job_id, {
      from: iso(from),
      to: iso(from + 3 * hour),
    })
    await step(node)
    expect(await backfills.cancel(1, id)).toMatchObject({ state: 'cancelled', done: 1, eta_seconds: 0 })
    for (let at = 0; at < 3; at++) await step(node)
    expect(node.delivered).toHaveLength(1)
    expect((await refused(backfills.cancel(1, id))).code).toBe('backfill_ended')
    expect((await refused(backfills.get(2, id))).code).toBe('backfill_not_found')
    expect((await refused(backfills.cancel(2, id))).code).toBe('backfill_not_found')
  })

  test.each(['delete', 'cancel'] as const)(
    'ends with its job (%s), and leaves no record of ticks that nobody owed',
    async (end) => {
      const node = await house().node()
      const job = await register(node)
      const backfills = backfillsOf(node)
      const from = await hourBack(4)
      const { backfill_id: id } = await backfills.start(1, job.job_id, {
        from: iso(from),
        to: iso(from + 3 * hour),
      })
      await node.registry[end](1, job.job_id)
      await step(node)
      expect(await backfills.get(1, id)).toMatchObject({ state: 'cancelled', done: 0 })
      expect(await ledgerOf(house(), job)).toEqual([])
    },
  )

  test('gives way to a fresh tick, which is not skipped for it', async () => {
    const node = await house().node({ deliver: () => new Promise(() => undefined) })
    const job = await node.register({ schedule: '0 * * * *', overlap_policy: 'SKIP' })
    const tick = Date.parse(job.next_run_at ?? '')
    const from = await hourBack(4)
    await backfillsOf(node).start(1, job.job_id, { from: iso(from), to: iso(from + 2 * hour) })
    await house().clock.advance(tick - (await house().now()) + 100)
    await node.beat()
    // Due and not fired: the backfill lets it go first.
    await node.catchUp.runOnce()
    expect(await queueOf(house(), job)).toEqual([])
    await node.firing.runOnce()
    await node.catchUp.runOnce()
    expect(await queueOf(house(), job)).toMatchObject([{ due: tick, catch_up: false }])
  })

  test('holds the place of its job: a tick that comes meanwhile waits its turn', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '0 * * * *', overlap_policy: 'SKIP' })
    const tick = Date.parse(job.next_run_at ?? '')
    const from = await hourBack(4)
    await backfillsOf(node).start(1, job.job_id, { from: iso(from), to: iso(from + hour) })
    await node.catchUp.runOnce()
    expect(await queueOf(house(), job)).toMatchObject([{ due: from, slot: 0, catch_up: true }])
    await house().clock.advance(tick - (await house().now()) + 100)
    await node.beat()
    await node.firing.runOnce()
    expect((await ledgerOf(house(), job)).filter(({ reason }) => reason === 'overlap')).toEqual([])
    await node.worker.leaseOnce()
    await house().finished(node)
    await node.tier.horizon.refresh()
    await house().clock.advance(100)
    await node.firing.runOnce()
    expect(await queueOf(house(), job)).toMatchObject([{ due: tick, catch_up: false }])
  })

  test('goes on where a crash left it, and an owner of an older epoch makes no run', async () => {
    const [one, other] = await house().fleet(2)
    if (one === undefined || other === undefined) throw new Error('There is no fleet.')
    const job = await register(one)
    const backfills = backfillsOf(one)
    const from = await hourBack(5)
    const { backfill_id: id } = await backfills.start(1, job.job_id, {
      from: iso(from),
      to: iso(from + 3 * hour),
    })
    const believes = await handAllTo(house(), one)
    const old = ownerBelieving(house(), { node: one, believes })
    await old.tier.catchUp.runOnce()
    expect(await queueOf(house(), job)).toMatchObject([{ due: from }])
    await one.worker.leaseOnce()
    await house().finished(one)
    // Taken over: what the first believes to own is another's.
    const taken = await handAllTo(house(), other)
    await house().clock.advance(1_000)
    await old.tier.catchUp.runOnce()
    expect(await queueOf(house(), job)).toEqual([])
    expect(old.disowned.length).toBeGreaterThan(0)
    const next = ownerBelieving(house(), { node: other, believes: taken })
    await next.tier.catchUp.runOnce()
    expect(await queueOf(house(), job)).toMatchObject([{ due: from + hour }])
    expect(await backfills.get(1, id)).toMatchObject({ state: 'running', started: 2, done: 1 })
  })

  test('two schedulers that race make each run once', async () => {
    const node = await house().node()
    const job = await register(node, { overlap_policy: 'ALLOW' })
    const from = await hourBack(12)
    await backfillsOf(node).start(1, job.job_id, {
      from: iso(from),
      to: iso(from + 10 * hour),
      per_minute: 600,
    })
    const believes = await handAllTo(house(), node)
    const racers = [1, 2].map(() => ownerBelieving(house(), { node, believes }))
    for (let at = 0; at < 15; at++) {
      await house().clock.advance(200)
      await node.membership.heartbeat()
      await Promise.all(racers.map(({ tier }) => tier.catchUp.runOnce()))
      await node.worker.leaseOnce()
      await house().finished(node)
    }
    expect(node.delivered.map(({ due }) => (due - from) / hour)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    expect(await replaysOf(house(), job)).toMatchObject([{ state: 'done', done: 10, total: 10 }])
  })
})
