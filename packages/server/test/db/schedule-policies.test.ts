import { expect, test } from 'vitest'
import { ledgerOf, queueOf, timerOf } from '../kit/rows.js'
import type { TestNode } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'
import { utcText } from '../../src/time/iso-text.js'

const house = useHouse()

/** Moves the clocks to an instant, with the node's loops as awake as they would be. */
async function reach(node: TestNode, instant: string): Promise<void> {
  await house().clock.advance(Date.parse(instant) - (await house().now()))
  await node.beat()
}

/** Fires what is due and runs it to its end. */
async function runDue(node: TestNode): Promise<void> {
  await node.firing.runOnce()
  await node.worker.leaseOnce()
  await house().finished(node)
}

test('a wall time that the clocks jump over leaves a row with the reason, and the chain has no hole', async () => {
  const node = await house().node()
  const job = await node.register({
    schedule: '30 2 * * *',
    timezone: 'Europe/Madrid',
    dst_gap: 'skip',
    starts_at: '2027-03-27T00:00:00Z',
  })
  await reach(node, '2027-03-27T01:30:00Z')
  await runDue(node)
  await reach(node, '2027-03-29T00:30:00Z')
  await runDue(node)
  const rows = (await ledgerOf(house(), job)).sort((a, b) => a.due - b.due)
  expect(rows.map(({ due, outcome, reason }) => [utcText(due), outcome, reason])).toEqual([
    ['2027-03-27T01:30:00Z', 'success', null],
    ['2027-03-28T01:00:00Z', 'skipped', 'dst_gap'],
    ['2027-03-29T00:30:00Z', 'success', null],
  ])
})

test('a job ends with the last of its runs, and a tick that overlapped is none', async () => {
  const node = await house().node()
  const job = await node.register({ schedule: '@every 10s', max_runs: 2 })
  for (let tick = 1; tick <= 3; tick++) {
    await house().clock.advance(10_000)
    await node.beat()
    await node.firing.runOnce()
    // The first run is left in its place until the second tick has met it.
    if (tick !== 1) {
      await node.worker.leaseOnce()
      await house().finished(node)
    }
  }
  const outcomes = (await ledgerOf(house(), job)).sort((a, b) => a.due - b.due).map(({ outcome }) => outcome)
  expect(outcomes).toEqual(['success', 'skipped', 'success'])
  expect(await node.registry.get(1, job.job_id)).toMatchObject({ state: 'ended', next_run_at: null })
})

test('jitter and window move the start, the same at every tick, and never the tick', async () => {
  const node = await house().node()
  const job = await node.register({ schedule: '@every 1h', jitter_seconds: 60, fire_window_seconds: 600 })
  const first = await timerOf(house(), job)
  const spread = (first.start_at ?? 0) - (first.due ?? 0)
  expect(spread).toBeGreaterThan(0)
  expect(spread).toBeLessThan(660_000)
  await house().clock.advance(3_600_000 + spread)
  await node.beat()
  await node.firing.runOnce()
  expect(await queueOf(house(), job)).toMatchObject([{ due: first.due, available_at: first.start_at }])
  const second = await timerOf(house(), job)
  expect((second.start_at ?? 0) - (second.due ?? 0)).toBe(spread)
  expect((await node.runs(job))[0]?.scheduled_at).toBe(utcText(first.due ?? 0))
})

test('a calendar keeps a job from its days, also after the job was registered', async () => {
  const node = await house().node()
  const today = new Date(await house().now()).toISOString().slice(0, 10)
  const day = (offset: number) => new Date(Date.parse(today) + offset * 86_400_000).toISOString().slice(0, 10)
  await house().query(
    `INSERT INTO carillon.calendars (tenant, name, definition) VALUES (1, 'holidays', $1)`,
    [{ dates: [day(2)] }],
  )
  const job = await node.register({ schedule: '0 9 * * *', exclude: ['holidays', day(3)] })
  await reach(node, `${day(1)}T09:00:00Z`)
  await runDue(node)
  expect((await node.registry.get(1, job.job_id)).next_run_at).toBe(`${day(4)}T09:00:00Z`)
})

test('a calendar that is not there is refused by name', async () => {
  const node = await house().node()
  await expect(node.register({ exclude: ['hollidays'] })).rejects.toMatchObject({
    code: 'invalid_schedule',
    errors: [{ pointer: '/exclude/0' }],
  })
})

test('several rules are one schedule, and bounds end it', async () => {
  const node = await house().node()
  const now = await house().now()
  const at = (ms: number) => utcText(now + ms)
  const job = await node.register({
    schedule: [{ at: at(60_000) }, { every: '30s' }],
    ends_at: at(100_000),
  })
  for (const expected of [30_000, 60_000, 90_000]) {
    expect((await timerOf(house(), job)).due).toBe(now + expected)
    await house().clock.advance(now + expected - (await house().now()))
    await node.beat()
    await runDue(node)
  }
  expect((await node.registry.get(1, job.job_id)).state).toBe('ended')
})

test('a tenant may have a smallest interval of its own', async () => {
  const node = await house().node({ minIntervalMs: 60_000 })
  await expect(node.register({ schedule: '@every 30s' })).rejects.toMatchObject({
    code: 'schedule_too_frequent',
  })
  await house().query('UPDATE carillon.tenants SET min_interval_seconds = 10 WHERE tenant = 1')
  await expect(node.register({ schedule: '@every 30s' })).resolves.toMatchObject({ state: 'active' })
  await house().query('UPDATE carillon.tenants SET min_interval_seconds = NULL WHERE tenant = 1')
})

test('a wall time that is jumped over onto another tick of the job is that tick', async () => {
  const node = await house().node()
  const job = await node.register({
    schedule: '0 2,3 * * *',
    timezone: 'Europe/Madrid',
    dst_gap: 'skip',
    starts_at: '2028-03-26T00:00:00Z',
    max_runs: 1,
  })
  await reach(node, '2028-03-26T01:00:00Z')
  await runDue(node)
  expect(await ledgerOf(house(), job)).toMatchObject([{ outcome: 'success', final: true }])
})
