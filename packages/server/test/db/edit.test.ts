import type { JobInput, JobPatch } from '@carillon/contract'
import { utcText } from '../../src/time/iso-text.js'
import { describe, expect, test } from 'vitest'
import { closeAll, lease, resultOf } from '../kit/attempts.js'
import { expectAccounted, holdNextTick, iso, jobRow, segmentsOf, stage, staged } from '../kit/changes.js'
import { Gate } from '../kit/gate.js'
import { ledgerOf, queueOf, replaysOf, timerOf } from '../kit/rows.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()
const minute = 60_000

describe('an edit', () => {
  test('merges the given fields, and makes a new version of the job', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 10s', payload: { a: 1 }, max_retries: 7 })
    await house().clock.advance(3_000)
    const now = await house().now()
    const edited = await node.registry.edit(1, job.job_id, { payload: { b: 2 }, name: 'renamed' })
    expect(edited).toMatchObject({
      name: 'renamed',
      payload: { b: 2 },
      max_retries: 7,
      version: 2,
      schedule: '@every 10s',
      next_run_at: job.next_run_at,
      updated_at: utcText(now),
      created_at: job.created_at,
    })
    expect(await jobRow(house(), job)).toMatchObject({ effective_from: now, changed_at: now })
    expect(await segmentsOf(house(), job)).toMatchObject([
      { from_ms: now - 3_000, version: 1, reason: 'edited', calendars: null },
    ])
    const [old] = await house().query(
      'SELECT version, definition FROM carillon.job_versions WHERE job = $1',
      [job.key],
    )
    expect(old).toMatchObject({ version: 1, definition: { payload: { a: 1 } } })
  })

  test('puts a field back to its default by null', async () => {
    const node = await house().node()
    const job = await node.register({
      schedule: '@every 10s',
      max_retries: 7,
      ends_at: iso((await house().now()) + minute),
      overlap_policy: 'QUEUE',
    })
    const patch: JobPatch = { max_retries: null, ends_at: null, overlap_policy: null }
    expect(await node.registry.edit(1, job.job_id, patch)).toMatchObject({
      max_retries: 3,
      ends_at: null,
      overlap_policy: 'SKIP',
    })
  })

  test('that changes nothing makes no version', async () => {
    const node = await house().node()
    const { job } = await staged(house(), node)
    const before = await timerOf(house(), job)
    const patch: JobPatch = { schedule: '@every 10s', max_retries: null }
    expect(await node.registry.edit(1, job.job_id, patch)).toMatchObject({ version: 1 })
    expect(await timerOf(house(), job)).toEqual(before)
    expect(await queueOf(house(), job)).toHaveLength(1)
  })

  test('takes a staged tick back; it comes again under the new version', async () => {
    const node = await house().node()
    const { job, tick } = await staged(house(), node)
    await node.registry.edit(1, job.job_id, { payload: 'new' })
    expect(await queueOf(house(), job)).toEqual([])
    expect(await timerOf(house(), job)).toMatchObject({ due: tick, runs: 0 })
    await stage(house(), node, 1_400)
    expect(await queueOf(house(), job)).toMatchObject([{ due: tick, version: 2 }])
    await expectAccounted(house(), job)
  })

  test('of the schedule moves the cursor to the next tick of the new one', async () => {
    const node = await house().node()
    const { job } = await staged(house(), node)
    const now = await house().now()
    await node.registry.edit(1, job.job_id, { schedule: '* * * * * *' })
    // Also those before the tick that was staged.
    const next = Math.floor(now / 1_000) * 1_000 + 1_000
    expect(await timerOf(house(), job)).toMatchObject({ due: next, start_at: next, accounted_through: now })
    expect(await queueOf(house(), job)).toEqual([])
    await expectAccounted(house(), job)
  })

  test('lets held runs go on with their version, and begins after the last of them', async () => {
    const node = await house().node()
    const { job, tick } = await staged(house(), node, { overlap_policy: 'ALLOW' })
    const next = await holdNextTick(house(), node, job)
    await node.registry.edit(1, job.job_id, { schedule: '* * * * * *' })
    expect(await queueOf(house(), job)).toMatchObject([
      { due: tick, version: 1, cancel_requested: false },
      { due: next, version: 1, cancel_requested: false },
    ])
    expect(await jobRow(house(), job)).toMatchObject({ effective_from: next })
    expect(await timerOf(house(), job)).toMatchObject({
      accounted_through: next,
      due: Math.floor(next / 1_000) * 1_000 + 1_000,
    })
    await expectAccounted(house(), job)
  })

  test('is seen by the runs that come after it, and not by those in flight', async () => {
    const node = await house().node()
    const { job } = await staged(house(), node)
    await house().clock.advance(1_500)
    const [held] = await lease(node)
    await node.registry.edit(1, job.job_id, { payload: 'new' })
    if (held === undefined) throw new Error('nothing was leased')
    const result = await resultOf(house(), node, held)
    expect(result.definition?.payload).toBeNull()
    await closeAll(house(), node.closer, [result])
    await stage(house(), node, 10_000)
    const [next] = await lease(node)
    if (next === undefined) throw new Error('nothing was leased')
    expect((await resultOf(house(), node, next)).definition?.payload).toBe('new')
  })

  test('refuses a version that is not the present one', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 10s' })
    await node.registry.edit(1, job.job_id, { payload: 1, version: 1 })
    await expect(node.registry.edit(1, job.job_id, { payload: 2, version: 1 })).rejects.toMatchObject({
      code: 'job_version_conflict',
      status: 409,
    })
    expect(await node.registry.get(1, job.job_id)).toMatchObject({ payload: 1, version: 2 })
  })

  test('at once by many keeps every one of them', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 1h' })
    const patches: JobPatch[] = [
      { payload: 1 },
      { max_retries: 1 },
      { timeout_seconds: 1 },
      { max_missed: 1 },
    ]
    await Promise.all(patches.map((patch) => node.registry.edit(1, job.job_id, patch)))
    expect(await node.registry.get(1, job.job_id)).toMatchObject({
      version: 5,
      payload: 1,
      max_retries: 1,
      timeout_seconds: 1,
      max_missed: 1,
    })
    await expectAccounted(house(), job)
  })

  test.each<[string, JobPatch]>([
    ['invalid_schedule', { schedule: 'now and then' }],
    ['schedule_too_frequent', { schedule: '@every 1s' }],
    ['schedule_in_past', { schedule: '2026-01-01T00:00:00Z' }],
    ['schedule_never_fires', { schedule: '0 0 30 2 *' }],
    ['schedule_never_fires', { ends_at: '2026-01-01T00:00:00Z' }],
    ['invalid_timezone', { timezone: 'Mars/Olympus' }],
    ['invalid_template', { idempotency_key_template: '{{nothing}}' }],
    ['validation_failed', { max_concurrent: 2 }],
    ['invalid_schedule', { exclude: ['nobody'] }],
    ['job_name_taken', { name: 'taken' }],
  ])('that cannot work is refused with %s and changes nothing: %j', async (code, patch) => {
    const node = await house().node({ minIntervalMs: 5_000 })
    await node.register({ name: 'taken', schedule: '@every 1h' })
    const { job } = await staged(house(), node)
    const before = [await timerOf(house(), job), await queueOf(house(), job), await jobRow(house(), job)]
    await expect(node.registry.edit(1, job.job_id, patch)).rejects.toMatchObject({ code })
    expect([await timerOf(house(), job), await queueOf(house(), job), await jobRow(house(), job)]).toEqual(
      before,
    )
  })

  test('repairs a job whose schedule cannot be read, with a record of the tick that was due', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 10s' })
    const first = Date.parse(job.next_run_at ?? '')
    await house().query(
      `UPDATE carillon.jobs SET definition = definition || '{"schedule": "?"}' WHERE job = $1`,
      [job.key],
    )
    await house().clock.advance(15_000)
    expect(await node.registry.edit(1, job.job_id, { schedule: '@every 20s' })).toMatchObject({ version: 2 })
    expect(await ledgerOf(house(), job)).toMatchObject([{ due: first, reason: 'edited', outcome: 'skipped' }])
  })
})

describe('ticks that were due and not fired yet', () => {
  test('run all under the old version, if they are only a little late', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 5s', missed_window: 'SKIP' })
    const first = Date.parse(job.next_run_at ?? '')
    await house().clock.advance(15_500)
    await node.registry.edit(1, job.job_id, { schedule: '@every 1h' })
    expect(await replaysOf(house(), job)).toMatchObject([
      { from_ms: first, to_ms: first + 10_000, total: 3, version: 1, reason: 'edited', state: 'running' },
    ])
    expect(await ledgerOf(house(), job)).toEqual([])
    await node.beat()
    await node.catchUp.runOnce()
    expect(await queueOf(house(), job)).toMatchObject([{ due: first, version: 1, catch_up: true }])
    await expectAccounted(house(), job)
  })

  test.each<[NonNullable<JobInput['missed_window']>, number]>([
    ['SKIP', 0],
    ['RUN_ONCE', 1],
    ['RUN_ALL', 4],
  ])('are decided by the old policy %s, if they were missed', async (policy, count) => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 1m', missed_window: policy, max_missed: 4 })
    await house().clock.advance(10 * minute + 1_000)
    await node.registry.edit(1, job.job_id, { missed_window: 'SKIP', schedule: '@every 1h' })
    expect(await replaysOf(house(), job)).toMatchObject(count === 0 ? [] : [{ total: count, version: 1 }])
    expect(await ledgerOf(house(), job)).toMatchObject([{ ticks: 10 - count, reason: 'edited' }])
    await expectAccounted(house(), job)
  })

  test('of a paused job are decided by the old policy, and wait for its end', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 1m', missed_window: 'RUN_ONCE' })
    await node.registry.pause(1, job.job_id)
    await house().clock.advance(5 * minute + 1_000)
    expect(await node.registry.edit(1, job.job_id, { schedule: '@every 2m' })).toMatchObject({
      state: 'paused',
    })
    expect(await replaysOf(house(), job)).toMatchObject([
      { total: 1, state: 'paused', reason: 'paused', version: 1 },
    ])
    expect(await ledgerOf(house(), job)).toMatchObject([{ ticks: 4, reason: 'paused' }])
    expect(await timerOf(house(), job)).toMatchObject({ due: null })
    await node.registry.resume(1, job.job_id)
    expect(await replaysOf(house(), job)).toMatchObject([{ state: 'running' }])
    await expectAccounted(house(), job)
  })

  test('whose start is still ahead come under the new version, at their own time', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 1m', jitter_seconds: 50 })
    const before = await timerOf(house(), job)
    await house().clock.advance(minute + 100)
    await node.registry.edit(1, job.job_id, { payload: 'new' })
    expect(await timerOf(house(), job)).toMatchObject({ due: before.due, start_at: before.start_at })
    expect(await replaysOf(house(), job)).toEqual([])
    await expectAccounted(house(), job)
  })
})

describe('a one-off', () => {
  test('can be brought forward and put off, also when its tick is staged', async () => {
    const node = await house().node()
    const now = await house().now()
    const job = await node.register({ schedule: iso(now + 60 * minute) })
    await node.registry.edit(1, job.job_id, { schedule: iso(now + 10_000) })
    expect(await timerOf(house(), job)).toMatchObject({ due: now + 10_000, start_at: now + 10_000 })
    await stage(house(), node, 8_500)
    expect(await jobRow(house(), job)).toMatchObject({ state: 'ended' })
    await node.registry.edit(1, job.job_id, { schedule: iso(now + 30_000) })
    expect(await jobRow(house(), job)).toMatchObject({ state: 'active', ended_at: null, version: 3 })
    expect(await queueOf(house(), job)).toEqual([])
    expect(await timerOf(house(), job)).toMatchObject({ due: now + 30_000, runs: 0 })
    await expectAccounted(house(), job)
  })

  test('becomes a schedule, and a schedule a one-off', async () => {
    const node = await house().node()
    const now = await house().now()
    const job = await node.register({ schedule: iso(now + 60 * minute) })
    await node.registry.edit(1, job.job_id, { schedule: '@every 10s' })
    expect(await jobRow(house(), job)).toMatchObject({ one_off: false })
    expect(await timerOf(house(), job)).toMatchObject({ due: now + 10_000 })
    await node.registry.edit(1, job.job_id, { schedule: iso(now + 5_000) })
    expect(await jobRow(house(), job)).toMatchObject({ one_off: true, version: 3 })
    expect(await timerOf(house(), job)).toMatchObject({ due: now + 5_000 })
  })
})

test('max_runs below what was run is refused; what is left of it is kept over a take-back', async () => {
  const node = await house().node()
  const { job } = await staged(house(), node, { max_runs: 2 })
  expect(await timerOf(house(), job)).toMatchObject({ runs: 1 })
  await node.registry.edit(1, job.job_id, { payload: 1 })
  expect(await timerOf(house(), job)).toMatchObject({ runs: 0 })
  await stage(house(), node, 1_500)
  await expect(node.registry.edit(1, job.job_id, { max_runs: 1 })).rejects.toMatchObject({
    code: 'validation_failed',
    errors: [{ pointer: '/max_runs' }],
  })
})

test('an edit that waits for a fire in progress takes back what it fired', async () => {
  const node = await house().node()
  const job = await node.register({ schedule: '@every 10s' })
  const tick = Date.parse(job.next_run_at ?? '')
  await house().clock.advance(8_500)
  await node.beat()
  const gate = await Gate.closeBefore(house(), 'INSERT', 'queue')
  const fire = node.firing.runOnce()
  await house().lockWaits(1)
  const edited = node.registry.edit(1, job.job_id, { payload: 1 })
  await house().lockWaits(2)
  await gate.open()
  await Promise.all([fire, edited])
  expect(await queueOf(house(), job)).toEqual([])
  expect(await timerOf(house(), job)).toMatchObject({ due: tick })
  await expectAccounted(house(), job)
})
