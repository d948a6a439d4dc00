import type { Verification } from '@carillon/contract'
import { describe, expect, test } from 'vitest'
import { type HandMadeJob, minute, useHandMade } from '../kit/hand-made.js'
import { utcText } from '../../src/time/iso-text.js'

const hand = useHandMade()

/** Ten ticks, a minute apart, all of them run; the clock stands half a minute after the last. */
async function tenRuns(except: readonly number[] = []): Promise<HandMadeJob> {
  const job = await hand().job({ accountedThrough: minute(10), due: minute(11) })
  for (let tick = 1; tick <= 10; tick++) if (!except.includes(tick)) await hand().ledger(job, minute(tick))
  await hand().clock.stepDatabase(10.5 * 60_000)
  return job
}

function sumOf(found: Verification): number {
  const { ran, late, caught_up, skipped, in_flight, paused, pending, unaccounted } = found
  return ran + late + caught_up + skipped + in_flight + paused + pending + unaccounted
}

async function verify(job?: HandMadeJob, from = 0, to = 11): Promise<Verification> {
  const found = await hand().verify(from, to, job)
  expect(sumOf(found)).toBe(found.expected)
  return found
}

const clean = { unaccounted: 0, doubled: 0, unexpected: 0, wrong_count: 0, findings: [] }

describe('a ledger without a fault', () => {
  test('has every tick that ran, of all jobs and of one', async () => {
    const job = await tenRuns()
    const other = await hand().job({ accountedThrough: minute(10), due: minute(15), schedule: '@every 5m' })
    await hand().ledger(other, minute(5))
    await hand().ledger(other, minute(10))
    expect(await verify()).toMatchObject({ jobs: 2, expected: 12, ran: 12, ...clean })
    expect(await verify(job)).toMatchObject({ jobs: 1, expected: 10, ran: 10, ...clean })
    expect(await verify(job, 3, 5)).toMatchObject({ expected: 2, ran: 2, ...clean })
  })

  test('tells late from on time by the first attempt, and caught up from both', async () => {
    const job = await tenRuns([1, 2, 3, 4])
    const at = (tick: number, after: number) => ({
      started_at: minute(tick) + after,
      leased_at: minute(tick) + after,
    })
    await hand().ledger(job, minute(1), at(1, 15_001))
    await hand().ledger(job, minute(2), at(2, 15_000))
    await hand().ledger(job, minute(3), { final: false, outcome: 'failed', ...at(3, 10) })
    await hand().ledger(job, minute(3), { attempt: 2, available_at: minute(5), ...at(5, 0) })
    await hand().ledger(job, minute(4), { catch_up: true, available_at: minute(9), ...at(9, 0) })
    expect(await verify(job)).toMatchObject({ ran: 8, late: 1, caught_up: 1, failed: 0, ...clean })
  })

  test('a run whose first attempt died with its worker is late by its lease', async () => {
    const job = await tenRuns([1])
    const lost = {
      final: false,
      outcome: 'failed',
      reason: 'worker_lost',
      started_at: null,
      finished_at: null,
    }
    await hand().ledger(job, minute(1), { ...lost, leased_at: minute(1) + 20_000 })
    await hand().ledger(job, minute(1), { attempt: 2, available_at: minute(2) })
    expect(await verify(job)).toMatchObject({ ran: 9, late: 1, ...clean })
  })

  test('counts what failed among what ran', async () => {
    const job = await tenRuns([1, 2, 3])
    await hand().ledger(job, minute(1), { outcome: 'failed' })
    await hand().ledger(job, minute(2), { outcome: 'dead', attempt: 4 })
    await hand().letter(job, minute(2))
    await hand().ledger(job, minute(3), { outcome: 'cancelled', reason: 'replaced' })
    expect(await verify(job)).toMatchObject({ expected: 10, ran: 10, failed: 2, ...clean })
  })

  test('has the reason of every tick that was not run', async () => {
    const job = await tenRuns([1, 2, 3, 4, 5])
    await hand().skipped(job, minute(1), 'overlap')
    await hand().skipped(job, minute(2), 'missed', { due_to: minute(4), ticks: 3 })
    const neverBegan = { started_at: null, leased_at: null, finished_at: null }
    await hand().ledger(job, minute(5), { outcome: 'cancelled', reason: 'replaced', ...neverBegan })
    expect(await verify(job)).toMatchObject({
      ran: 5,
      skipped: 5,
      skipped_by_reason: { overlap: 1, missed: 3, replaced: 1 },
      ...clean,
    })
    expect(await verify(job, 3, 4.5)).toMatchObject({ expected: 2, skipped: 2, ...clean })
    expect(await verify(undefined, 3, 4.5)).toMatchObject({ expected: 2, skipped: 2, ...clean })
  })

  test('has runs in the queue, re-driven ones, and those of a catch-up as in flight', async () => {
    const job = await tenRuns([1, 2, 3, 8, 9, 10])
    await hand().queued(job, minute(10))
    await hand().ledger(job, minute(9), { outcome: 'dead' })
    await hand().queued(job, minute(9), { round: 1 })
    await hand().ledger(job, minute(8), { outcome: 'dead' })
    await hand().ledger(job, minute(8), { round: 1 })
    await hand().ledger(job, minute(1), { catch_up: true })
    const range = { from_ms: minute(1), to_ms: minute(3), total: 3, done: 1 }
    await hand().replay(job, { ...range, cursor_ms: minute(2) })
    expect(await verify(job)).toMatchObject({ ran: 5, caught_up: 1, in_flight: 4, failed: 0, ...clean })
  })

  test('runs that somebody triggered are no ticks', async () => {
    const job = await tenRuns()
    await hand().ledger(job, minute(3) + 17, { origin: 1, seq: 1 })
    await hand().ledger(job, minute(4), { origin: 1, seq: 2 })
    await hand().queued(job, minute(5), { origin: 1, seq: 3 })
    expect(await verify(job)).toMatchObject({ expected: 10, ran: 10, ...clean })
  })

  test('a dead letter stands for its tick also without the ledger', async () => {
    const job = await tenRuns([2])
    await hand().letter(job, minute(2))
    expect(await verify(job)).toMatchObject({ ran: 10, failed: 1, ...clean })
  })
})

describe('ticks that nobody has reached', () => {
  test('are pending where the cursor stands before them', async () => {
    const job = await hand().job({ accountedThrough: minute(2), due: minute(3) })
    for (const tick of [1, 2]) await hand().ledger(job, minute(tick))
    await hand().clock.stepDatabase(5.5 * 60_000)
    expect(await verify(job)).toMatchObject({ expected: 5, ran: 2, pending: 3, ...clean })
  })

  test('are paused where the job is, but not those before the pause', async () => {
    const job = await hand().job({ state: 'paused', accountedThrough: minute(2) })
    await hand().ledger(job, minute(1))
    await hand().clock.stepDatabase(5.5 * 60_000)
    expect(await verify(job)).toMatchObject({ expected: 5, ran: 1, paused: 3, unaccounted: 1 })
  })

  test('are not owed by a job that made all its runs', async () => {
    const job = await hand().job({ state: 'ended', max_runs: 2, runs: 2, accountedThrough: minute(2) })
    for (const tick of [1, 2]) await hand().ledger(job, minute(tick))
    await hand().clock.stepDatabase(5.5 * 60_000)
    expect(await verify(job)).toMatchObject({ expected: 2, ran: 2, ...clean })
  })

  test('are lost where a job ended without having made all its runs', async () => {
    const job = await hand().job({ state: 'ended', max_runs: 3, runs: 2, accountedThrough: minute(2) })
    for (const tick of [1, 2]) await hand().ledger(job, minute(tick))
    await hand().clock.stepDatabase(5.5 * 60_000)
    expect(await verify(job)).toMatchObject({ expected: 5, ran: 2, unaccounted: 3 })
  })

  test('are not owed by a deleted job, and those it ran all the same count', async () => {
    const job = await hand().job({ state: 'deleted', endedAt: minute(2.5), accountedThrough: minute(1) })
    await hand().ledger(job, minute(1))
    await hand().skipped(job, minute(2), 'deleted')
    await hand().ledger(job, minute(3), { outcome: 'cancelled', reason: 'job_deleted', started_at: null })
    await hand().clock.stepDatabase(5.5 * 60_000)
    expect(await verify(job)).toMatchObject({ expected: 3, ran: 1, skipped: 2, ...clean })
  })
})

describe('corruption', () => {
  const found = (result: Verification) => result.findings.map(({ tick, kind }) => [tick, kind])
  const iso = (minutes: number) => utcText(minute(minutes))

  test('a row that is gone is found', async () => {
    const job = await tenRuns([4])
    const result = await verify(job)
    expect(result).toMatchObject({ expected: 10, ran: 9, unaccounted: 1, doubled: 0 })
    expect(found(result)).toEqual([[iso(4), 'unaccounted']])
    expect(result.findings[0]).toMatchObject({
      job_id: job.job_id,
      detail: expect.stringContaining('No record') as string,
    })
  })

  test('a tick that the cursor jumped over is found', async () => {
    const job = await hand().job({ accountedThrough: minute(2), due: minute(4) })
    for (const tick of [1, 2]) await hand().ledger(job, minute(tick))
    await hand().clock.stepDatabase(5.5 * 60_000)
    const result = await verify(job)
    expect(result).toMatchObject({ expected: 5, ran: 2, pending: 2, unaccounted: 1 })
    expect(found(result)).toEqual([[iso(3), 'unaccounted']])
    expect(result.findings[0]?.detail).toContain('jumped')
  })

  test('a tick that ended twice in one round is found', async () => {
    const job = await tenRuns()
    await hand().ledger(job, minute(4), { attempt: 2 })
    const result = await verify(job)
    expect(result).toMatchObject({ expected: 10, ran: 10, unaccounted: 0, doubled: 1 })
    expect(found(result)).toEqual([[iso(4), 'doubled']])
  })

  test('a tick that ended and is in the queue is found, also as an older round', async () => {
    const job = await tenRuns()
    await hand().queued(job, minute(4))
    await hand().ledger(job, minute(5), { round: 1 })
    await hand().queued(job, minute(5), { round: 1 })
    const result = await verify(job)
    expect(result).toMatchObject({ expected: 10, ran: 10, doubled: 2 })
    expect(found(result)).toEqual([
      [iso(4), 'doubled'],
      [iso(5), 'doubled'],
    ])
  })

  test('a dead letter that is in the queue as well is found', async () => {
    const job = await tenRuns([4])
    await hand().ledger(job, minute(4), { outcome: 'dead' })
    await hand().letter(job, minute(4))
    await hand().queued(job, minute(4), { round: 1 })
    expect(found(await verify(job))).toEqual([[iso(4), 'doubled']])
  })

  test('a range over ticks that ran is found, and two ranges over one tick', async () => {
    const job = await tenRuns([6, 7])
    await hand().skipped(job, minute(4), 'missed', { due_to: minute(6), ticks: 3 })
    await hand().skipped(job, minute(6), 'missed', { due_to: minute(7), ticks: 2 })
    const result = await verify(job)
    expect(result).toMatchObject({ expected: 10, ran: 8, skipped: 2, doubled: 3, wrong_count: 0 })
    expect(found(result)).toEqual([4, 5, 6].map((tick) => [iso(tick), 'doubled']))
  })

  test('a catch-up that would run a tick again is found', async () => {
    const job = await tenRuns()
    await hand().replay(job, { from_ms: minute(3), to_ms: minute(4), cursor_ms: minute(4) })
    expect(found(await verify(job))).toEqual([[iso(4), 'doubled']])
  })

  test('a range that counts wrongly is found, once', async () => {
    const job = await tenRuns([2, 3, 4])
    await hand().skipped(job, minute(2), 'missed', { due_to: minute(4), ticks: 4 })
    const result = await verify(job)
    expect(result).toMatchObject({ skipped: 3, wrong_count: 1, doubled: 0, unaccounted: 0 })
    expect(found(result)).toEqual([[iso(2), 'wrong_count']])
    expect(await verify(job, 3, 11)).toMatchObject({ skipped: 2, wrong_count: 1 })
  })

  test('a row for an instant that is no tick is found, in the ledger and in the queue', async () => {
    const job = await tenRuns()
    await hand().ledger(job, minute(4) + 1)
    await hand().skipped(job, minute(5) + 2, 'overlap')
    await hand().queued(job, minute(6.5))
    const result = await verify(job)
    expect(result).toMatchObject({ expected: 10, ran: 10, unexpected: 3, unaccounted: 0 })
    expect(found(result)).toEqual([
      [utcText(minute(4) + 1), 'unexpected'],
      [utcText(minute(5) + 2), 'unexpected'],
      [iso(6.5), 'unexpected'],
    ])
  })

  test('a range that begins and ends between ticks is found', async () => {
    const job = await tenRuns([2, 3])
    await hand().skipped(job, minute(1.5), 'missed', { due_to: minute(3.5), ticks: 2 })
    expect(await verify(job)).toMatchObject({ skipped: 2, unexpected: 2, wrong_count: 0 })
  })

  test('a record of a jump of the clocks that never was is found', async () => {
    const job = await tenRuns()
    await hand().skipped(job, minute(4), 'dst_gap')
    expect(await verify(job)).toMatchObject({ expected: 10, ran: 10, unexpected: 1, doubled: 0 })
  })

  test('a job without a cursor owes what has no record', async () => {
    const job = await hand().job({ accountedThrough: null })
    await hand().ledger(job, minute(1))
    await hand().clock.stepDatabase(2.5 * 60_000)
    expect(await verify(job)).toMatchObject({ expected: 2, ran: 1, unaccounted: 1 })
  })

  test('only the first hundred findings are told, and all are counted', async () => {
    const job = await hand().job({ accountedThrough: minute(300), due: minute(301) })
    await hand().clock.stepDatabase(300.5 * 60_000)
    const result = await verify(job, 0, 400)
    expect(result).toMatchObject({ expected: 300, unaccounted: 300 })
    expect(result.findings).toHaveLength(100)
  })
})
