import type { Verification } from '@carillon/contract'
import { describe, expect, test } from 'vitest'
import { Account } from '../../src/pipeline/account/account.js'
import { type HandMadeJob, type JobOptions, lateToleranceMs, minute, useHandMade } from '../kit/hand-made.js'
import { ManualClock } from '../kit/manual-clock.js'
import { testEpoch } from '../kit/test-clock.js'
import { utcText } from '../../src/time/iso-text.js'

const hand = useHandMade()
const hour = 3_600_000
const clean = { unaccounted: 0, doubled: 0, unexpected: 0, wrong_count: 0, findings: [] }
const at = (text: string) => Date.parse(text)

function verify(from: string, to: string, job?: HandMadeJob): Promise<Verification> {
  return hand().account.verify(null, { from, to, jobId: job?.job_id, budgetMs: null })
}

async function moveTo(instant: string | number): Promise<void> {
  const to = typeof instant === 'number' ? instant : at(instant)
  await hand().clock.stepDatabase(to - (await hand().clock.databaseNow()))
}

/** A job whose cursor has passed all of the range, with a run for each of these instants. */
async function jobWithRuns(options: JobOptions, ...ran: string[]): Promise<HandMadeJob> {
  const accountedThrough = Math.max(testEpoch, ...ran.map(at))
  const job = await hand().job({ accountedThrough, due: accountedThrough + 1, ...options })
  for (const instant of ran) await hand().ledger(job, at(instant))
  return job
}

describe('segments', () => {
  test('each stretch of a life has the ticks of its own version', async () => {
    const job = await hand().job({
      version: 2,
      schedule: '@every 2m',
      effectiveFrom: minute(4),
      accountedThrough: minute(8),
      due: minute(10),
    })
    await hand().segment(job, { from: minute(0), version: 1, definition: { schedule: '@every 1m' } })
    for (const tick of [1, 2, 3, 4, 6, 8]) await hand().ledger(job, minute(tick))
    await moveTo(minute(9))
    expect(await hand().verify(0, 9, job)).toMatchObject({ expected: 6, ran: 6, ...clean })
    await hand().ledger(job, minute(5))
    expect(await hand().verify(0, 9, job)).toMatchObject({ expected: 6, unexpected: 1 })
  })

  test('a tick on the border of two stretches belongs to the earlier one, and is expected once', async () => {
    const job = await hand().job({
      version: 2,
      effectiveFrom: minute(3),
      accountedThrough: minute(5),
      due: minute(6),
    })
    await hand().segment(job, { from: minute(0), version: 1, definition: {} })
    for (const tick of [1, 2, 3, 4, 5]) await hand().ledger(job, minute(tick))
    await moveTo(minute(5.5))
    expect(await hand().verify(0, 6, job)).toMatchObject({ expected: 5, ran: 5, ...clean })
  })

  test('a job has no tick before its first stretch begins', async () => {
    const job = await hand().job({ effectiveFrom: minute(3), accountedThrough: minute(5), due: minute(6) })
    for (const tick of [4, 5]) await hand().ledger(job, minute(tick))
    await moveTo(minute(5.5))
    expect(await hand().verify(0, 6, job)).toMatchObject({ jobs: 1, expected: 2, ran: 2, ...clean })
    expect(await hand().verify(0, 2, job)).toMatchObject({ jobs: 0, expected: 0 })
    await hand().ledger(job, minute(2))
    expect(await hand().verify(0, 6, job)).toMatchObject({ expected: 2, unexpected: 1 })
  })

  test('a superseded calendar excludes its own days, and the present one its own', async () => {
    const put = (dates: string[]) => ({ holidays: { dates } })
    await hand().database.query(
      "INSERT INTO carillon.calendars (tenant, name, definition) VALUES (1, 'holidays', $1)",
      [JSON.stringify({ dates: ['2026-11-06'] })],
    )
    const job = await jobWithRuns(
      { schedule: '0 9 * * *', exclude: ['holidays'], effectiveFrom: at('2026-11-05T00:00:00Z') },
      '2026-11-03T09:00:00Z',
      '2026-11-05T09:00:00Z',
      '2026-11-07T09:00:00Z',
    )
    await hand().segment(job, { from: testEpoch, version: 1, calendars: put(['2026-11-04']) })
    await moveTo('2026-11-07T10:00:00Z')
    const range = ['2026-11-02T12:00:00Z', '2026-11-07T10:00:00Z'] as const
    expect(await verify(...range, job)).toMatchObject({ expected: 3, ran: 3, ...clean })
  })

  test('a version whose definition is gone cannot be verified, and says so', async () => {
    const job = await hand().job({ version: 3, effectiveFrom: minute(4) })
    await hand().segment(job, { from: minute(0), version: 1 })
    await moveTo(minute(9))
    const found = await hand().verify(0, 9, job)
    expect(found).toMatchObject({
      jobs: 0,
      expected: 0,
      not_verifiable: 1,
      findings: [{ kind: 'unreadable', tick: null }],
    })
    expect(found.notes.join()).toContain('1 job was left out')
  })
})

describe('ticks of which something was asked', () => {
  const asked = async (job: HandMadeJob, due: number, startAt: number | null = null) => {
    await hand().database.query(
      `INSERT INTO carillon.tick_changes (job, due, tenant, action, start_at, partition)
       VALUES ($1, $2, 1, $3, $4, 0)`,
      [job.key, due, startAt === null ? 'skip' : 'move', startAt],
    )
    await hand().database.query('UPDATE carillon.jobs SET ticks_changed_until = $2 WHERE job = $1', [
      job.key,
      due,
    ])
  }

  test('a range of skipped ticks does not stand for one that was left out on request', async () => {
    const job = await hand().job({ accountedThrough: minute(5), due: minute(6) })
    await asked(job, minute(3))
    await hand().skipped(job, minute(1), 'missed', { due_to: minute(5), ticks: 4 })
    await moveTo(minute(5.5))
    // Its own record is missing.
    expect(await hand().verify(0, 6, job)).toMatchObject({ expected: 5, skipped: 4, unaccounted: 1 })
    await hand().skipped(job, minute(3), 'skipped_by_request')
    expect(await hand().verify(0, 6, job)).toMatchObject({ expected: 5, skipped: 5, ...clean })
  })

  test('a range that counts it all the same is wrong', async () => {
    const job = await hand().job({ accountedThrough: minute(5), due: minute(6) })
    await asked(job, minute(3))
    await hand().skipped(job, minute(1), 'missed', { due_to: minute(5), ticks: 5 })
    await hand().skipped(job, minute(3), 'skipped_by_request')
    await moveTo(minute(5.5))
    expect(await hand().verify(0, 6, job)).toMatchObject({ wrong_count: 1, doubled: 0 })
  })

  test('a tick that was moved days ahead is found by its record, however old', async () => {
    const due = minute(0) + 5 * 86_400_000
    const job = await hand().job({ schedule: '@every 5d', accountedThrough: due, due: due + 5 * 86_400_000 })
    await asked(job, due, minute(10))
    await moveTo(minute(10))
    await hand().ledger(job, due, {
      recorded_at: minute(10.1),
      available_at: minute(10),
      started_at: minute(10),
    })
    await moveTo(due + 60_000)
    const found = await verify(utcText(due - 60_000), utcText(due + 60_000))
    expect(found).toMatchObject({ expected: 1, ran: 1, ...clean })
  })
})

describe('changes of the clocks', () => {
  const daily = { schedule: '30 2 * * *', timezone: 'Europe/Madrid' } as const

  test('a time that the clocks jump over in spring is no tick, and its record is right', async () => {
    const job = await jobWithRuns(
      { ...daily, dst_gap: 'skip', effectiveFrom: at('2027-03-26T12:00:00Z') },
      '2027-03-27T01:30:00Z',
      '2027-03-29T00:30:00Z',
    )
    await hand().skipped(job, at('2027-03-28T01:00:00Z'), 'dst_gap')
    await moveTo('2027-03-29T12:00:00Z')
    const range = ['2027-03-26T12:00:00Z', '2027-03-29T12:00:00Z'] as const
    expect(await verify(...range, job)).toMatchObject({ expected: 2, ran: 2, skipped: 0, ...clean })
  })

  test('with run_after the tick of the jump is owed', async () => {
    const job = await jobWithRuns(
      { ...daily, effectiveFrom: at('2027-03-26T12:00:00Z') },
      '2027-03-27T01:30:00Z',
      '2027-03-29T00:30:00Z',
    )
    await moveTo('2027-03-29T12:00:00Z')
    const found = await verify('2027-03-26T12:00:00Z', '2027-03-29T12:00:00Z', job)
    expect(found).toMatchObject({ expected: 3, ran: 2, unaccounted: 1 })
    expect(found.findings[0]?.tick).toBe('2027-03-28T01:00:00Z')
  })

  test('a time that comes twice in autumn is one tick, or two where the job says so', async () => {
    const first = '2027-10-31T00:30:00Z'
    const second = '2027-10-31T01:30:00Z'
    const once = await jobWithRuns({ ...daily, effectiveFrom: at('2027-10-30T12:00:00Z') }, first)
    const both = await jobWithRuns(
      { ...daily, dst_overlap: 'both', effectiveFrom: at('2027-10-30T12:00:00Z') },
      first,
      second,
    )
    await moveTo('2027-10-31T12:00:00Z')
    const range = ['2027-10-30T12:00:00Z', '2027-10-31T12:00:00Z'] as const
    expect(await verify(...range, once)).toMatchObject({ expected: 1, ran: 1, ...clean })
    expect(await verify(...range, both)).toMatchObject({ expected: 2, ran: 2, ...clean })
  })

  test('a tick that another release of the zone data put elsewhere is told apart, and still accounted for', async () => {
    const job = await jobWithRuns(
      { schedule: '0 9 * * *', timezone: 'Europe/Madrid', zoneData: '1999a' },
      '2026-11-03T09:00:00Z',
      '2026-11-04T08:00:00Z',
    )
    await moveTo('2026-11-04T12:00:00Z')
    const range = ['2026-11-02T12:00:00Z', '2026-11-04T12:00:00Z'] as const
    const found = await verify(...range, job)
    expect(found).toMatchObject({ expected: 2, ran: 2, tz_changed: 1, unaccounted: 0, unexpected: 0 })
    expect(found.findings).toMatchObject([{ kind: 'tz_changed', tick: '2026-11-03T08:00:00Z' }])
  })

  test('with the zone data of today the same is a tick lost and a record too many', async () => {
    const job = await jobWithRuns(
      { schedule: '0 9 * * *', timezone: 'Europe/Madrid' },
      '2026-11-03T09:00:00Z',
    )
    await moveTo('2026-11-03T12:00:00Z')
    const found = await verify('2026-11-02T12:00:00Z', '2026-11-03T12:00:00Z', job)
    expect(found).toMatchObject({ expected: 1, tz_changed: 0, unaccounted: 1, unexpected: 1 })
  })
})

describe('the range', () => {
  test('ends now where it was to end later, and says so', async () => {
    const job = await hand().job({ accountedThrough: minute(2), due: minute(3) })
    for (const tick of [1, 2]) await hand().ledger(job, minute(tick))
    await moveTo(minute(2.5))
    const found = await hand().verify(0, 60, job)
    expect(found).toMatchObject({ expected: 2, ran: 2, to: utcText(minute(2.5)), ...clean })
    expect(found.notes.join()).toContain('future')
  })

  test('begins with the ledger where older days are gone, and says so', async () => {
    const start = '2026-11-05T00:00:00Z'
    await hand().database.query("SELECT carillon.make_ledger_day('2026-11-05')")
    try {
      const job = await jobWithRuns({ schedule: '0 9 * * *' }, '2026-11-05T09:00:00Z')
      await moveTo('2026-11-05T12:00:00Z')
      const found = await verify('2026-11-02T12:00:00Z', '2026-11-05T12:00:00Z', job)
      expect(found).toMatchObject({ from: utcText(Date.parse(start)), expected: 1, ran: 1, ...clean })
      expect(found.notes.join()).toContain('ledger begins')
      const gone = await verify('2026-11-02T12:00:00Z', '2026-11-03T12:00:00Z', job)
      expect(gone).toMatchObject({ expected: 0, unaccounted: 0 })
    } finally {
      await hand().database.query('DROP TABLE carillon.ledger_20261105')
    }
  })

  test('a tick at its beginning belongs to it, one at its end does not', async () => {
    const job = await hand().job({ accountedThrough: minute(3), due: minute(4) })
    for (const tick of [1, 2, 3]) await hand().ledger(job, minute(tick))
    await moveTo(minute(3.5))
    expect(await hand().verify(1, 3, job)).toMatchObject({ expected: 2, ran: 2, ...clean })
  })

  test.each([
    ['ends before it begins', '2026-11-03T00:00:00Z', '2026-11-02T00:00:00Z', 'query:to'],
    ['has a text that is no instant', 'yesterday', '2026-11-02T00:00:00Z', 'query:from'],
  ])('is refused where it %s', async (_what, from, to, pointer) => {
    await expect(verify(from, to)).rejects.toMatchObject({ code: 'validation_failed', errors: [{ pointer }] })
  })

  test('of a job that there is not is refused', async () => {
    const stranger = { key: 0, job_id: 'job_00000000000000000000000000', partition: 0 }
    await expect(verify('2026-11-02T00:00:00Z', '2026-11-03T00:00:00Z', stranger)).rejects.toMatchObject({
      code: 'job_not_found',
    })
  })
})

describe('jobs that cannot be verified', () => {
  test('collected ones are counted, and their records are no fault', async () => {
    const job = await hand().job({ state: 'collected', endedAt: minute(1) })
    await hand().ledger(job, minute(1))
    await hand().job({ accountedThrough: minute(0), due: minute(30), schedule: '@every 30m' })
    await moveTo(minute(5))
    expect(await hand().verify(0, 5)).toMatchObject({ jobs: 1, expected: 0, not_verifiable: 1, ...clean })
  })

  test('one with a schedule that cannot be read does not stop the others', async () => {
    await hand().job({ schedule: 'nonsense' })
    const job = await hand().job({ accountedThrough: minute(1), due: minute(2) })
    await hand().ledger(job, minute(1))
    await moveTo(minute(1.5))
    expect(await hand().verify(0, 2)).toMatchObject({
      jobs: 1,
      expected: 1,
      ran: 1,
      not_verifiable: 1,
      unaccounted: 0,
    })
  })
})

describe('much at once', () => {
  /** So many jobs, a tick a minute each, of which all but one of one job have run. */
  async function manyJobs(jobs: number, ticks: number): Promise<HandMadeJob> {
    const first = await hand().job({ accountedThrough: minute(ticks), due: minute(ticks + 1) })
    await hand().database.query(
      `WITH more AS (
         INSERT INTO carillon.jobs (id, tenant, partition, name, definition, one_off, route, effective_from, zone_data)
         SELECT gen_random_uuid(), tenant, partition, name || n, definition, false, route, effective_from, zone_data
         FROM carillon.jobs, generate_series(2, $1) n WHERE job = $2 RETURNING job, partition)
       INSERT INTO carillon.timers (job, tenant, due, start_at, accounted_through, partition)
       SELECT m.job, 1, t.due, t.start_at, t.accounted_through, m.partition
       FROM more m, carillon.timers t WHERE t.job = $2`,
      [jobs, first.key],
    )
    await hand().database.query(
      `INSERT INTO carillon.ledger (recorded_at, tenant, job, due, origin, seq, outcome, final, round, attempt, version,
                                    epoch, available_at, started_at, partition)
       SELECT due + 50, 1, job, due, 0, 0, 'success', true, 0, 1, 1, 1, due, due, partition
       FROM carillon.jobs, generate_series($1::bigint + 60000, $1 + 60000 * $2, 60000) due`,
      [testEpoch, ticks],
    )
    await moveTo(minute(ticks + 0.5))
    return first
  }

  test('chunks of jobs and slices of time leave nothing out and count nothing twice', async () => {
    const first = await manyJobs(1_203, 50)
    await hand().database.query('DELETE FROM carillon.ledger WHERE job = $1 AND due = $2', [
      first.key,
      minute(49),
    ])
    const seen: number[] = []
    const all = await hand().account.verify(null, {
      from: utcText(testEpoch),
      to: utcText(minute(60)),
      budgetMs: null,
      onProgress: ({ expected }) => seen.push(expected),
    })
    expect(all).toMatchObject({ jobs: 1_203, expected: 60_150, ran: 60_149, unaccounted: 1, doubled: 0 })
    expect(all.next_cursor).toBeNull()
    expect(seen.length).toBeGreaterThan(4)
    expect(Math.max(...seen.map((count, index) => count - (seen[index - 1] ?? 0)))).toBeLessThanOrEqual(
      20_000,
    )
  })

  test('a budget ends a part anywhere, and the parts add up to the whole', async () => {
    await manyJobs(1_203, 50)
    const range = { from: utcText(testEpoch), to: utcText(minute(50.5)) }
    const clock = new ManualClock()
    const account = new Account({ database: hand().database.database, clock, lateToleranceMs })
    let cursor: string | undefined
    const sums = { jobs: 0, expected: 0, ran: 0, parts: 0 }
    do {
      // Each slice takes a second.
      const onProgress = () => void clock.advance(1_000)
      const part = await account.verify(null, { ...range, cursor, budgetMs: 500, onProgress })
      sums.jobs += part.jobs
      sums.expected += part.expected
      sums.ran += part.ran
      sums.parts++
      cursor = part.next_cursor ?? undefined
    } while (cursor !== undefined)
    expect(sums).toMatchObject({ jobs: 1_203, expected: 60_150, ran: 60_150 })
    expect(sums.parts).toBeGreaterThan(3)
  })

  test('a range over the borders of slices is counted once, and covers ticks in each of them', async () => {
    const ticks = 50_000
    const job = await hand().job({ accountedThrough: minute(ticks), due: minute(ticks + 1) })
    await hand().skipped(job, minute(1), 'paused', { due_to: minute(ticks), ticks })
    await moveTo(minute(ticks + 0.5))
    const found = await hand().verify(0, ticks + 1)
    expect(found).toMatchObject({
      expected: ticks,
      skipped: ticks,
      skipped_by_reason: { paused: ticks },
      ...clean,
    })
  })

  test('a run that moves from the queue to the ledger meanwhile is never in neither', async () => {
    const job = await hand().job({ accountedThrough: minute(20), due: minute(21) })
    for (let tick = 1; tick <= 20; tick++) await hand().queued(job, minute(tick))
    await moveTo(minute(20.5))
    let done = false
    const closing = (async () => {
      for (let tick = 1; tick <= 20; tick++) {
        await hand().database.query(
          `WITH gone AS (DELETE FROM carillon.queue WHERE job = $1 AND due = $2 RETURNING *)
           INSERT INTO carillon.ledger (recorded_at, tenant, job, due, origin, seq, outcome, final, round, attempt,
                                        version, epoch, available_at, started_at, partition)
           SELECT due, 1, job, due, 0, 0, 'success', true, 0, 1, 1, 1, due, due, partition FROM gone`,
          [job.key, minute(tick)],
        )
      }
      done = true
    })()
    const seen = new Set<number>()
    while (!done) {
      const found = await hand().verify(0, 21, job)
      expect(found).toMatchObject({ expected: 20, ...clean })
      seen.add(found.in_flight)
    }
    await closing
    expect(await hand().verify(0, 21, job)).toMatchObject({ ran: 20, in_flight: 0, ...clean })
    expect(seen.size).toBeGreaterThan(0)
  })

  test('a long gap costs no time for the ticks in it where only its end is asked for', async () => {
    const job = await hand().job({ schedule: '* * * * * *', accountedThrough: testEpoch + 30 * 24 * hour })
    await moveTo(testEpoch + 30 * 24 * hour)
    await hand().skipped(job, testEpoch + 1_000, 'paused', {
      due_to: testEpoch + 30 * 24 * hour,
      ticks: 2_592_000,
    })
    const from = utcText(testEpoch + 30 * 24 * hour - 60_000)
    const to = utcText(testEpoch + 30 * 24 * hour)
    expect(await verify(from, to, job)).toMatchObject({ expected: 60, skipped: 60, ...clean })
  })
})
