import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseStatement } from '../../src/db/statement.js'
import { createTestDatabase, type TestDatabase } from '../kit/test-database.js'

let database: TestDatabase

beforeAll(async () => {
  database = await createTestDatabase()
})

afterAll(() => database.close())

interface Seen {
  pid: number
  scans: string
  mode: string
  generic: number | null
  custom: number | null
}

/** Tells of the connection that it runs on, and of its own plans before this one. */
function telling(planned: string, name: string) {
  return parseStatement<object, Seen>(
    `test/${name}.sql`,
    `-- @plan ${planned}
-- @param n int
SELECT pg_backend_pid() AS pid, current_setting('enable_seqscan') AS scans, current_setting('plan_cache_mode') AS mode,
       (SELECT generic_plans::int FROM pg_prepared_statements WHERE name LIKE '${name}%') AS generic,
       (SELECT custom_plans::int FROM pg_prepared_statements WHERE name LIKE '${name}%') AS custom
WHERE :n > 0`,
  )
}

const once = telling('once', 'once')
const eachTime = telling('each-time', 'each')

async function seen(statement: typeof once): Promise<Seen> {
  const [row] = await database.database.run(statement, { n: 1 })
  return row as Seen
}

test('a statement that is planned once keeps its plan, on a connection that reads no table from end to end', async () => {
  const first = await seen(once)
  expect(first).toMatchObject({ scans: 'off', mode: 'force_generic_plan', custom: 0 })
  const second = await seen(once)
  expect(second).toEqual({ ...first, generic: (first.generic ?? 0) + 1 })
})

test('other statements have nothing to do with that connection, and scan where they like', async () => {
  const kept = await seen(once)
  const usual = await seen(eachTime)
  expect(usual).toMatchObject({ scans: 'on', mode: 'auto', generic: null, custom: null })
  expect(usual.pid).not.toBe(kept.pid)
})

test('inside of a transaction it is planned for the call, since that connection is like any other', async () => {
  const within = await database.database.transaction((runner) => runner.run(once, { n: 1 }))
  expect(within).toMatchObject([{ scans: 'on', mode: 'auto', generic: null }])
})

test('not more than some such connections are made', async () => {
  const rows = await Promise.all(Array.from({ length: 40 }, () => seen(once)))
  expect(new Set(rows.map(({ pid }) => pid)).size).toBeLessThanOrEqual(4)
  const named = await database.query<{ count: number }>(
    "SELECT count(*)::int AS count FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'carillon ticks'",
  )
  expect(named[0]?.count).toBeGreaterThan(0)
})

test('they end with the pool, and none is made after that', async () => {
  const used = database.database.sibling('carillon used', 2)
  const unused = database.database.sibling('carillon unused', 2)
  await used.run(once, { n: 1 })
  await Promise.all([used.close(), unused.close()])
  await expect(used.run(once, { n: 1 })).rejects.toThrow('Cannot use a pool after calling end')
  await expect(unused.run(once, { n: 1 })).rejects.toThrow('Cannot use a pool after calling end')
})
