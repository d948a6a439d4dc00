import type { Why } from '@carillon/contract'
import { describe, expect, test } from 'vitest'
import { type HandMadeJob, minute, useHandMade } from '../kit/hand-made.js'
import { utcText } from '../../src/time/iso-text.js'

const hand = useHandMade()
const iso = (minutes: number) => utcText(minute(minutes))
const containing = (text: string) => expect.stringContaining(text) as string

function why(job: HandMadeJob, at: number | string): Promise<Why> {
  return hand().account.why(1, job.job_id, typeof at === 'number' ? iso(at) : at)
}

/** A tick a minute; the cursor stands at the sixth, and the clock half a minute after the fifth. */
async function minutely(options: Parameters<ReturnType<typeof hand>['job']>[0] = {}): Promise<HandMadeJob> {
  const job = await hand().job({ accountedThrough: minute(5), due: minute(6), ...options })
  await hand().clock.stepDatabase(minute(5.5) - (await hand().clock.databaseNow()))
  return job
}

describe('an instant that is no tick', () => {
  test('says so, with the ticks beside it', async () => {
    const job = await minutely()
    expect(await why(job, 2.5)).toMatchObject({
      verdict: 'no_tick',
      reason: 'not_in_schedule',
      before: iso(2),
      after: iso(3),
      summary:
        'No tick: the schedule does not name this instant; the tick before is 2026-11-02T12:02:00Z, the tick after is 2026-11-02T12:03:00Z.',
    })
  })

  test('and has a record all the same says both', async () => {
    const job = await minutely()
    await hand().ledger(job, minute(2.5))
    expect(await why(job, 2.5)).toMatchObject({
      verdict: 'no_tick',
      reason: 'unexpected',
      summary: containing('yet on record. Ran on time'),
    })
  })

  test('before the job was registered', async () => {
    const job = await minutely({ effectiveFrom: minute(3) })
    expect(await why(job, 2)).toMatchObject({
      verdict: 'no_tick',
      reason: 'before_registration',
      before: null,
      after: iso(4),
      segment: null,
    })
  })

  test('before starts_at and after ends_at', async () => {
    const job = await minutely({ starts_at: iso(2), ends_at: iso(4) })
    expect(await why(job, 1)).toMatchObject({ reason: 'before_starts_at', summary: containing('starts_at') })
    expect(await why(job, 4)).toMatchObject({
      reason: 'after_ends_at',
      summary: containing('ends_at'),
      before: iso(3),
      after: null,
    })
  })

  test('after the job was deleted, and after the last of its runs', async () => {
    const deleted = await minutely({
      state: 'deleted',
      endedAt: minute(3.5),
      accountedThrough: minute(3),
      due: null,
    })
    expect(await why(deleted, 4)).toMatchObject({
      verdict: 'no_tick',
      reason: 'deleted',
      summary: containing('2026-11-02T12:03:30Z'),
    })
    const done = await minutely({
      state: 'ended',
      max_runs: 3,
      runs: 3,
      accountedThrough: minute(3),
      due: null,
    })
    expect(await why(done, 4)).toMatchObject({
      verdict: 'no_tick',
      reason: 'max_runs',
      summary: containing('after 3 runs of at most 3'),
    })
  })

  test('excluded by a calendar or by a date names it', async () => {
    await hand().insert('calendars', {
      calendar: 1,
      tenant: 1,
      name: 'holidays-es',
      version: 1,
      updated_at: 1,
      definition: { dates: ['2026-11-03'] },
    })
    const job = await minutely({ schedule: '0 9 * * *', exclude: ['holidays-es', '2026-11-05'] })
    expect(await why(job, '2026-11-03T09:00:00Z')).toMatchObject({
      verdict: 'no_tick',
      reason: 'excluded',
      summary: containing('excluded by calendar holidays-es: 2026-11-03'),
    })
    expect((await why(job, '2026-11-05T09:00:00Z')).summary).toContain('excluded by 2026-11-05;')
    expect(await why(job, '2026-11-03T10:00:00Z')).toMatchObject({ reason: 'not_in_schedule' })
  })

  test('because the clocks jumped over it, asked for as the wall would show it', async () => {
    const job = await minutely({ schedule: '30 2 * * *', timezone: 'Europe/Madrid', dst_gap: 'skip' })
    const answer = await why(job, '2027-03-28T02:30:00')
    expect(answer).toMatchObject({
      verdict: 'no_tick',
      reason: 'dst_gap',
      todo: containing('run_after'),
      at: '2027-03-28T01:00:00Z',
    })
    await hand().skipped(job, Date.parse('2027-03-28T01:00:00Z'), 'dst_gap', { ticks: 2 })
    expect((await why(job, '2027-03-28T02:30:00')).summary).toContain(
      '2 times of the schedule fell into the jump',
    )
  })
})

describe('the instant asked about', () => {
  test('may be a local time, an offset, or UTC', async () => {
    const job = await minutely({ schedule: '0 9 * * *', timezone: 'Europe/Madrid' })
    for (const text of [
      '2026-11-03T09:00',
      '2026-11-03T09:00:00+01:00',
      '2026-11-03T09:00:00 01:00',
      '2026-11-03T08:00:00Z',
    ])
      expect(await why(job, text)).toMatchObject({
        verdict: 'future',
        at: '2026-11-03T08:00:00Z',
        local: '2026-11-03T09:00:00+01:00',
        timezone: 'Europe/Madrid',
      })
  })

  test('that is none is refused', async () => {
    const job = await minutely()
    await expect(why(job, 'noon')).rejects.toMatchObject({
      code: 'validation_failed',
      errors: [{ pointer: 'query:at' }],
    })
  })

  test('of a job that there is not, or of another tenant, is refused', async () => {
    const job = await minutely()
    await expect(hand().account.why(2, job.job_id, iso(1))).rejects.toMatchObject({ code: 'job_not_found' })
    await expect(hand().account.why(1, 'job_nonsense', iso(1))).rejects.toMatchObject({
      code: 'job_not_found',
    })
  })

  test('belongs to the version of its time', async () => {
    const job = await minutely({ version: 2, schedule: '@every 2m', effectiveFrom: minute(3) })
    await hand().segment(job, { from: minute(0), version: 1, definition: { schedule: '@every 1m' } })
    expect(await why(job, 3)).toMatchObject({
      segment: { version: 1, from: iso(0), to: iso(3) },
      after: iso(4),
    })
    expect(await why(job, 4)).toMatchObject({
      segment: { version: 2, from: iso(3), to: null },
      before: iso(3),
      after: iso(6),
    })
    expect(await why(job, 5)).toMatchObject({ verdict: 'no_tick', reason: 'not_in_schedule' })
  })

  test('of a collected job is answered from its records, or not known any more', async () => {
    const job = await minutely({ state: 'collected', endedAt: minute(2) })
    await hand().ledger(job, minute(1))
    expect(await why(job, 1)).toMatchObject({ verdict: 'ran', segment: null, before: null })
    expect(await why(job, 2)).toMatchObject({ verdict: 'not_verifiable', reason: 'collected' })
  })

  test('before the ledger begins is not known any more', async () => {
    await hand().database.query("SELECT carillon.make_ledger_day('2026-11-05')")
    try {
      const job = await minutely({ accountedThrough: minute(9_999), due: minute(10_000) })
      expect(await why(job, 2)).toMatchObject({ verdict: 'not_verifiable', reason: 'before_ledger' })
    } finally {
      await hand().database.query('DROP TABLE carillon.ledger_20261105')
    }
  })
})

test('a name is that of the live job, or of the latest that had it', async () => {
  const old = await hand().job({ name: 'digest', state: 'ended' })
  const latest = await hand().job({ name: 'digest', state: 'deleted' })
  expect(await hand().account.idOfName(1, 'digest')).toBe(latest.job_id)
  const live = await hand().job({ name: 'digest' })
  expect(await hand().account.idOfName(1, 'digest')).toBe(live.job_id)
  expect(old.job_id).not.toBe(live.job_id)
  expect(await hand().account.idOfName(1, 'other')).toBeNull()
})
