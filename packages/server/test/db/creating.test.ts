import { expect, test } from 'vitest'
import { ApiServer, jobInput, turnOf } from '../kit/api-server.js'
import { Gate } from '../kit/gate.js'
import { until } from '../kit/until.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

async function jobNames(): Promise<string[]> {
  const rows = await house().query<{ name: string }>('SELECT name FROM carillon.jobs ORDER BY name')
  return rows.map(({ name }) => name)
}

/** The tables refuse a job of this name, as they refuse what they cannot hold. */
async function poison(name: string): Promise<void> {
  await house().query(`CREATE OR REPLACE FUNCTION carillon_test.poison() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN IF new.name = TG_ARGV[0] THEN RAISE 'poison' USING ERRCODE = '22P05'; END IF; RETURN new; END $$`)
  await house().query(`CREATE OR REPLACE FUNCTION carillon_test.poisoned(name text) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN EXECUTE format('CREATE TRIGGER poison BEFORE INSERT ON carillon.jobs FOR EACH ROW
                          EXECUTE FUNCTION carillon_test.poison(%L)', name); END $$`)
  await house().query('SELECT carillon_test.poisoned($1)', [name])
  house().onEmpty(async () => void (await house().query('DROP FUNCTION carillon_test.poison() CASCADE')))
}

test('calls at the same time share statements, and each is answered as the job is shown from then on', async () => {
  const node = await house().node()
  const names = Array.from({ length: 50 }, (_, at) => `at-once-${at}`)
  const jobs = await Promise.all(names.map((name) => node.registry.create(1, jobInput({ name }))))
  expect(jobs.map(({ name }) => name)).toEqual(names)
  const [row] = await house().query<{ commits: number }>(
    'SELECT count(DISTINCT xmin::text)::int AS commits FROM carillon.jobs',
  )
  expect(row?.commits).toBeLessThan(5)
  for (const job of jobs) expect(await node.registry.get(1, job.job_id)).toEqual(job)
})

test('large jobs at the same time share statements only as far as the database can take them', async () => {
  const node = await house().node()
  const inputs = Array.from({ length: 12 }, () => jobInput({ payload: 'x'.repeat(1_000_000) }))
  await Promise.all(inputs.map((input) => node.registry.create(1, input)))
  const statements = await house().query<{ megabytes: number }>(
    'SELECT sum(length(definition::text))::int / 1000000 AS megabytes FROM carillon.jobs GROUP BY xmin::text',
  )
  expect(statements.length).toBeGreaterThan(1)
  for (const { megabytes } of statements) expect(megabytes).toBeLessThanOrEqual(8)
  await house().query('DELETE FROM carillon.jobs')
  const many = inputs.map((input) => ({ ...input, name: `${input.name} again` }))
  const { outcomes } = await node.registry.createMany(1, many, { atomic: false, onConflict: 'fail' })
  expect(outcomes.filter(({ status }) => status === 'created')).toHaveLength(12)
  const [row] = await house().query<{ statements: number }>(
    'SELECT count(DISTINCT xmin::text)::int AS statements FROM carillon.jobs',
  )
  expect(row?.statements).toBeGreaterThan(1)
})

test('jobs of several tenants, and those that name a calendar, are created beside each other', async () => {
  const node = await house().node()
  await house().query("INSERT INTO carillon.tenants (tenant, name) VALUES (2, 'two') ON CONFLICT DO NOTHING")
  await house().query(
    `INSERT INTO carillon.calendars (tenant, name, definition) VALUES (1, 'holidays', '{"dates": ["2030-01-01"]}')
     ON CONFLICT DO NOTHING`,
  )
  const made = await Promise.all([
    node.registry.create(1, jobInput({ name: 'same' })),
    node.registry.create(2, jobInput({ name: 'same' })),
    node.registry.create(1, jobInput({ name: 'excluding', exclude: ['holidays'] })),
  ])
  expect(new Set(made.map(({ job_id }) => job_id)).size).toBe(3)
  const [, theirs] = made
  await expect(node.registry.get(1, theirs?.job_id ?? '')).rejects.toMatchObject({ code: 'job_not_found' })
})

test('a taken name and a job that the tables refuse take nothing from the others of their statement', async () => {
  const node = await house().node()
  const server = ApiServer.start(house(), node)
  await server.create({ name: 'taken' })
  await poison('poisoned')
  const names = ['taken', 'poisoned', ...Array.from({ length: 18 }, (_, at) => `good-${at}`)]
  const answers = await Promise.all(names.map((name) => server.create({ name })))
  expect(answers.map(({ status }) => status)).toEqual([409, 500, ...names.slice(2).map(() => 201)])
  expect(answers[0]?.body.code).toBe('job_name_taken')
  expect((await jobNames()).filter((name) => name.startsWith('good-'))).toHaveLength(18)
})

test('a statement that met a taken name leaves nothing behind: each job is there once, counted once, audited once', async () => {
  const node = await house().node()
  const input = (name: string) => jobInput({ name, schedule: '@every 1h' })
  for (const taken of ['first', 'second']) {
    await node.registry.create(1, input(taken))
    const names = [taken, ...Array.from({ length: 20 }, (_, at) => `${taken}-${at}`)]
    const { outcomes } = await node.registry.createMany(1, names.map(input), {
      atomic: false,
      onConflict: 'fail',
    })
    expect(outcomes.map(({ status }) => status)).toEqual(['failed', ...names.slice(1).map(() => 'created')])
  }
  const [counts] = await house().query(
    `SELECT (SELECT count(*)::int FROM carillon.jobs) AS jobs, (SELECT count(*)::int FROM carillon.timers) AS timers,
            (SELECT count(DISTINCT t.job)::int FROM carillon.timers t JOIN carillon.jobs j USING (job, tenant, partition)
             WHERE t.start_at = t.due AND t.accounted_through = j.effective_from) AS paired,
            (SELECT jobs FROM carillon.tenant_jobs WHERE tenant = 1) AS counted`,
  )
  expect(counts).toEqual({ jobs: 42, timers: 42, paired: 42, counted: 42 })
})

test('of two jobs with one name in one statement the first is created', async () => {
  const node = await house().node()
  const twins = await Promise.allSettled([
    node.registry.create(1, jobInput({ name: 'twin', payload: 1 })),
    node.registry.create(1, jobInput({ name: 'twin', payload: 2 })),
  ])
  expect(twins.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
  expect(twins[1]).toMatchObject({ reason: { code: 'job_name_taken' } })
  expect((await node.registry.list(1, { limit: 5, cursor: null })).data).toMatchObject([{ payload: 1 }])
})

test('nothing is answered before it is committed', async () => {
  const node = await house().node()
  await node.registry.create(1, jobInput())
  const gate = await Gate.closeBefore(house(), 'INSERT', 'timers')
  let answered = false
  const call = node.registry.create(1, jobInput({ name: 'pending' })).then(() => {
    answered = true
  })
  await house().lockWaits(1)
  expect(await jobNames()).not.toContain('pending')
  expect(answered).toBe(false)
  await gate.open()
  await call
  expect(await jobNames()).toContain('pending')
})

test('those that come while a statement is on its way share the next one', async () => {
  const node = await house().node()
  await node.registry.create(1, jobInput())
  const gate = await Gate.closeBefore(house(), 'INSERT', 'timers')
  const first = node.registry.create(1, jobInput({ name: 'first' }))
  await house().lockWaits(1)
  const others = Array.from({ length: 20 }, (_, at) =>
    node.registry.create(1, jobInput({ name: `next-${at}` })),
  )
  await gate.open()
  await Promise.all([first, ...others])
  const rows = await house().query<{ xmin: string }>(
    "SELECT DISTINCT xmin::text AS xmin FROM carillon.jobs WHERE name LIKE 'next-%'",
  )
  expect(rows).toHaveLength(1)
})

test("a tenant's least interval holds from its change on, though jobs are checked before the database is asked", async () => {
  const node = await house().node()
  const server = ApiServer.start(house(), node)
  const eachMinute = (name: string) => server.create({ name, schedule: '* * * * *' })
  const limit = (seconds: number | null) =>
    house().query('UPDATE carillon.tenants SET min_interval_seconds = $1 WHERE tenant = 1', [seconds])
  expect((await eachMinute('before')).status).toBe(201)
  await limit(300)
  try {
    expect((await eachMinute('tightened')).body.code).toBe('schedule_too_frequent')
    await limit(60)
    expect((await eachMinute('loosened')).status).toBe(201)
    await limit(300)
    const { body } = await server.post<{ results: { status: string }[] }>('/jobs/bulk', {
      jobs: [jobInput({ schedule: '* * * * *' }), jobInput()],
    })
    expect(body.results.map(({ status }) => status)).toEqual(['failed', 'created'])
    // What was known here is 300: the first job that it refuses makes the call look again, also one that is all or nothing.
    for (const atomic of [false, true]) {
      await limit(300)
      expect((await eachMinute('refused')).status).toBe(422)
      await limit(60)
      const loosened = await server.post<{ created: number }>('/jobs/bulk', {
        jobs: [jobInput(), jobInput({ schedule: '* * * * *' }), jobInput({ schedule: '* * * * *' })],
        atomic,
      })
      expect(loosened.body.created).toBe(3)
    }
  } finally {
    await limit(null)
  }
})

test('two processes that create at the same time do not stand in each other’s way', async () => {
  const node = await house().node()
  const servers = [ApiServer.start(house(), node), ApiServer.start(house(), node)]
  const calls = Array.from({ length: 60 }, (_, at) => turnOf(servers, at).create({ name: `pair-${at % 40}` }))
  const answers = await Promise.all(calls)
  expect(answers.filter((answer) => answer.status === 201)).toHaveLength(40)
  expect(answers.filter((answer) => answer.status === 409)).toHaveLength(20)
  await until('forty jobs are there', async () => (await jobNames()).length === 40)
})
