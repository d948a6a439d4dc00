import { CarillonError } from '@carillon/contract'
import { describe, expect, test } from 'vitest'
import { lease } from '../kit/attempts.js'
import { ledgerOf, queueOf, timerOf } from '../kit/rows.js'
import { useHouse } from '../kit/use-house.js'
import { utcText } from '../../src/time/iso-text.js'

const house = useHouse()

async function problemOf(
  promise: Promise<unknown>,
): Promise<{ code: string; status: number; pointers: string[] }> {
  const error: unknown = await promise.then(
    () => new Error('It was accepted.'),
    (refused: unknown) => refused,
  )
  if (!(error instanceof CarillonError)) throw error
  return { code: error.code, status: error.status, pointers: error.errors.map(({ pointer }) => pointer) }
}

test('what is left out is filled in', async () => {
  const node = await house().node()
  const now = await house().now()
  const { job_id, warnings, ...job } = await node.registry.create(1, { name: 'plain', schedule: '@every 1h' })
  expect(job_id).toMatch(/^job_[0-9a-z]{26}$/)
  expect(warnings).toMatchObject([{ code: 'no_worker_for_task' }])
  expect(warnings[0]?.message).toContain('"plain"')
  expect(job).toMatchObject({
    name: 'plain',
    state: 'active',
    version: 1,
    schedule: '@every 1h',
    timezone: 'UTC',
    next_run_at: utcText(now + 3_600_000),
    target: { type: 'task', task: 'plain' },
    payload: null,
    idempotency_key_template: '{{job_id}}:{{scheduled_at_unix}}',
    max_retries: 3,
    retry_backoff: 'exponential',
    missed_window: 'RUN_ONCE',
    max_missed: 10,
    misfire_grace_seconds: null,
    timeout_seconds: 300,
    created_at: utcText(now),
    updated_at: utcText(now),
    ended_at: null,
  })
  expect(await node.registry.get(1, job_id)).toEqual({ job_id, warnings, ...job })
})

test('a template without a variable of time is taken with a warning, at registration, edit and look', async () => {
  const node = await house().node()
  const timeless = { code: 'template_without_time', pointer: '/idempotency_key_template' }
  const job = await node.register({ idempotency_key_template: 'report' })
  expect(job.warnings).toMatchObject([timeless])
  expect((await node.registry.get(1, job.job_id)).warnings).toMatchObject([timeless])
  const cured = await node.registry.edit(1, job.job_id, { idempotency_key_template: 'report-{{week}}' })
  expect(cured.warnings).toEqual([])
  const ill = await node.registry.edit(1, job.job_id, { idempotency_key_template: '{{job_id}}' })
  expect(ill.warnings).toMatchObject([timeless])
})

test('a job has its timer from the first moment, or is not there', async () => {
  const node = await house().node()
  await house().query(`CREATE FUNCTION carillon_test.refuse() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN RAISE EXCEPTION 'no timers today'; END $$`)
  await house().query(
    'CREATE TRIGGER refuse AFTER INSERT ON carillon.timers EXECUTE FUNCTION carillon_test.refuse()',
  )
  await expect(node.register({ name: 'torn' })).rejects.toThrow('no timers today')
  await house().query('DROP FUNCTION carillon_test.refuse() CASCADE')
  expect(await house().query('SELECT FROM carillon.jobs')).toEqual([])
  const job = await node.register({ name: 'torn' })
  expect(await timerOf(house(), job)).toMatchObject({ due: Date.parse(job.next_run_at ?? ''), rev: 1 })
})

describe('a name', () => {
  test('belongs to one of many that ask for it at once', async () => {
    const fleet = await house().fleet(2)
    const asked = fleet.flatMap((node) =>
      Array.from({ length: 5 }, () => node.register({ name: 'contested' })),
    )
    const answers = await Promise.allSettled(asked)
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const answer of answers) {
      if (answer.status === 'rejected')
        expect(answer.reason).toMatchObject({ code: 'job_name_taken', status: 409 })
    }
    expect(await house().query('SELECT FROM carillon.jobs')).toHaveLength(1)
    expect(await house().query('SELECT FROM carillon.timers')).toHaveLength(1)
  })

  test('is free again when its job is deleted', async () => {
    const node = await house().node()
    const first = await node.register({ name: 'again' })
    expect(await problemOf(node.register({ name: 'again' }))).toEqual({
      code: 'job_name_taken',
      status: 409,
      pointers: ['/name'],
    })
    await node.registry.delete(1, first.job_id)
    const second = await node.register({ name: 'again' })
    expect(second.job_id).not.toBe(first.job_id)
  })

  test('is free again when its job has ended', async () => {
    const node = await house().node()
    const first = await node.register({ name: 'once', schedule: utcText((await house().now()) + 1_000) })
    await house().clock.advance(1_000)
    await node.firing.runOnce()
    expect(await node.registry.get(1, first.job_id)).toMatchObject({ state: 'ended' })
    const second = await node.register({ name: 'once', schedule: utcText((await house().now()) + 1_000) })
    expect(await node.registry.get(1, second.job_id)).toMatchObject({ state: 'active' })
  })

  test('of another tenant is none of mine', async () => {
    const node = await house().node()
    await house().query(
      "INSERT INTO carillon.tenants (tenant, name) VALUES (2, 'other') ON CONFLICT DO NOTHING",
    )
    const mine = await node.register({ name: 'shared' })
    const theirs = await node.registry.create(2, { name: 'shared', schedule: '@every 1h' })
    expect(await problemOf(node.registry.get(2, mine.job_id))).toMatchObject({ code: 'job_not_found' })
    expect(await problemOf(node.registry.delete(1, theirs.job_id))).toMatchObject({ code: 'job_not_found' })
    expect(await problemOf(node.registry.find(1, theirs.job_id))).toMatchObject({ code: 'job_not_found' })
    expect(
      (await node.registry.list(1, { limit: 10, cursor: null })).data.map(({ job_id }) => job_id),
    ).toEqual([mine.job_id])
  })
})

describe('a one-off', () => {
  test('whose instant passed within the grace fires at once, for its own instant', async () => {
    const node = await house().node()
    const now = await house().now()
    const job = await node.register({ schedule: utcText(now - 3_600_000) })
    await node.firing.runOnce()
    expect(await queueOf(house(), job)).toMatchObject([
      { due: now - 3_600_000, available_at: now, catch_up: false, next_due: null },
    ])
    expect(await lease(node)).toHaveLength(1)
  })

  test('whose instant has just passed is not called a catch-up', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: utcText((await house().now()) - 10_000) })
    await node.firing.runOnce()
    expect(await queueOf(house(), job)).toMatchObject([{ catch_up: false }])
  })

  test('whose instant passed longer ago than the grace is refused', async () => {
    const node = await house().node()
    const now = await house().now()
    const old = node.register({ schedule: utcText(now - 3_600_001) })
    expect(await problemOf(old)).toEqual({ code: 'schedule_in_past', status: 422, pointers: ['/schedule'] })
    const impatient = node.register({ schedule: utcText(now - 61_000), misfire_grace_seconds: 60 })
    expect(await problemOf(impatient)).toMatchObject({ code: 'schedule_in_past' })
    await node.register({ schedule: utcText(now - 7_200_000), misfire_grace_seconds: 7_200 })
    expect(await house().query('SELECT FROM carillon.jobs')).toHaveLength(1)
  })

  test('that SKIP would pass over still fires at once when it was registered late', async () => {
    const node = await house().node()
    const job = await node.register({
      schedule: utcText((await house().now()) - 600_000),
      missed_window: 'SKIP',
    })
    await node.firing.runOnce()
    expect(await queueOf(house(), job)).toHaveLength(1)
    expect(await ledgerOf(house(), job)).toEqual([])
  })
})

test.each([
  ['schedule_never_fires', { schedule: '0 0 30 2 *' }],
  ['schedule_too_frequent', { schedule: '@every 1s' }],
  ['invalid_schedule', { schedule: 'now and then' }],
  ['invalid_timezone', { timezone: 'Mars/Olympus' }],
  ['invalid_template', { idempotency_key_template: '{{nothing}}' }],
])('a job that cannot work is refused with %s and leaves nothing behind', async (code, input) => {
  const node = await house().node({ minIntervalMs: 5_000 })
  expect(await problemOf(node.register({ schedule: '@every 10s', ...input }))).toMatchObject({
    code,
    status: 422,
  })
  expect(await house().query('SELECT FROM carillon.jobs')).toEqual([])
})

describe('next_run_at', () => {
  test('is the tick ahead while it is staged and while it is leased, and the one after it once it has come', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 10s' })
    const shown = async () => (await node.registry.get(1, job.job_id)).next_run_at
    const first = Date.parse(job.next_run_at ?? '')
    await house().clock.advance(8_500)
    await node.firing.runOnce()
    expect((await timerOf(house(), job)).due).toBe(first + 10_000)
    expect(await shown()).toBe(utcText(first))
    await house().clock.advance(700)
    expect(await lease(node)).toHaveLength(1)
    expect(await shown()).toBe(utcText(first))
    expect((await node.registry.list(1, { limit: 5, cursor: null })).data[0]?.next_run_at).toBe(
      utcText(first),
    )
    await house().clock.advance(800)
    expect(await shown()).toBe(utcText(first + 10_000))
  })

  test('of a one-off is its instant until then', async () => {
    const node = await house().node()
    const at = (await house().now()) + 5_000
    const job = await node.register({ schedule: utcText(at) })
    await house().clock.advance(3_500)
    await node.firing.runOnce()
    expect((await node.registry.get(1, job.job_id)).next_run_at).toBe(utcText(at))
    await house().clock.advance(1_500)
    expect((await node.registry.get(1, job.job_id)).next_run_at).toBeNull()
  })

  test('is not the time of a retry', async () => {
    const node = await house().node()
    const job = await node.register({ schedule: '@every 1h' })
    const first = Date.parse(job.next_run_at ?? '')
    await house().clock.advance(3_600_000)
    await node.beat()
    await node.firing.runOnce()
    await house().query(
      'UPDATE carillon.queue SET attempt = 2, slot = NULL, available_at = available_at + 60000',
    )
    expect((await node.registry.get(1, job.job_id)).next_run_at).toBe(utcText(first + 3_600_000))
  })
})

test('jobs are listed newest first, page by page, each once', async () => {
  const node = await house().node()
  const names = Array.from({ length: 7 }, (_, at) => `job ${at}`)
  for (const name of names) await node.register({ name })
  const seen: string[] = []
  let cursor: string | null = null
  do {
    const page: Awaited<ReturnType<typeof node.registry.list>> = await node.registry.list(1, {
      limit: 3,
      cursor,
    })
    expect(page.data.length).toBeLessThanOrEqual(3)
    seen.push(...page.data.map(({ name }) => name))
    cursor = page.next_cursor
  } while (cursor !== null)
  expect(seen).toEqual(names.toReversed())
  expect(await problemOf(node.registry.list(1, { limit: 3, cursor: 'nonsense' }))).toMatchObject({
    code: 'invalid_cursor',
  })
})

test.each([
  '',
  'job_',
  'job_zzzzzzzzzzzzzzzzzzzzzzzzzz',
  'run_00000000000000000000000000',
  "job_'; DROP TABLE jobs",
])('there is no job %j', async (jobId) => {
  const node = await house().node()
  const { registry } = node
  // The id may be refused before it is looked for: at once, or in the promise.
  const asked = [
    async () => registry.get(1, jobId),
    async () => registry.delete(1, jobId),
    async () => registry.find(1, jobId),
  ]
  for (const ask of asked)
    expect(await problemOf(ask())).toMatchObject({ code: 'job_not_found', status: 404 })
})
