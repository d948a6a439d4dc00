import type { JobInput } from '@carillon/contract'
import { beforeEach, describe, expect, test } from 'vitest'
import { Rezone } from '../../src/pipeline/fire/rezone.js'
import { Gate } from '../kit/gate.js'
import { queueOf, timerOf } from '../kit/rows.js'
import { silentLog } from '../kit/test-database.js'
import type { TestNode } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'
import { utcText } from '../../src/time/iso-text.js'

const house = useHouse()
const newData = '2099z'
const hour = 3_600_000

beforeEach(async () => void (await house().query('UPDATE carillon.partitions SET zone_data = NULL')))

type TestJob = Awaited<ReturnType<TestNode['register']>>

function rezoneOf(node: TestNode, zoneData = newData, owned = () => node.ownership.current()): Rezone {
  return new Rezone({
    database: node.database,
    log: silentLog,
    self: () => node.membership.incarnation,
    owned,
    zoneData,
  })
}

async function runAll(rezone: Rezone): Promise<void> {
  while (await rezone.runOnce());
}

/** A job every day at nine in Berlin, with the cursor where other zone data had put it: so much later. */
async function shifted(node: TestNode, byMs: number, input: Partial<JobInput> = {}): Promise<TestJob> {
  const job = await node.register({ schedule: '0 9 * * *', timezone: 'Europe/Berlin', ...input })
  await shift(job, byMs)
  return job
}

async function shift(job: TestJob, byMs: number): Promise<void> {
  await house().query('UPDATE carillon.timers SET due = due + $2, start_at = start_at + $2 WHERE job = $1', [
    job.key,
    byMs,
  ])
}

async function jobOf(job: TestJob) {
  const [row] = await house().query<{
    zone_data: string
    effective_from: number
    changed_at: number
    state: string
  }>('SELECT zone_data, effective_from, changed_at, state FROM carillon.jobs WHERE job = $1', [job.key])
  if (row === undefined) throw new Error('no such job')
  return row
}

function segmentsOf(job: TestJob) {
  return house().query<{
    from_ms: number
    version: number
    calendars: unknown
    zone_data: string
    reason: string
  }>('SELECT from_ms, version, calendars, zone_data, reason FROM carillon.segments WHERE job = $1', [job.key])
}

async function zoneDataOf(partition: number): Promise<string | null | undefined> {
  const [row] = await house().query<{ zone_data: string | null }>(
    'SELECT zone_data FROM carillon.partitions WHERE partition = $1',
    [partition],
  )
  return row?.zone_data
}

describe('new zone data', () => {
  test('puts the next tick where the rule has it now, and the job keeps a segment of its life before', async () => {
    const node = await house().node()
    const job = await shifted(node, hour)
    await house().query(
      'UPDATE carillon.timers SET accounted_through = accounted_through + 1000 WHERE job = $1',
      [job.key],
    )
    const before = await timerOf(house(), job)
    const old = await jobOf(job)
    await runAll(rezoneOf(node))
    const after = await timerOf(house(), job)
    expect(utcText(after.due ?? 0)).toBe('2026-11-03T08:00:00Z')
    expect(after).toMatchObject({
      start_at: after.due,
      rev: before.rev + 1,
      accounted_through: before.accounted_through,
    })
    expect(await jobOf(job)).toMatchObject({
      zone_data: newData,
      effective_from: before.accounted_through,
      changed_at: await house().now(),
      state: 'active',
    })
    expect(await segmentsOf(job)).toEqual([
      {
        from_ms: old.effective_from,
        version: 1,
        calendars: null,
        zone_data: old.zone_data,
        reason: 'zone_data',
      },
    ])
  })

  test('finds a tick that it puts earlier, also before now', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '0 13 * * *', timezone: 'Europe/Berlin' })
    const { due: tomorrow } = await timerOf(house(), job)
    // The old data had today's tick an hour later, and the tick before it was yesterday's.
    await house().query(
      `UPDATE carillon.timers SET accounted_through = $2, due = $3, start_at = $3 WHERE job = $1`,
      [job.key, (tomorrow ?? 0) - 47 * hour, (tomorrow ?? 0) - 23 * hour],
    )
    await runAll(rezoneOf(node))
    expect((await timerOf(house(), job)).due).toBe((tomorrow ?? 0) - 24 * hour)
  })

  test('leaves alone what it does not move, and writes no segment for it', async () => {
    const node = await house().node()
    const job = await shifted(node, 0)
    const [timer, row] = [await timerOf(house(), job), await jobOf(job)]
    await runAll(rezoneOf(node))
    expect(await timerOf(house(), job)).toEqual(timer)
    expect(await jobOf(job)).toEqual(row)
    expect(await segmentsOf(job)).toEqual([])
    expect(await zoneDataOf(timer.partition)).toBe(newData)
  })

  test('is nothing new to a job that was computed with it', async () => {
    const node = await house().node()
    const job = await shifted(node, hour)
    await house().query('UPDATE carillon.jobs SET zone_data = $2 WHERE job = $1', [job.key, newData])
    const timer = await timerOf(house(), job)
    await runAll(rezoneOf(node))
    expect(await timerOf(house(), job)).toEqual(timer)
  })

  test('keeps the spread of a job, and gives a segment the calendars that the job names', async () => {
    const node = await house().node()
    await house().query(`INSERT INTO carillon.calendars (tenant, name, definition)
      VALUES (1, 'holidays', '{"dates": ["2026-12-25"]}'), (1, 'others', '{"dates": []}')`)
    try {
      const job = await shifted(node, 2 * hour, { jitter_seconds: 600, exclude: ['holidays'] })
      await house().query(
        'UPDATE carillon.timers SET accounted_through = accounted_through + 1 WHERE job = $1',
        [job.key],
      )
      const before = await timerOf(house(), job)
      await runAll(rezoneOf(node))
      const after = await timerOf(house(), job)
      expect((after.start_at ?? 0) - (after.due ?? 0)).toBe((before.start_at ?? 0) - (before.due ?? 0))
      expect(after.start_at).toBeGreaterThan(after.due ?? Infinity)
      expect(await segmentsOf(job)).toMatchObject([{ calendars: { holidays: { dates: ['2026-12-25'] } } }])
    } finally {
      await house().query('DELETE FROM carillon.calendars')
    }
  })

  test('reaches every timer of a partition that is larger than a page, in passes that follow each other', async () => {
    const node = await house().node()
    const first = await shifted(node, hour)
    const { partition } = await timerOf(house(), first)
    await house().query(
      `WITH made AS (
         INSERT INTO carillon.jobs (id, tenant, partition, name, definition, one_off, route, effective_from, zone_data)
         SELECT gen_random_uuid(), tenant, partition, 'copy-' || n, definition, one_off, route, effective_from, zone_data
         FROM carillon.jobs, generate_series(1, 250) n WHERE job = $1
         RETURNING job, tenant, partition)
       INSERT INTO carillon.timers (job, tenant, due, start_at, accounted_through, partition)
       SELECT made.job, made.tenant, t.due + made.job % 3, t.start_at + made.job % 3, t.accounted_through, made.partition
       FROM made, carillon.timers t WHERE t.job = $1`,
      [first.key],
    )
    const rezone = rezoneOf(node)
    let passes = 0
    while (await rezone.runOnce()) passes += 1
    expect(passes).toBeGreaterThanOrEqual(3)
    const rows = await house().query<{ due: number; count: number }>(
      'SELECT due, count(*)::int AS count FROM carillon.timers WHERE partition = $1 GROUP BY due',
      [partition],
    )
    expect(rows).toEqual([{ due: Date.parse('2026-11-03T08:00:00Z'), count: 251 }])
  })

  test('leaves a paused job to its resuming', async () => {
    const node = await house().node()
    const job = await shifted(node, hour)
    await house().query(
      'UPDATE carillon.timers SET due = NULL, start_at = NULL, rev = rev + 1 WHERE job = $1',
      [job.key],
    )
    const timer = await timerOf(house(), job)
    await runAll(rezoneOf(node))
    expect(await timerOf(house(), job)).toEqual(timer)
  })

  test('of which a damaged job cannot be computed moves the others', async () => {
    const node = await house().node()
    const [broken, sound] = [await shifted(node, hour), await shifted(node, hour)]
    await house().query(
      `UPDATE carillon.jobs SET definition = definition || '{"timezone": "No/Where"}' WHERE job = $1`,
      [broken.key],
    )
    const timer = await timerOf(house(), broken)
    await runAll(rezoneOf(node))
    expect(await timerOf(house(), broken)).toEqual(timer)
    expect((await timerOf(house(), sound)).due).toBe(Date.parse('2026-11-03T08:00:00Z'))
  })
})

describe('what was staged', () => {
  /** A run staged one second ahead by the old data, an hour and a second before or after where the tick is now. */
  async function stagedShifted(node: TestNode, byMs: number) {
    const job = await node.register({ schedule: '0 13 * * *', timezone: 'Europe/Berlin' })
    const { due: tomorrow } = await timerOf(house(), job)
    const now = await house().now()
    await house().query(
      `INSERT INTO carillon.queue (due, job, tenant, route, version, epoch, slot, places, max_attempts, available_at,
                                   fired_at, partition)
       SELECT $2::bigint, job, tenant, route, version, 1, 0, 1, 4, $2::bigint, $3::bigint, partition
       FROM carillon.jobs WHERE job = $1`,
      [job.key, now + 1_000, now],
    )
    await house().query(
      `UPDATE carillon.timers SET accounted_through = $2, due = $3, start_at = $3, runs = 1 WHERE job = $1`,
      [job.key, now + 1_000, (tomorrow ?? 0) + byMs],
    )
    return { job, now, today: (tomorrow ?? 0) - 24 * hour, tomorrow: tomorrow ?? 0 }
  }

  test('and not taken by a worker is taken back, with the run that it counted for', async () => {
    const node = await house().node()
    const { job, tomorrow } = await stagedShifted(node, hour)
    await runAll(rezoneOf(node))
    expect(await queueOf(house(), job)).toEqual([])
    const [row] = await house().query<{ runs: number }>('SELECT runs FROM carillon.timers WHERE job = $1', [
      job.key,
    ])
    expect(row?.runs).toBe(0)
    const { due } = await timerOf(house(), job)
    // It was registered after noon: today's tick, at noon UTC, was none of its.
    expect(due).toBe(tomorrow)
  })

  /** The job is forty days old, and its last tick on record was this one. */
  async function recorded(job: TestJob, now: number, tick: number): Promise<void> {
    await house().query('UPDATE carillon.jobs SET effective_from = $2 WHERE job = $1', [
      job.key,
      now - 40 * 24 * hour,
    ])
    await house().query(
      `INSERT INTO carillon.ledger (recorded_at, tenant, job, due, origin, seq, outcome, final, round, attempt, version,
                                    epoch, partition)
       SELECT $2, tenant, job, $3, 0, 0, 'success', true, 0, 1, 1, 1, partition FROM carillon.jobs WHERE job = $1`,
      [job.key, now, tick],
    )
  }

  test('goes back to a tick that the new data has before it', async () => {
    const node = await house().node()
    const { job, now, today } = await stagedShifted(node, hour)
    const yesterday = now + 1_000 - 24 * hour
    await recorded(job, now, yesterday)
    await runAll(rezoneOf(node))
    expect(await timerOf(house(), job)).toMatchObject({ due: today, accounted_through: yesterday })
    expect(await jobOf(job)).toMatchObject({ effective_from: yesterday })
    expect(await segmentsOf(job)).toMatchObject([{ from_ms: now - 40 * 24 * hour }])
  })

  test('goes back to none that is on record', async () => {
    const node = await house().node()
    const { job, now, today, tomorrow } = await stagedShifted(node, hour)
    await recorded(job, now, today)
    await runAll(rezoneOf(node))
    expect(await timerOf(house(), job)).toMatchObject({ due: tomorrow, accounted_through: today })
  })

  test('goes back by a day at most, where the records are too old to be kept', async () => {
    const node = await house().node()
    const { job, now } = await stagedShifted(node, hour)
    await house().query('UPDATE carillon.jobs SET effective_from = $2 WHERE job = $1', [
      job.key,
      now - 40 * 24 * hour,
    ])
    await runAll(rezoneOf(node))
    expect((await timerOf(house(), job)).due).toBeGreaterThan(now - 27 * hour)
  })

  test('and leased stays, and the cursor does not step back over it', async () => {
    const node = await house().node()
    const { job, now, tomorrow } = await stagedShifted(node, hour)
    await house().query('UPDATE carillon.queue SET holder = $2, token = 1, leased_at = $3 WHERE job = $1', [
      job.key,
      node.membership.incarnation,
      now,
    ])
    await runAll(rezoneOf(node))
    expect(await queueOf(house(), job)).toHaveLength(1)
    expect(await timerOf(house(), job)).toMatchObject({ due: tomorrow, accounted_through: now + 1_000 })
  })

  test('and leased between the look and the lock stays, and is looked at again', async () => {
    const node = await house().node()
    const { job, now, tomorrow } = await stagedShifted(node, hour)
    const worker = await house().session()
    await worker.query('BEGIN')
    await worker.query('UPDATE carillon.queue SET holder = $2, token = 1, leased_at = $3 WHERE job = $1', [
      job.key,
      node.membership.incarnation,
      now,
    ])
    const rezone = rezoneOf(node)
    const walking = runAll(rezone)
    await house().lockWaits(1)
    await worker.query('COMMIT')
    await walking
    while (await rezone.runOnce());
    expect(await queueOf(house(), job)).toHaveLength(1)
    expect(await timerOf(house(), job)).toMatchObject({ due: tomorrow, accounted_through: now + 1_000 })
  })
})

describe('a partition', () => {
  test('is walked once for its owner, and again only when other data come', async () => {
    const node = await house().node()
    const rezone = rezoneOf(node)
    await runAll(rezone)
    const job = await shifted(node, hour)
    const timer = await timerOf(house(), job)
    await runAll(rezone)
    await runAll(rezoneOf(node))
    expect(await timerOf(house(), job)).toEqual(timer)
    await runAll(rezoneOf(node, '2100a'))
    expect((await timerOf(house(), job)).due).toBe((timer.due ?? 0) - hour)
    expect(await zoneDataOf(timer.partition)).toBe('2100a')
  })

  test('that another took meanwhile is neither changed nor marked', async () => {
    const node = await house().node()
    const job = await shifted(node, hour)
    const timer = await timerOf(house(), job)
    const empty = (timer.partition + 1) % 256
    await house().query('UPDATE carillon.partitions SET epoch = epoch + 1')
    const owned = node.ownership
      .current()
      .filter(({ partition }) => [timer.partition, empty].includes(partition))
    const rezone = rezoneOf(node, newData, () => owned)
    for (let pass = 0; pass < 4; pass++) await rezone.runOnce()
    expect(await timerOf(house(), job)).toEqual(timer)
    expect(await zoneDataOf(timer.partition)).toBeNull()
    expect(await zoneDataOf(empty)).toBeNull()
  })

  test('in which something is in the way does not keep the walk from the others', async () => {
    const node = await house().node()
    const jobs: TestJob[] = []
    for (let at = 0; at < 40; at++) jobs.push(await shifted(node, hour))
    const partitions = await Promise.all(jobs.map(async (job) => (await timerOf(house(), job)).partition))
    const blocked = new Set([...new Set(partitions)].sort((a, b) => a - b).slice(0, 18))
    await house().query('UPDATE carillon.partitions SET epoch = epoch + 1 WHERE partition = ANY ($1)', [
      [...blocked],
    ])
    const rezone = rezoneOf(node)
    for (let pass = 0; pass < 60; pass++) await rezone.runOnce()
    const set = await Promise.all(jobs.map(async (job) => (await jobOf(job)).zone_data === newData))
    expect(set).toEqual(partitions.map((partition) => !blocked.has(partition)))
  })

  test('cannot be taken over while its cursors are being set: the taker comes after, or the change is refused', async () => {
    const node = await house().node()
    const job = await shifted(node, hour)
    const { partition } = await timerOf(house(), job)
    const gate = await Gate.closeBefore(house(), 'UPDATE', 'timers')
    const walking = runAll(rezoneOf(node))
    await house().lockWaits(1)
    const taker = await house().session()
    const taking = taker.query('UPDATE carillon.partitions SET epoch = epoch + 1 WHERE partition = $1', [
      partition,
    ])
    await house().lockWaits(2)
    await gate.open()
    await taking
    await walking
    expect((await timerOf(house(), job)).due).toBe(Date.parse('2026-11-03T08:00:00Z'))
  })
})
