import { CarillonError } from '@carillon/contract'
import { describe, expect, test } from 'vitest'
import { Account } from '../../src/pipeline/account/account.js'
import { Calendars } from '../../src/pipeline/register/calendars.js'
import { lease } from '../kit/attempts.js'
import { expectAccounted, iso, stage, staged, type TestJob } from '../kit/changes.js'
import { meddleWith } from '../kit/meddle.js'
import { ledgerOf, queueOf, replaysOf, timerOf } from '../kit/rows.js'
import type { TestNode } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()
const tenSeconds = { schedule: '@every 10s' } as const

async function refused(action: Promise<unknown>): Promise<CarillonError> {
  const error: unknown = await action.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (error instanceof CarillonError) return error
  throw new Error('Nothing was refused.', { cause: error })
}

function account(node: TestNode): Account {
  return new Account({ database: node.database, clock: house().clock, lateToleranceMs: 15_000 })
}

async function verified(node: TestNode, job: TestJob) {
  const from = iso(Date.parse(job.created_at))
  return account(node).verify(1, { from, jobId: job.job_id, budgetMs: null })
}

const clean = { unaccounted: 0, doubled: 0, unexpected: 0, wrong_count: 0, findings: [] }
const first = (job: TestJob) => Date.parse(job.next_run_at ?? '')
const skippedRow = { outcome: 'skipped', final: true, reason: 'skipped_by_request', due_to: null, ticks: 1 }

describe('a tick that is skipped', () => {
  test('is not called the next run: that is the one after it, for one job and in the list', async () => {
    const node = await house().node()
    const job = await node.register(tenSeconds)
    const tick = first(job)
    const shown = async () => [
      (await node.registry.get(1, job.job_id)).next_run_at,
      (await node.registry.list(1, { limit: 1, cursor: null })).data[0]?.next_run_at,
    ]
    await node.ticks.skip(1, job.job_id, { at: iso(tick) })
    await node.ticks.skip(1, job.job_id, { at: iso(tick + 20_000) })
    expect(await shown()).toEqual([iso(tick + 10_000), iso(tick + 10_000)])
    await node.ticks.skip(1, job.job_id, { at: iso(tick + 10_000) })
    expect(await shown()).toEqual([iso(tick + 30_000), iso(tick + 30_000)])
    await node.ticks.restore(1, job.job_id, { at: iso(tick) })
    expect(await shown()).toEqual([iso(tick), iso(tick)])
  })

  test('does not run, has one record at its instant, and the next one runs', async () => {
    const node = await house().node()
    const job = await node.register(tenSeconds)
    const tick = first(job)
    expect(await node.ticks.skip(1, job.job_id, { at: iso(tick), reason: 'holiday' })).toMatchObject({
      due: iso(tick),
      state: 'skipped',
      note: 'holiday',
    })
    await stage(house(), node, 9_000)
    // Not before its instant: until then it can be restored.
    expect(await ledgerOf(house(), job)).toEqual([])
    await stage(house(), node, 1_500)
    expect(await ledgerOf(house(), job)).toMatchObject([
      { ...skippedRow, due: tick, next_due: tick + 10_000, attempt: 0 },
    ])
    expect(await queueOf(house(), job)).toEqual([])
    await stage(house(), node, 9_000)
    expect(await queueOf(house(), job)).toMatchObject([{ due: tick + 10_000 }])
    expect((await timerOf(house(), job)).runs).toBe(1)
    await expectAccounted(house(), job)
    expect(await verified(node, job)).toMatchObject({ skipped: 1, ...clean })
    expect(await account(node).why(1, job.job_id, iso(tick))).toMatchObject({
      verdict: 'skipped',
      reason: 'skipped_by_request',
      summary: expect.stringContaining('holiday') as string,
    })
  })

  test('may lie further ahead than the next', async () => {
    const node = await house().node()
    const job = await node.register(tenSeconds)
    const third = first(job) + 20_000
    await node.ticks.skip(1, job.job_id, { at: iso(third) })
    expect(await account(node).why(1, job.job_id, iso(third))).toMatchObject({
      verdict: 'future',
      reason: 'skipped_by_request',
    })
    const { data } = await node.ticks.list(1, job.job_id, { from: undefined, count: 4 })
    expect(data.map(({ state }) => state)).toEqual(['planned', 'planned', 'skipped', 'planned'])
    for (let at = 0; at < 4; at++) {
      await stage(house(), node, 10_000)
      await node.worker.leaseOnce()
      await house().finished(node)
    }
    expect(node.delivered.map(({ due }) => due - third)).toEqual([-20_000, -10_000, 10_000])
    expect(await ledgerOf(house(), job)).toMatchObject([{}, {}, { ...skippedRow, due: third }, {}])
    await expectAccounted(house(), job)
  })

  test('is taken back where it is staged', async () => {
    const node = await house().node()
    const { job, tick } = await staged(house(), node)
    expect(await queueOf(house(), job)).toHaveLength(1)
    await node.ticks.skip(1, job.job_id, { at: iso(tick) })
    expect(await queueOf(house(), job)).toEqual([])
    await stage(house(), node, 2_000)
    expect(await ledgerOf(house(), job)).toMatchObject([{ ...skippedRow, due: tick }])
    await expectAccounted(house(), job)
  })

  test('is refused where a worker holds it, where it has passed, and where it is no tick', async () => {
    const node = await house().node({ leaseAheadMs: 5_000 })
    const { job, tick } = await staged(house(), node)
    expect(await lease(node, 1)).toHaveLength(1)
    const held = await refused(node.ticks.skip(1, job.job_id, { at: iso(tick) }))
    expect(held).toMatchObject({ code: 'tick_in_flight' })
    expect(held.message).toContain('A worker holds')
    const past = await refused(node.ticks.skip(1, job.job_id, { at: iso(tick - 10_000) }))
    expect(['tick_passed', 'tick_not_found']).toContain(past.code)
    await stage(house(), node, 2_000)
    expect(await refused(node.ticks.skip(1, job.job_id, { at: iso(tick) }))).toMatchObject({
      code: 'tick_in_flight',
    })
    const none = await refused(node.ticks.skip(1, job.job_id, { at: iso(tick + 10_001) }))
    expect(none).toMatchObject({ code: 'tick_not_found' })
    expect(none.message).toContain(iso(tick + 20_000))
  })

  test('is refused where its time has come and nobody has fired it yet', async () => {
    const node = await house().node()
    const job = await node.register(tenSeconds)
    await house().clock.advance(10_500)
    expect(await refused(node.ticks.skip(1, job.job_id, { at: iso(first(job)) }))).toMatchObject({
      code: 'tick_passed',
    })
  })

  test('is not run by a fire that was planned before it was asked for', async () => {
    const node = await house().node()
    const job = await node.register(tenSeconds)
    await house().clock.advance(9_000)
    await node.beat()
    // The skip comes between the look at the timer and the firing statement.
    const undo = meddleWith(node.database, 'fire-plain', async (send) => {
      undo()
      await node.ticks.skip(1, job.job_id, { at: iso(first(job)) })
      return send()
    })
    await node.firing.runOnce()
    expect(await queueOf(house(), job)).toEqual([])
    await stage(house(), node, 2_000)
    expect(await ledgerOf(house(), job)).toMatchObject([{ ...skippedRow, due: first(job) }])
  })

  test('runs after all when it is restored before its time', async () => {
    const node = await house().node()
    const job = await node.register(tenSeconds)
    const tick = first(job)
    await node.ticks.skip(1, job.job_id, { at: iso(tick) })
    await stage(house(), node, 9_500)
    expect(await node.ticks.restore(1, job.job_id, { at: iso(tick) })).toMatchObject({ state: 'planned' })
    await node.tier.horizon.refresh()
    await stage(house(), node, 0)
    expect(await queueOf(house(), job)).toMatchObject([{ due: tick, available_at: tick }])
    expect(await house().query('SELECT * FROM carillon.tick_changes')).toEqual([])
    expect(await house().query('SELECT ticks_changed_until FROM carillon.jobs')).toEqual([
      { ticks_changed_until: null },
    ])
  })

  test('ends a one-off without a run', async () => {
    const node = await house().node()
    const at = (await house().now()) + 60_000
    const job = await node.register({ schedule: iso(at) })
    await stage(house(), node, 59_000)
    // Staged, and by that the job has ended: skipping takes it back.
    expect(await queueOf(house(), job)).toHaveLength(1)
    await node.ticks.skip(1, job.job_id, { at: iso(at) })
    expect(await node.registry.get(1, job.job_id)).toMatchObject({ state: 'active' })
    await stage(house(), node, 1_500)
    expect(await node.registry.get(1, job.job_id)).toMatchObject({ state: 'ended' })
    expect(await ledgerOf(house(), job)).toMatchObject([{ ...skippedRow, due: at, next_due: null }])
    expect(await verified(node, job)).toMatchObject({ skipped: 1, ...clean })
  })

  test.each(['SKIP', 'RUN_ONCE', 'RUN_ALL'] as const)(
    'is neither run nor counted with ticks that were missed under %s',
    async (missed_window) => {
      const node = await house().node()
      const job = await node.register({ ...tenSeconds, missed_window, max_missed: 20 })
      const tick = first(job)
      for (const nth of [0, 2, 5]) await node.ticks.skip(1, job.job_id, { at: iso(tick + nth * 10_000) })
      await stage(house(), node, 75_000)
      for (let at = 0; at < 20; at++) {
        await node.firing.runOnce()
        await node.catchUp.runOnce()
        await node.worker.leaseOnce()
        await house().finished(node)
      }
      const ran = new Set(node.delivered.map(({ due }) => (due - tick) / 10_000))
      expect([0, 2, 5].filter((nth) => ran.has(nth))).toEqual([])
      expect(ran.has(6)).toBe(true)
      if (missed_window === 'RUN_ALL') expect([...ran]).toEqual([1, 3, 4, 6])
      const asked = (await ledgerOf(house(), job)).filter(({ reason }) => reason === 'skipped_by_request')
      expect(asked.map(({ due }) => (due - tick) / 10_000)).toEqual([0, 2, 5])
      await expectAccounted(house(), job)
      expect(await verified(node, job)).toMatchObject({ expected: 7, ...clean })
      expect((await account(node).why(1, job.job_id, iso(tick + 20_000))).doubled).toBe(false)
    },
  )

  test('stays so over a pause, and has its record when the job is resumed', async () => {
    const node = await house().node()
    const job = await node.register({ ...tenSeconds, missed_window: 'RUN_ALL', max_missed: 20 })
    const tick = first(job)
    await node.registry.pause(1, job.job_id)
    await node.ticks.skip(1, job.job_id, { at: iso(tick + 10_000) })
    await node.ticks.skip(1, job.job_id, { at: iso(tick + 30_000) })
    await house().clock.advance(45_000)
    await node.beat()
    await node.registry.resume(1, job.job_id)
    expect(await replaysOf(house(), job)).toMatchObject([{ total: 2, from_ms: tick, to_ms: tick + 20_000 }])
    expect((await ledgerOf(house(), job)).map(({ due, reason }) => [(due - tick) / 10_000, reason])).toEqual([
      [1, 'skipped_by_request'],
      [3, 'skipped_by_request'],
    ])
    await expectAccounted(house(), job)
    for (let at = 0; at < 4; at++) {
      await node.catchUp.runOnce()
      await node.worker.leaseOnce()
      await house().finished(node)
    }
    expect(node.delivered.map(({ due }) => (due - tick) / 10_000)).toEqual([0, 2])
    expect(await replaysOf(house(), job)).toMatchObject([{ state: 'done', done: 2 }])
    expect(await verified(node, job)).toMatchObject({ caught_up: 2, skipped: 2, ...clean })
  })

  test('is on record beside the others when its job is deleted late', async () => {
    const node = await house().node()
    const job = await node.register(tenSeconds)
    await node.ticks.skip(1, job.job_id, { at: iso(first(job) + 10_000) })
    await house().clock.advance(35_000)
    await node.registry.delete(1, job.job_id)
    expect(
      (await ledgerOf(house(), job)).map(({ reason, ticks, due_to }) => [reason, ticks, due_to]),
    ).toEqual([
      ['deleted', 2, first(job) + 20_000],
      ['skipped_by_request', 1, null],
    ])
    await expectAccounted(house(), job)
    expect(await verified(node, job)).toMatchObject({ skipped: 3, ...clean })
  })
})

describe('a tick that is moved', () => {
  test('to a later time starts then, and is still the tick that it is', async () => {
    const node = await house().node()
    const job = await node.register(tenSeconds)
    const tick = first(job)
    expect(await node.ticks.move(1, job.job_id, { at: iso(tick), to: iso(tick + 5_000) })).toMatchObject({
      due: iso(tick),
      start_at: iso(tick + 5_000),
      state: 'moved',
    })
    await stage(house(), node, 10_500)
    expect(await queueOf(house(), job)).toEqual([])
    expect((await account(node).why(1, job.job_id, iso(tick))).summary).toContain('moved there on request')
    await stage(house(), node, 3_500)
    expect(await queueOf(house(), job)).toMatchObject([{ due: tick, available_at: tick + 5_000 }])
    await stage(house(), node, 1_500)
    await node.worker.leaseOnce()
    await house().finished(node)
    expect(await ledgerOf(house(), job)).toMatchObject([
      { due: tick, outcome: 'success', available_at: tick + 5_000 },
    ])
    expect(await timerOf(house(), job)).toMatchObject({ due: tick + 10_000, start_at: tick + 10_000 })
    expect(await verified(node, job)).toMatchObject({ ran: 1, late: 0, ...clean })
  })

  test('to an earlier time starts then, and the account holds before and after its own instant', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 1d' })
    const tick = first(job)
    const now = await house().now()
    await node.ticks.move(1, job.job_id, { at: iso(tick + 3 * 86_400_000), to: iso(tick + 2.5 * 86_400_000) })
    await node.ticks.move(1, job.job_id, { at: iso(tick), to: iso(now + 60_000) })
    await stage(house(), node, 60_500)
    await node.worker.leaseOnce()
    await house().finished(node)
    expect(await ledgerOf(house(), job)).toMatchObject([{ due: tick, outcome: 'success', final: true }])
    expect(await verified(node, job)).toMatchObject({ expected: 0, ...clean })
    await stage(house(), node, 86_400_000)
    const whole = await account(node).verify(1, { from: iso(tick - 3_600_000), budgetMs: null })
    expect(whole).toMatchObject({ expected: 1, ran: 1, ...clean })
    await expectAccounted(house(), job)
  })

  test('before the tick before it, after the tick after it, or into the past, is refused', async () => {
    const node = await house().node()
    const job = await node.register(tenSeconds)
    const second = first(job) + 10_000
    const move = (to: number) => refused(node.ticks.move(1, job.job_id, { at: iso(second), to: iso(to) }))
    expect((await move(second - 10_000)).message).toContain('The tick before it')
    expect((await move(second + 10_000)).message).toContain('The tick after it')
    const now = await house().now()
    expect((await move(now - 1)).message).toContain('has passed')
    // Where the one beside it was moved away, there is room.
    await node.ticks.move(1, job.job_id, { at: iso(second + 10_000), to: iso(second + 15_000) })
    await node.ticks.move(1, job.job_id, { at: iso(second), to: iso(second + 14_000) })
    expect((await refused(node.ticks.restore(1, job.job_id, { at: iso(second + 10_001) }))).code).toBe(
      'tick_not_found',
    )
  })

  test('and staged is taken back and staged again at its new time', async () => {
    const node = await house().node()
    const { job, tick } = await staged(house(), node)
    await node.ticks.move(1, job.job_id, { at: iso(tick), to: iso(tick + 8_000) })
    expect(await queueOf(house(), job)).toEqual([])
    expect(await timerOf(house(), job)).toMatchObject({ due: tick, start_at: tick + 8_000 })
    await stage(house(), node, 8_500)
    expect(await queueOf(house(), job)).toMatchObject([{ due: tick, available_at: tick + 8_000 }])
    await expectAccounted(house(), job)
  })

  test('to a later time is not missed by an outage that ends before that', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 1m', missed_window: 'RUN_ONCE' })
    const tick = first(job)
    await node.ticks.move(1, job.job_id, { at: iso(tick + 60_000), to: iso(tick + 110_000) })
    // Nobody fires the first tick, nor looks at the second when it would have been due.
    await stage(house(), node, 60_000 + 80_000)
    expect(await replaysOf(house(), job)).toMatchObject([{ from_ms: tick, to_ms: tick, total: 1 }])
    expect(await timerOf(house(), job)).toMatchObject({ due: tick + 60_000, start_at: tick + 110_000 })
    await stage(house(), node, 29_000)
    expect(await queueOf(house(), job)).toMatchObject([{ due: tick + 60_000, available_at: tick + 110_000 }])
    await expectAccounted(house(), job)
  })

  test('keeps its time over an edit that leaves the schedule as it is, also after its own instant', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 1m' })
    const tick = first(job)
    await node.ticks.move(1, job.job_id, { at: iso(tick), to: iso(tick + 50_000) })
    await stage(house(), node, 80_000)
    await node.registry.edit(1, job.job_id, { payload: 2 })
    expect(await timerOf(house(), job)).toMatchObject({ due: tick, start_at: tick + 50_000 })
    await node.registry.pause(1, job.job_id)
    await node.registry.resume(1, job.job_id)
    expect(await timerOf(house(), job)).toMatchObject({ due: tick, start_at: tick + 50_000 })
    await expectAccounted(house(), job)
    await stage(house(), node, 30_500)
    expect(await queueOf(house(), job)).toMatchObject([{ due: tick, version: 2 }])
  })
})

describe('what was asked of a tick that a change takes away', () => {
  const dropped = () =>
    house().query<{ kind: string; subject: string }>(
      'SELECT kind, subject FROM carillon.alerts ORDER BY alert',
    )

  test('is dropped and told, and stays where the tick stays', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '*/10 * * * * *' })
    const now = await house().now()
    const minute = Math.ceil((now + 30_000) / 60_000) * 60_000
    await node.ticks.skip(1, job.job_id, { at: iso(minute) })
    await node.ticks.skip(1, job.job_id, { at: iso(minute + 10_000) })
    await node.registry.edit(1, job.job_id, { schedule: '*/20 * * * * *' })
    expect(await house().query('SELECT due FROM carillon.tick_changes')).toEqual([{ due: minute }])
    expect(await dropped()).toMatchObject([
      { kind: 'tick_change_dropped', subject: expect.stringContaining(iso(minute + 10_000)) as string },
    ])
    expect(await house().query('SELECT ticks_changed_until FROM carillon.jobs')).toEqual([
      { ticks_changed_until: minute },
    ])
  })

  test('is dropped where a calendar comes to exclude the tick', async () => {
    const node = await house().node()
    const calendars = new Calendars({ database: node.database, onChanged: () => undefined })
    await calendars.put(1, 'closed', { dates: [], blackouts: [] })
    const job = await node.register({ schedule: '0 9 * * *', exclude: ['closed'] })
    const tick = first(job)
    await node.ticks.move(1, job.job_id, { at: iso(tick), to: iso(tick + 3_600_000) })
    await calendars.put(1, 'closed', { dates: [iso(tick).slice(0, 10)], blackouts: [] })
    expect(await house().query('SELECT due FROM carillon.tick_changes')).toEqual([])
    expect(await dropped()).toHaveLength(1)
    expect(await timerOf(house(), job)).toMatchObject({ due: tick + 86_400_000, start_at: tick + 86_400_000 })
    await house().query('DELETE FROM carillon.calendars')
  })

  test('is dropped where the ticks beside it come closer than where it was moved to', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '0 0 * * * *' })
    const tick = first(job)
    await node.ticks.move(1, job.job_id, { at: iso(tick), to: iso(tick + 45 * 60_000) })
    await node.registry.edit(1, job.job_id, { schedule: '0 */30 * * * *' })
    expect(await dropped()).toHaveLength(1)
    await expectAccounted(house(), job)
  })
})
