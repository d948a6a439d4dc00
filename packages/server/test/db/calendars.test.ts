import type { CalendarInput } from '@carillon/contract'
import { afterEach, describe, expect, test } from 'vitest'
import { Calendars } from '../../src/pipeline/register/calendars.js'
import { expectAccounted, iso, jobRow, segmentsOf, stage, staged } from '../kit/changes.js'
import { Gate } from '../kit/gate.js'
import { meddleWith } from '../kit/meddle.js'
import { ledgerOf, queueOf, replaysOf, timerOf } from '../kit/rows.js'
import type { TestNode } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()
afterEach(async () => void (await house().query('DELETE FROM carillon.calendars')))
const minute = 60_000

function calendarsOf(node: TestNode, chunk = 1_000): Calendars {
  return new Calendars({ database: node.database, onChanged: () => undefined, chunk })
}

const nothing: CalendarInput = { dates: [] }
const closed = (from: number, to: number): CalendarInput => ({
  dates: [],
  blackouts: [{ from: iso(from), to: iso(to), reason: 'closed' }],
})

describe('a calendar', () => {
  test('is put, read, listed and deleted, by tenant', async () => {
    const node = await house().node()
    const calendars = calendarsOf(node)
    const now = await house().now()
    const made = await calendars.put(1, 'holidays', { dates: ['2026-12-25'] })
    expect(made).toEqual({
      name: 'holidays',
      version: 1,
      dates: ['2026-12-25'],
      blackouts: [],
      updated_at: iso(now),
      jobs: 0,
    })
    await node.register({ schedule: '0 9 * * *', exclude: ['holidays'] })
    expect(await calendars.get(1, 'holidays')).toEqual({ ...made, jobs: 1 })
    expect(await calendars.put(1, 'holidays', { dates: ['2026-12-26'] })).toMatchObject({
      version: 2,
      jobs: 1,
    })
    expect(await calendars.put(1, 'holidays', { dates: ['2026-12-26'] })).toMatchObject({ version: 2 })
    expect((await calendars.list(1)).data).toHaveLength(1)
    expect((await calendars.list(2)).data).toEqual([])
    await expect(calendars.get(2, 'holidays')).rejects.toMatchObject({ code: 'calendar_not_found' })
  })

  test('that a live job names cannot be deleted, and can be once none does', async () => {
    const node = await house().node()
    const calendars = calendarsOf(node)
    await calendars.put(1, 'holidays', nothing)
    const job = await node.register({ name: 'user', schedule: '0 9 * * *', exclude: ['holidays'] })
    await expect(calendars.delete(1, 'holidays')).rejects.toMatchObject({
      code: 'calendar_in_use',
      status: 409,
    })
    await node.registry.edit(1, job.job_id, { exclude: null })
    await calendars.delete(1, 'holidays')
    await expect(calendars.delete(1, 'holidays')).rejects.toMatchObject({ code: 'calendar_not_found' })
  })

  test.each<[string, string, CalendarInput, string]>([
    ['a date that is none', 'x', { dates: ['2026-12-25', '2026-02-30'] }, '/dates/1'],
    ['a range backwards', 'x', { dates: ['2026-12-25/2026-12-24'] }, '/dates/0'],
    ['a blackout backwards', 'x', closed(5_000, 4_000), '/blackouts/0'],
    ['a name like a date', '2026-12-25', nothing, 'path:name'],
  ])('refuses %s', async (_what, name, input, pointer) => {
    const node = await house().node()
    await expect(calendarsOf(node).put(1, name, input)).rejects.toMatchObject({
      code: 'invalid_calendar',
      errors: [{ pointer }],
    })
    expect((await calendarsOf(node).list(1)).data).toEqual([])
  })
})

describe('a change of a calendar', () => {
  test('takes staged ticks back and sets the next ones; the old content stays with what it decided', async () => {
    const node = await house().node()
    const calendars = calendarsOf(node)
    await calendars.put(1, 'closed', nothing)
    const { job, tick } = await staged(house(), node, { exclude: ['closed'] })
    const other = await node.register({ schedule: '@every 1h' })
    const untouched = await timerOf(house(), other)
    const before = await timerOf(house(), job)
    const now = await house().now()
    await calendars.put(1, 'closed', closed(tick, tick + 25_000))
    expect(await queueOf(house(), job)).toEqual([])
    expect(await timerOf(house(), job)).toMatchObject({ due: tick + 30_000, rev: before.rev + 1, runs: 0 })
    expect(await jobRow(house(), job)).toMatchObject({ effective_from: now, changed_at: now, version: 1 })
    expect(await segmentsOf(house(), job)).toMatchObject([
      { version: 1, reason: 'calendar', calendars: { closed: { dates: [], blackouts: [] } } },
    ])
    expect(await timerOf(house(), other)).toEqual(untouched)
    await expectAccounted(house(), job)
    await stage(house(), node, 31_500)
    expect(await queueOf(house(), job)).toMatchObject([{ due: tick + 30_000 }])
  })

  test('leaves a held run alone, and holds from after it', async () => {
    const node = await house().node({ leaseAheadMs: 5_000 })
    const calendars = calendarsOf(node)
    await calendars.put(1, 'closed', nothing)
    const { job, tick } = await staged(house(), node, { exclude: ['closed'] })
    await node.worker.leaseOnce()
    await calendars.put(1, 'closed', closed(tick, tick + 15_000))
    expect(await queueOf(house(), job)).toMatchObject([{ due: tick, cancel_requested: false }])
    expect(await timerOf(house(), job)).toMatchObject({ due: tick + 20_000, accounted_through: tick })
    await expectAccounted(house(), job)
  })

  test('lets ticks that were due before it run by the old content', async () => {
    const node = await house().node()
    const calendars = calendarsOf(node)
    await calendars.put(1, 'closed', nothing)
    const job = await node.register({ schedule: '@every 5s', exclude: ['closed'] })
    const first = Date.parse(job.next_run_at ?? '')
    await house().clock.advance(11_000)
    await calendars.put(1, 'closed', closed(first, first + minute))
    expect(await replaysOf(house(), job)).toMatchObject([{ from_ms: first, total: 2, reason: 'edited' }])
    await expectAccounted(house(), job)
  })

  test('leaves what is caught up to the content that named its ticks', async () => {
    const node = await house().node()
    const calendars = calendarsOf(node)
    await calendars.put(1, 'closed', nothing)
    const job = await node.register({
      schedule: '@every 10m',
      exclude: ['closed'],
      missed_window: 'RUN_ALL',
    })
    const first = Date.parse(job.next_run_at ?? '')
    await stage(house(), node, 45 * minute)
    expect(await replaysOf(house(), job)).toMatchObject([{ from_ms: first, total: 4, done: 0 }])
    await calendars.put(1, 'closed', closed(first + 5 * minute, first + 25 * minute))
    for (let step = 0; step < 5; step++) {
      await node.catchUp.runOnce()
      await expectAccounted(house(), job)
      await node.worker.leaseOnce()
      await house().finished(node)
    }
    expect(node.delivered.map(({ due }) => (due - first) / minute)).toEqual([0, 10, 20, 30])
    expect(await replaysOf(house(), job)).toMatchObject([{ state: 'done', done: 4 }])
  })

  test('reaches paused jobs, which stay paused', async () => {
    const node = await house().node()
    const calendars = calendarsOf(node)
    await calendars.put(1, 'closed', nothing)
    const job = await node.register({ schedule: '@every 10s', exclude: ['closed'], missed_window: 'SKIP' })
    const first = Date.parse(job.next_run_at ?? '')
    await node.registry.pause(1, job.job_id)
    await house().clock.advance(11_000)
    await calendars.put(1, 'closed', closed(first, first + 15_000))
    expect(await jobRow(house(), job)).toMatchObject({ state: 'paused' })
    await house().clock.advance(20_000)
    await node.registry.resume(1, job.job_id)
    expect(await ledgerOf(house(), job)).toMatchObject([
      { due: first, ticks: 1, reason: 'paused' },
      { due: first + 20_000, ticks: 1, reason: 'paused' },
    ])
    await expectAccounted(house(), job)
  })

  test('that leaves no tick ends the job', async () => {
    const node = await house().node()
    const calendars = calendarsOf(node)
    await calendars.put(1, 'closed', nothing)
    const now = await house().now()
    const job = await node.register({ schedule: iso(now + minute), exclude: ['closed'] })
    await calendars.put(1, 'closed', closed(now, now + 2 * minute))
    expect(await jobRow(house(), job)).toMatchObject({ state: 'ended' })
    expect(await timerOf(house(), job)).toMatchObject({ due: null })
  })

  test('reaches more jobs than one transaction takes, by key', async () => {
    const node = await house().node()
    const calendars = calendarsOf(node, 3)
    await calendars.put(1, 'closed', nothing)
    const jobs: { key: number }[] = []
    for (let at = 0; at < 10; at++)
      jobs.push(await node.register({ schedule: '@every 10s', exclude: ['closed'] }))
    const sizes: number[] = []
    const run = node.database.transaction.bind(node.database)
    node.database.transaction = (work) => {
      sizes.push(0)
      return run(work)
    }
    const now = await house().now()
    await calendars.put(1, 'closed', closed(now, now + minute))
    expect(sizes).toHaveLength(4)
    for (const job of jobs) {
      expect((await timerOf(house(), job)).due).toBeGreaterThanOrEqual(now + minute)
      expect(await segmentsOf(house(), job)).toHaveLength(
        now === (await jobRow(house(), job)).effective_from ? 0 : 1,
      )
    }
  })

  test('that was cut short is completed by the same call again', async () => {
    const node = await house().node()
    const calendars = calendarsOf(node, 2)
    await calendars.put(1, 'closed', nothing)
    const jobs: { key: number }[] = []
    for (let at = 0; at < 5; at++)
      jobs.push(await node.register({ schedule: '@every 10s', exclude: ['closed'] }))
    await house().clock.advance(1_000)
    const now = await house().now()
    const content = closed(now, now + minute)
    let calls = 0
    const transaction = node.database.transaction.bind(node.database)
    node.database.transaction = (work) =>
      ++calls === 2 ? Promise.reject(new Error('cut')) : transaction(work)
    await expect(calendars.put(1, 'closed', content)).rejects.toThrow('cut')
    const reached = async () => {
      const dues = []
      for (const job of jobs) dues.push((await timerOf(house(), job)).due ?? 0)
      return dues.filter((due) => due >= now + minute).length
    }
    expect(await reached()).toBe(2)
    await calendars.put(1, 'closed', content)
    expect(await reached()).toBe(5)
    expect(await calendars.get(1, 'closed')).toMatchObject({ version: 2 })
  })

  test('leaves a job alone that cannot be evaluated, and reaches the others', async () => {
    const node = await house().node()
    const calendars = calendarsOf(node)
    await calendars.put(1, 'closed', nothing)
    const broken = await node.register({ schedule: '@every 10s', exclude: ['closed'] })
    const job = await node.register({ schedule: '@every 10s', exclude: ['closed'] })
    await house().query(
      `UPDATE carillon.jobs SET definition = definition || '{"schedule": "?"}' WHERE job = $1`,
      [broken.key],
    )
    const now = await house().now()
    await calendars.put(1, 'closed', closed(now, now + minute))
    expect((await timerOf(house(), job)).due).toBeGreaterThanOrEqual(now + minute)
  })
})

describe('a change of a calendar at once with', () => {
  test('a registration that looked at it: the job is reached', async () => {
    const node = await house().node()
    const other = await house().node()
    const calendars = calendarsOf(other)
    await calendars.put(1, 'closed', nothing)
    const now = await house().now()
    const gate = await Gate.closeBefore(house(), 'INSERT', 'timers')
    const registering = node.register({ schedule: '@every 10s', exclude: ['closed'] })
    await house().lockWaits(1)
    const putting = calendars.put(1, 'closed', closed(now, now + minute))
    await house().lockWaits(2)
    await gate.open()
    const [job] = await Promise.all([registering, putting])
    expect((await timerOf(house(), job)).due).toBeGreaterThanOrEqual(now + minute)
  })

  test('a fire that was planned by the old content: nothing of it is fired', async () => {
    const node = await house().node()
    const calendars = calendarsOf(await house().node())
    await calendars.put(1, 'closed', nothing)
    const job = await node.register({ schedule: '@every 10s', exclude: ['closed'] })
    const tick = Date.parse(job.next_run_at ?? '')
    await house().clock.advance(8_500)
    for (const owner of house().nodes) await owner.beat()
    for (const owner of house().nodes) {
      meddleWith(owner.database, 'fire-plain', async (send) => {
        await calendars.put(1, 'closed', closed(tick, tick + 5_000))
        return send()
      })
    }
    for (const owner of house().nodes) await owner.firing.runOnce()
    expect((await queueOf(house(), job)).filter(({ due }) => due === tick)).toEqual([])
    expect(await timerOf(house(), job)).toMatchObject({ due: tick + 10_000 })
  })
})
