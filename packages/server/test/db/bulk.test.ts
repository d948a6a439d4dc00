import type { BulkAnswer } from '@carillon/contract'
import { describe, expect, test } from 'vitest'
import { ApiServer, jobInput } from '../kit/api-server.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

async function server(options: { maxBulkBodyBytes?: number } = {}): Promise<ApiServer> {
  return ApiServer.start(house(), await house().node(), options)
}

async function jobNames(): Promise<string[]> {
  const rows = await house().query<{ name: string }>('SELECT name FROM carillon.jobs ORDER BY name')
  return rows.map(({ name }) => name)
}

test('each job has its answer, in the order of the call, with pointers into the call', async () => {
  const api = await server()
  await api.create({ name: 'taken' })
  const jobs = [
    jobInput({ name: 'good' }),
    jobInput({ name: 'unreadable', schedule: 'now and then' }),
    { name: 'misspelt', shedule: '@every 1h' },
    jobInput({ name: 'taken' }),
    'no job at all',
    jobInput({ name: 'good' }),
    jobInput({ name: 'unreadable' }),
  ]
  const { status, body } = await api.post<BulkAnswer>('/jobs/bulk', { jobs })
  expect(status).toBe(200)
  expect(body).toMatchObject({ created: 2, failed: 5, skipped: 0 })
  expect(body.results.map(({ index, status, name }) => [index, status, name])).toEqual([
    [0, 'created', 'good'],
    [1, 'failed', 'unreadable'],
    [2, 'failed', 'misspelt'],
    [3, 'failed', 'taken'],
    [4, 'failed', null],
    [5, 'failed', 'good'],
    [6, 'created', 'unreadable'],
  ])
  const problems = body.results.map(({ error }) => [error?.code, error?.errors[0]?.pointer])
  expect(problems.slice(1, 6)).toEqual([
    ['invalid_schedule', '/jobs/1/schedule'],
    ['unknown_field', '/jobs/2/shedule'],
    ['job_name_taken', '/jobs/3/name'],
    ['validation_failed', '/jobs/4'],
    ['job_name_taken', '/jobs/5/name'],
  ])
  const [first] = body.results
  const job = await api.registry.get(1, first?.job_id ?? '')
  expect(job).toMatchObject({ name: 'good', next_run_at: first?.next_run_at })
  expect(await jobNames()).toEqual(['good', 'taken', 'unreadable'])
})

test('each job is told its own next run', async () => {
  const api = await server()
  const hours = [9, 10, 9, 11]
  const jobs = hours.map((hour) => jobInput({ schedule: `0 ${hour} * * *`, timezone: 'UTC' }))
  const { body } = await api.post<BulkAnswer>('/jobs/bulk', { jobs })
  expect(body.results.map(({ next_run_at: at }) => new Date(at ?? '').getUTCHours())).toEqual(hours)
})

describe('an atomic call', () => {
  test.each([
    ['a job that cannot be read', { schedule: 'now and then' }, '/jobs/1500/schedule'],
    ['a name that is taken', { name: 'taken' }, '/jobs/1500/name'],
  ])('creates nothing for %s, and says so of all', async (_what, fault, pointer) => {
    const api = await server()
    await api.create({ name: 'taken' })
    const jobs = Array.from({ length: 2_000 }, (_, at) => jobInput(at === 1_500 ? fault : {}))
    const refused = await api.post<BulkAnswer & { errors: { pointer: string }[] }>('/jobs/bulk', {
      jobs,
      atomic: true,
    })
    expect(refused).toMatchObject({
      status: 422,
      body: { code: 'bulk_refused', created: 0, failed: 1, skipped: 1_999, errors: [{ pointer }] },
    })
    expect(refused.body.results[1_500]).toMatchObject({ status: 'failed' })
    expect(refused.body.results[0]).toMatchObject({ status: 'skipped' })
    expect(await jobNames()).toEqual(['taken'])
    const repaired = jobs.map((job, at) => (at === 1_500 ? jobInput() : job))
    expect((await api.post<BulkAnswer>('/jobs/bulk', { jobs: repaired, atomic: true })).body.created).toBe(
      2_000,
    )
  })
})

test('an atomic call that is refused for one of its jobs has waited for nobody, and held nobody up', async () => {
  const api = await server()
  await api.create({ name: 'first' })
  const holder = await house().session()
  await holder.query('BEGIN')
  await holder.query('SELECT * FROM carillon.tenant_jobs WHERE tenant = 1 FOR UPDATE')
  const jobs = [...Array.from({ length: 1_200 }, () => jobInput()), jobInput({ schedule: 'never' })]
  const refused = await api.post<BulkAnswer>('/jobs/bulk', { jobs, atomic: true })
  expect(refused).toMatchObject({ status: 422, body: { created: 0, failed: 1, skipped: 1_200 } })
  await holder.query('ROLLBACK')
})

test('an atomic call remembers its routes: the next one does not ask for them, and waits for nobody who holds them', async () => {
  const api = await server()
  const target = { type: 'task', task: 'shared' } as const
  const call = () => ({ jobs: [jobInput({ target }), jobInput({ target })], atomic: true })
  expect((await api.post<BulkAnswer>('/jobs/bulk', call())).body.created).toBe(2)
  const holder = await house().session()
  await holder.query('BEGIN')
  await holder.query('SELECT * FROM carillon.routes FOR UPDATE')
  const second = await api.post<BulkAnswer>('/jobs/bulk', call())
  expect(second).toMatchObject({ status: 200, body: { created: 2 } })
  await holder.query('ROLLBACK')
})

test('names that are taken are passed over where that is asked for, also in an atomic call', async () => {
  const api = await server()
  await api.create({ name: 'taken' })
  const jobs = [jobInput({ name: 'taken' }), jobInput({ name: 'new' }), jobInput({ name: 'new' })]
  const { body } = await api.post<BulkAnswer>('/jobs/bulk', { jobs, on_conflict: 'skip', atomic: true })
  expect(body.results.map(({ status }) => status)).toEqual(['skipped', 'created', 'skipped'])
})

test('a job that the tables refuse takes nothing from the others', async () => {
  const api = await server()
  await house().query(`CREATE FUNCTION carillon_test.poison() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN IF new.name = 'poisoned' THEN RAISE 'poison' USING ERRCODE = '22P05'; END IF; RETURN new; END $$`)
  await house().query(
    'CREATE TRIGGER poison BEFORE INSERT ON carillon.jobs FOR EACH ROW EXECUTE FUNCTION carillon_test.poison()',
  )
  const jobs = Array.from({ length: 200 }, (_, at) => jobInput(at === 77 ? { name: 'poisoned' } : {}))
  const { body } = await api.post<BulkAnswer>('/jobs/bulk', { jobs })
  await house().query('DROP FUNCTION carillon_test.poison() CASCADE')
  expect(body).toMatchObject({ created: 199, failed: 1 })
  expect(body.results[77]?.error?.code).toBe('internal_error')
  expect(await jobNames()).toHaveLength(199)
})

test('ten thousand jobs are one call, and the process goes on with its other work meanwhile', async () => {
  const api = await server()
  const jobs = Array.from({ length: 10_000 }, () => jobInput({ payload: 'x'.repeat(150) }))
  let turns = 0
  let going = true
  const count = () => {
    turns += 1
    if (going) setImmediate(count)
  }
  setImmediate(count)
  const { body } = await api.post<BulkAnswer>('/jobs/bulk', { jobs })
  going = false
  expect(body).toMatchObject({ created: 10_000, failed: 0 })
  // Checked a hundred at a time: a heartbeat that is due comes between any two of these.
  expect(turns).toBeGreaterThan(100)
  const [row] = await house().query<{ jobs: number; timers: number }>(
    `SELECT (SELECT count(*)::int FROM carillon.jobs) AS jobs, (SELECT count(*)::int FROM carillon.timers) AS timers`,
  )
  expect(row).toEqual({ jobs: 10_000, timers: 10_000 })
})

describe('a call is refused as a whole', () => {
  test.each([
    ['with more than ten thousand jobs', { jobs: Array.from({ length: 10_001 }, () => ({})) }, '/jobs'],
    ['without jobs', { jobs: [] }, '/jobs'],
    ['with jobs that are no array', { jobs: {} }, '/jobs'],
    ['with a policy that is none', { jobs: [jobInput()], on_conflict: 'explode' }, '/on_conflict'],
    ['with a field that is not known', { jobs: [jobInput()], atomc: true }, '/atomc'],
  ])('%s', async (_what, call, pointer) => {
    const api = await server()
    const { status, body } = await api.post<{ errors: { pointer: string }[] }>('/jobs/bulk', call)
    expect(status).toBe(422)
    expect(body.errors[0]?.pointer).toBe(pointer)
    expect(await jobNames()).toEqual([])
  })

  test('with a body beyond its own limit, which is not that of other calls', async () => {
    const api = await server({ maxBulkBodyBytes: 200_000 })
    const call = (bytes: number) => ({ jobs: [jobInput({ payload: 'x'.repeat(bytes) })] })
    expect((await api.post('/jobs/bulk', call(150_000))).status).toBe(200)
    expect(await api.post('/jobs/bulk', call(250_000))).toMatchObject({
      status: 413,
      body: { code: 'body_too_large' },
    })
  })
})
