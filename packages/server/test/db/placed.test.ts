import type { BulkAnswer } from '@carillon/contract'
import { expect, test } from 'vitest'
import type { Runner } from '../../src/db/pool.js'
import { newUuid } from '../../src/platform/ids.js'
import type { Caller } from '../../src/platform/caller.js'
import { candidateOf } from '../../src/pipeline/register/candidate.js'
import { createPlacedJobs } from '../../src/pipeline/register/create-placed.js'
import { recount } from '../../src/pipeline/register/quota.js'
import { Routes } from '../../src/pipeline/register/routes.js'
import { ApiServer, jobInput } from '../kit/api-server.js'
import { until } from '../kit/until.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()
const many = 150

const some = (prefix: string, extra: string[] = []) =>
  [...extra, ...Array.from({ length: many - extra.length }, (_, at) => `${prefix}-${at}`)].map((name) =>
    jobInput({ name }),
  )

async function counts(): Promise<{ live: number; counted: number }> {
  const [row] = await house().query<{ live: number; counted: number }>(
    `SELECT (SELECT count(*)::int FROM carillon.jobs WHERE state IN ('active', 'paused')) AS live,
            (SELECT jobs FROM carillon.tenant_jobs WHERE tenant = 1) AS counted`,
  )
  return row ?? { live: 0, counted: 0 }
}

/** Somebody gives a job this name and has not committed: whoever registers one of that name waits. */
async function nameHeld(server: ApiServer, name: string): Promise<() => Promise<void>> {
  await server.create({ name: 'renamed' })
  const session = await house().session()
  await session.query('BEGIN')
  await session.query("UPDATE carillon.jobs SET name = $1 WHERE name = 'renamed'", [name])
  return async () => void (await session.query('ROLLBACK'))
}

/** So many statements wait for another transaction. */
async function waiting(count: number): Promise<void> {
  await until(`${count} statements wait`, async () => {
    const [row] = await house().query<{ waiting: number }>(
      `SELECT count(*)::int AS waiting FROM pg_stat_activity
       WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    )
    return (row?.waiting ?? 0) >= count
  })
}

const bulk = (server: ApiServer, jobs: object[]) => server.post<BulkAnswer>('/jobs/bulk', { jobs })

async function start(maxJobs = 100_000) {
  const node = await house().node()
  return { node, server: ApiServer.start(house(), node, { quota: { maxJobs, createPerSecond: 0 } }) }
}

test('calls of one tenant are stored beside each other: one that waits for a name holds up no other', async () => {
  const { server } = await start()
  const free = await nameHeld(server, 'held')
  const held = bulk(server, some('one', ['held']))
  await waiting(1)
  expect((await bulk(server, some('other'))).body).toMatchObject({ created: many })
  await free()
  expect((await held).body).toMatchObject({ created: many })
  expect(await counts()).toEqual({ live: 2 * many + 1, counted: 2 * many + 1 })
})

test('a count waits for those who are storing: the quota is exact, whoever stores meanwhile', async () => {
  const { server } = await start(200)
  const free = await nameHeld(server, 'held')
  await house().clock.advance(2_000)
  const held = bulk(server, some('one', ['held']))
  await waiting(1)
  const other = bulk(server, some('other'))
  await waiting(2)
  await free()
  expect((await held).body).toMatchObject({ created: many, failed: 0 })
  expect((await other).body).toMatchObject({ created: 200 - many - 1, failed: 2 * many + 1 - 200 })
  expect(await counts()).toEqual({ live: 200, counted: 200 })
})

test('places of a call that met a taken name, or a job that the tables refuse, are given back', async () => {
  const { server } = await start()
  await server.create({ name: 'taken' })
  expect((await bulk(server, some('one', ['taken']))).body).toMatchObject({ created: many - 1, failed: 1 })
  expect(await counts()).toEqual({ live: many, counted: many })
})

test('two calls that register the same names in another order both come to an end, and each name is there once', async () => {
  const { server } = await start()
  const free = await nameHeld(server, 'held')
  const names = ['first', 'held', 'last']
  const one = bulk(server, some('one', names))
  const other = bulk(server, some('other', names.toReversed()))
  await waiting(2)
  await free()
  const created = (await Promise.all([one, other])).map(({ body }) => body.created)
  expect(created.reduce((sum, each) => sum + each, 0)).toBe(2 * many - names.length)
  const { live, counted } = await counts()
  expect({ live, counted }).toEqual({ live: 2 * many - 2, counted: live })
})

/** `between`: what happens after places were taken; `after`: after the jobs were stored. */
async function placed(steps: { between?: () => Promise<void>; after?: () => void }) {
  const { node, server } = await start()
  await server.create()
  const { database, databaseClock } = node
  const caller = {
    actor: 'somebody',
    key: null,
    operation: 'createJobs',
    requestId: 'r',
  } as unknown as Caller
  const options = { databaseClock, minIntervalMs: 1_000, checkTarget: () => undefined }
  const candidates = some('one').map((input) =>
    candidateOf(options, input, { minInterval: null }, newUuid(), caller),
  )
  const routes = await new Routes(database).ofMany(
    1,
    candidates.map(({ kind }) => kind.definition),
    database,
  )
  let statements = 0
  const runner: Runner = {
    async run(statement, params) {
      if (++statements === 2) await steps.between?.()
      const rows = await database.run(statement, params)
      if (statements === 2) steps.after?.()
      return rows
    },
  }
  const call = { tenant: 1, look: false, quota: { maxJobs: 1_000, createPerSecond: 0 } }
  return { node, create: () => createPlacedJobs(runner, call, { candidates, routes, caller }) }
}

test('places that were taken before a count are gone with it, and nothing is stored under them', async () => {
  const { node, create } = await placed({
    async between() {
      await house().clock.advance(2_000)
      expect(await node.database.transaction((inside) => recount(inside, 1))).toBe(true)
    },
  })
  expect(await create()).toBeNull()
  expect(await counts()).toEqual({ live: 1, counted: 1 })
})

test('places are kept where nobody knows whether the jobs were stored: the count is never too low', async () => {
  const { create } = await placed({
    after() {
      throw Object.assign(new Error('connection lost'), { code: 'ECONNRESET' })
    },
  })
  await expect(create()).rejects.toThrow('connection lost')
  expect(await counts()).toEqual({ live: many + 1, counted: many + 1 })
})

test('a tenant with a creation rate of its own is kept to it', async () => {
  const { server } = await start()
  await house().query('UPDATE carillon.tenants SET create_per_second = 120 WHERE tenant = 1')
  house().onEmpty(async () => {
    await house().query('UPDATE carillon.tenants SET create_per_second = NULL WHERE tenant = 1')
  })
  await server.create()
  await house().clock.advance(60_000)
  const { body } = await bulk(server, some('one'))
  expect(body).toMatchObject({ created: 120, failed: many - 120 })
  expect(body.results.at(-1)?.error?.code).toBe('rate_limited')
})

/** Places are taken without it: a transaction that took them within itself would not wait either. */
test.each([[false], [true]])('what is told as created waited for the disk (atomic: %s)', async (atomic) => {
  const { server } = await start()
  await house().query(`CREATE OR REPLACE FUNCTION carillon_test.unhurried() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN IF current_setting('synchronous_commit') <> 'on' THEN RAISE 'unhurried'; END IF; RETURN new; END $$`)
  await house().query(`CREATE TRIGGER unhurried BEFORE INSERT ON carillon.audit_log FOR EACH ROW
    EXECUTE FUNCTION carillon_test.unhurried()`)
  house().onEmpty(async () => void (await house().query('DROP FUNCTION carillon_test.unhurried() CASCADE')))
  const { body } = await server.post<BulkAnswer>('/jobs/bulk', { jobs: some('one'), atomic })
  expect(body).toMatchObject({ created: many })
})

test('each job of a call has its own timer, and numbers are in the order of the call', async () => {
  const { server } = await start()
  const jobs = Array.from({ length: many }, (_, at) =>
    jobInput({ name: `own-${at}`, schedule: `${at % 60} ${Math.floor(at / 60)} 1 1 *` }),
  )
  const { results } = (await bulk(server, jobs)).body
  const stored = await house().query<{ name: string; due: number; together: boolean }>(
    `SELECT j.name, t.due::float8 AS due, t.partition = j.partition AS together
     FROM carillon.jobs j JOIN carillon.timers t USING (job) WHERE j.name LIKE 'own-%' ORDER BY j.job`,
  )
  expect(stored).toEqual(
    results.map(({ name, next_run_at: next }) => ({ name, due: Date.parse(next ?? ''), together: true })),
  )
  expect(new Set(results.map(({ next_run_at: next }) => next)).size).toBe(many)
})
