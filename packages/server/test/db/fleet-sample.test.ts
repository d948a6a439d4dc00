import { beforeEach, expect, test, vi } from 'vitest'
import { Account } from '../../src/pipeline/account/account.js'
import { Stats } from '../../src/pipeline/account/stats.js'
import { FleetSamples } from '../../src/pipeline/monitor/fleet-sample.js'
import { Metrics } from '../../src/platform/metrics.js'
import { die } from '../kit/letters.js'
import { putRuns } from '../kit/rows.js'
import type { TestClock } from '../kit/test-clock.js'
import type { TestNode } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

function samplesOf({ database }: TestNode, countWithinMs = 5_000) {
  const metrics = new Metrics()
  return { metrics, samples: new FleetSamples({ database, clock: house().clock, metrics, countWithinMs }) }
}

beforeEach(() =>
  house().query(
    "UPDATE carillon.fleet_sample SET taken_at = 0, sample = '{}', counted_at = 0, counts = '{}', count_at = 0",
  ),
)

async function series(metrics: Metrics, name: string): Promise<string[]> {
  const text = await metrics.render()
  return text.split('\n').filter((line) => new RegExp(`^${name}[ {]`).test(line))
}

async function kept<Value = unknown>(
  column: 'taken_at' | 'counted_at' | 'count_at' | 'counts',
): Promise<Value> {
  const [row] = await house().query<Record<string, Value>>('SELECT * FROM carillon.fleet_sample')
  return row?.[column] as Value
}
const takenAt = () => kept<number>('taken_at')
const countedAt = () => kept<number>('counted_at')

test('the fleet is counted: runs by what they do, what is due and not fired, partitions without an owner', async () => {
  const node = await house().node()
  const [ready, dying] = [await node.register(), await node.register({ max_retries: 0 })]
  await die(house(), node, dying)
  const now = await house().now()
  await putRuns(house(), ready, { availableAt: now - 4_000, count: 2 })
  await house().clock.advance(10)
  await putRuns(house(), ready, { attempt: 2, availableAt: now + 60_000 })
  await house().query('UPDATE carillon.partitions SET expires_at = 0 WHERE partition < 3')
  await house().query(
    'UPDATE carillon.timers SET due = $1::bigint, start_at = $1::bigint, accounted_through = $1::bigint - 1 WHERE job = $2',
    [now - 7_000, ready.key],
  )
  const { metrics, samples } = samplesOf(node)
  expect(samples.latest()).toBeNull()
  expect(await series(metrics, 'carillon_fleet_sample_age_seconds')).toEqual([
    'carillon_fleet_sample_age_seconds -1',
  ])
  await house().clock.advance(5_990)
  await samples.runOnce()
  await samples.countOnce()
  expect(samples.latest()?.sample).toMatchObject({ oldest_ready_ms: 10_000, oldest_due_ms: 13_000 })
  expect(await kept('counts')).toMatchObject({ ready: 2, running: 0, ahead: 1, parked: 0, dead_letters: 1 })
  expect(samples.latest()?.sample.unowned).toBeGreaterThanOrEqual(3)
  expect(await series(metrics, 'carillon_queue_runs')).toContain('carillon_queue_runs{state="ready"} 2')
  expect(await series(metrics, 'carillon_queue_oldest_due_age_seconds')).toEqual([
    'carillon_queue_oldest_due_age_seconds 10',
  ])
  expect(await series(metrics, 'carillon_ticks_oldest_due_age_seconds')).toEqual([
    'carillon_ticks_oldest_due_age_seconds 13',
  ])
  expect(await series(metrics, 'carillon_dead_letters')).toEqual(['carillon_dead_letters 1'])
})

test('a run that waits for a place of its job, or for its host, could not start: no worker is missing', async () => {
  const node = await house().node()
  const url = (host: string) => ({
    target: { type: 'http' as const, url: `http://${host}/`, timeout_seconds: 5 },
  })
  const [broken, full, limited, plain] = [
    await node.register(url('broken.test')),
    await node.register(url('full.test')),
    await node.register(url('limited.test')),
    await node.register(),
  ]
  await house().query(
    `INSERT INTO carillon.targets (tenant, host, state, retry_at, max_concurrent, in_use)
     SELECT j.tenant, h.host, h.state, h.retry_at, h.most, h.in_use
     FROM carillon.jobs j, (VALUES ('broken.test', 'open', 1, NULL, 0), ('full.test', 'closed', NULL, 2, 2),
                                   ('limited.test', 'closed', NULL, 2, 1)) h (host, state, retry_at, most, in_use)
     WHERE j.job = $1
     ON CONFLICT (tenant, host) DO UPDATE
     SET state = excluded.state, retry_at = excluded.retry_at, max_concurrent = excluded.max_concurrent, in_use = excluded.in_use`,
    [plain.key],
  )
  const now = await house().now()
  await putRuns(house(), broken, { availableAt: now - 500_000 })
  await putRuns(house(), full, { availableAt: now - 400_000 })
  // One behind a long run, one that gave its place back, one that has its place.
  await putRuns(house(), plain, { availableAt: now - 300_000, needPlace: true, count: 3 })
  const place =
    'UPDATE carillon.queue SET slot = $2 WHERE job = $1 AND due = (SELECT max(due) FROM carillon.queue WHERE job = $1 AND slot IS NULL)'
  await house().query(place, [plain.key, -1])
  await house().query(place, [plain.key, 0])
  await house().query('UPDATE carillon.queue SET available_at = $2 WHERE job = $1 AND slot = 0', [
    plain.key,
    now - 3_000,
  ])
  await putRuns(house(), limited, { availableAt: now - 4_000 })
  await house().clock.advance(6_000)
  const { metrics, samples } = samplesOf(node)
  await samples.runOnce()
  await samples.countOnce()
  const counted = { ready: 2, waiting: 4, running: 0, ahead: 0 }
  expect(await kept('counts')).toMatchObject(counted)
  expect(samples.latest()?.sample.oldest_ready_ms).toBeLessThan(100_000)
  // The same words mean the same wherever they are told.
  const account = new Account({ database: node.database, clock: house().clock, lateToleranceMs: 1_000 })
  const { queue } = await account.cluster(null)
  expect(queue).toMatchObject(counted)
  expect(queue.oldest_ready_ms).toBeLessThan(100_000)
  const stats = await new Stats({ database: node.database, clock: house().clock }).get(1)
  const { ahead: _all, ...told } = counted
  expect(stats.queue).toMatchObject(told)
  expect(stats.queue.oldest_ready_ms).toBeLessThan(100_000)
  expect(await series(metrics, 'carillon_queue_runs')).toContain('carillon_queue_runs{state="waiting"} 4')
})

test('of many processes one counts, and the others show what it found', async () => {
  const [one, two] = await house().fleet(2)
  if (one === undefined || two === undefined) throw new Error('There is no fleet.')
  const [first, second] = [samplesOf(one), samplesOf(two)]
  await house().clock.advance(6_000)
  await first.samples.runOnce()
  const counted = await takenAt()
  const job = await one.register()
  await putRuns(house(), job, { availableAt: (await house().now()) - 1_000 })
  await house().clock.advance(4_000)
  await second.samples.runOnce()
  expect(await takenAt()).toBe(counted)
  // What the first one saw, and as old as it is: not counted anew.
  expect(second.samples.latest()?.sample).toEqual(first.samples.latest()?.sample)
  expect(second.samples.latest()?.ageMs).toBeGreaterThanOrEqual(4_000)
  await house().clock.advance(2_000)
  await second.samples.runOnce()
  expect(await takenAt()).toBeGreaterThan(counted)
  expect(second.samples.latest()?.sample.oldest_ready_ms).toBe(7_000)
})

test('whoever finds another at it does not wait, and shows the sample before', async () => {
  const node = await house().node()
  const { samples } = samplesOf(node)
  await house().clock.advance(6_000)
  await samples.runOnce()
  const before = await takenAt()
  await house().clock.advance(6_000)
  const other = await house().session()
  await other.query('BEGIN')
  await other.query('SELECT FROM carillon.fleet_sample FOR UPDATE')
  await samples.runOnce()
  expect(await takenAt()).toBe(before)
  expect(samples.latest()?.ageMs).toBeGreaterThanOrEqual(6_000)
  await other.query('ROLLBACK')
})

test('a count that took long is not made often', async () => {
  const { database } = await house().node()
  // Each look at the clock is half a second later: the count took as long.
  let at = 0
  const clock = Object.assign(Object.create(house().clock) as TestClock, { monotonic: () => (at += 500) })
  const samples = new FleetSamples({ database, clock, metrics: new Metrics() })
  await samples.countOnce()
  const before = await countedAt()
  expect(before).toBeGreaterThan(0)
  expect((await kept<number>('count_at')) - before).toBe(20 * 500)
  await house().clock.advance(9_999)
  await samples.countOnce()
  expect(await countedAt()).toBe(before)
  await house().clock.advance(1)
  await samples.countOnce()
  expect(await countedAt()).toBeGreaterThan(before)
})

test('a queue that cannot be counted in time holds up no sign of life, and is not counted again at once', async () => {
  const node = await house().node()
  const job = await node.register()
  const now = await house().now()
  await putRuns(house(), job, { availableAt: now - 4_000 })
  const { metrics, samples } = samplesOf(node, 200)
  // Whoever would read the dead letters waits: the count fails by its time.
  const other = await house().session()
  await other.query('BEGIN')
  await other.query('LOCK TABLE carillon.dead_letters IN ACCESS EXCLUSIVE MODE')
  await expect(samples.countOnce()).rejects.toThrow('statement timeout')
  expect(await countedAt()).toBe(0)
  expect((await kept<number>('count_at')) - (await house().now())).toBe(5_000)
  await house().clock.advance(6_000)
  await samples.runOnce()
  expect(samples.latest()?.sample.oldest_ready_ms).toBe(10_000)
  expect(await series(metrics, 'carillon_queue_oldest_due_age_seconds')).toEqual([
    'carillon_queue_oldest_due_age_seconds 10',
  ])
  expect(await series(metrics, 'carillon_fleet_sample_age_seconds')).toEqual([
    'carillon_fleet_sample_age_seconds -1',
  ])
  await other.query('ROLLBACK')
})

test('while one counts, signs are taken, and nobody else counts', async () => {
  const [one, two] = await house().fleet(2)
  if (one === undefined || two === undefined) throw new Error('There is no fleet.')
  const [first, second] = [samplesOf(one), samplesOf(two)]
  const other = await house().session()
  await other.query('BEGIN')
  await other.query('LOCK TABLE carillon.dead_letters IN ACCESS EXCLUSIVE MODE')
  const counting = first.samples.countOnce()
  await vi.waitFor(async () => expect(await kept('count_at')).toBeGreaterThan(0), 10_000)
  await second.samples.countOnce()
  await house().clock.advance(6_000)
  await second.samples.runOnce()
  expect(await takenAt()).toBeGreaterThan(0)
  expect(await countedAt()).toBe(0)
  await other.query('ROLLBACK')
  await counting
  expect(await countedAt()).toBeGreaterThan(0)
})

test('a count from before the clock was set back is made anew', async () => {
  const node = await house().node()
  const { samples } = samplesOf(node)
  await house().query('UPDATE carillon.fleet_sample SET count_at = carillon.now_ms() + 86400000')
  await samples.countOnce()
  expect(await countedAt()).toBeGreaterThan(0)
})

test('a sample from before the clock was set back is replaced', async () => {
  const node = await house().node()
  const { samples } = samplesOf(node)
  await house().query('UPDATE carillon.fleet_sample SET taken_at = carillon.now_ms() + 86400000')
  await samples.runOnce()
  expect(await takenAt()).toBeLessThanOrEqual(await house().now())
})

test('a scrape asks the database nothing', async () => {
  const node = await house().node()
  const { metrics, samples } = samplesOf(node)
  await house().clock.advance(6_000)
  await samples.runOnce()
  const asked = node.database.run.bind(node.database)
  let questions = 0
  node.database.run = ((...args: Parameters<typeof asked>) => {
    questions += 1
    return asked(...args)
  }) as typeof asked
  await metrics.render()
  expect(questions).toBe(0)
})
