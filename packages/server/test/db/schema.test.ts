import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { dumpSchema } from '../kit/dump-schema.js'
import { administer, databaseUrl } from '../kit/global-postgres.js'

const file = new URL('../../schema.sql', import.meta.url)
const regenerate = 'UPDATE_SCHEMA=1 npx vitest run --project db packages/server/test/db/schema.test.ts'
const header = `-- The schema as the migrations make it, to be read in one place and compared by a test. Not loaded by anything:
-- packages/server/migrations/ is what runs, and says why things are as they are. Made from the catalogues by
--   ${regenerate}
-- The rows that a migration inserts, owners and privileges are not part of it.

`

let client: pg.Client
let name: string

beforeAll(async () => {
  name = `carillon_schema_${randomBytes(6).toString('hex')}`
  client = await databaseFrom(name, inject('templateDatabase'))
})

afterAll(async () => {
  await client.end()
  await administer(inject('postgresUrl'), `DROP DATABASE ${name} WITH (FORCE)`)
})

async function databaseFrom(database: string, template: string): Promise<pg.Client> {
  await administer(inject('postgresUrl'), `CREATE DATABASE ${database} TEMPLATE ${template}`)
  const connection = new pg.Client({ connectionString: databaseUrl(inject('postgresUrl'), database) })
  await connection.connect()
  return connection
}

/** Changes the schema, looks at it, and takes the change back. */
async function changed(sql: string, look: () => Promise<void>): Promise<void> {
  await client.query('BEGIN')
  try {
    await client.query(sql)
    await look()
  } finally {
    await client.query('ROLLBACK')
  }
}

test('schema.sql says what the migrations make', async () => {
  const made = `${header}${await dumpSchema(client)}`
  if (process.env.UPDATE_SCHEMA !== undefined) writeFileSync(file, made)
  expect(readFileSync(file, 'utf8'), `schema.sql is out of date: run ${regenerate}`).toBe(made)
})

test('loading the dump makes the same schema again: nothing that it must say is missing', async () => {
  const dump = await dumpSchema(client)
  const copyName = `${name}_copy`
  const copy = await databaseFrom(copyName, 'template0')
  try {
    await copy.query(dump)
    expect(await dumpSchema(copy)).toBe(dump)
  } finally {
    await copy.end()
    await administer(inject('postgresUrl'), `DROP DATABASE ${copyName} WITH (FORCE)`)
  }
})

describe('a change of the schema shows in the dump:', () => {
  test.each([
    ['a new table', 'CREATE TABLE carillon.extra (n int)'],
    ['a column', 'ALTER TABLE carillon.queue ADD COLUMN extra text'],
    ['a type', 'ALTER TABLE carillon.queue ALTER COLUMN last_error TYPE varchar(100)'],
    ['a default', 'ALTER TABLE carillon.queue ALTER COLUMN attempt SET DEFAULT 2'],
    ['a default taken away', 'ALTER TABLE carillon.queue ALTER COLUMN attempt DROP DEFAULT'],
    ['a column that may be null', 'ALTER TABLE carillon.queue ALTER COLUMN fired_at DROP NOT NULL'],
    ['a check', 'ALTER TABLE carillon.queue ADD CHECK (due > 0)'],
    ['a check taken away', 'ALTER TABLE carillon.queue DROP CONSTRAINT queue_origin_check'],
    ['a foreign key', 'ALTER TABLE carillon.timers ADD FOREIGN KEY (tenant) REFERENCES carillon.tenants'],
    ['a unique key', 'ALTER TABLE carillon.timers ADD UNIQUE (tenant, job)'],
    ['an index', 'CREATE INDEX ON carillon.queue (tenant)'],
    ['an index taken away', 'DROP INDEX carillon.queue_cancel'],
    [
      'an index on a part of the rows',
      'DROP INDEX carillon.queue_cancel; CREATE INDEX queue_cancel ON carillon.queue (holder)',
    ],
    ['an index of a partitioned table', 'CREATE INDEX ON carillon.ledger (tenant)'],
    ['a storage parameter', 'ALTER TABLE carillon.queue SET (fillfactor = 80)'],
    ['a storage parameter taken away', 'ALTER TABLE carillon.queue RESET (fillfactor)'],
    ['a partition', 'CREATE TABLE carillon.more PARTITION OF carillon.ledger FOR VALUES FROM (1) TO (2)'],
    [
      'the body of a function',
      "CREATE OR REPLACE FUNCTION carillon.now_ms() RETURNS bigint LANGUAGE sql STABLE AS 'SELECT 1::bigint'",
    ],
    ['the volatility of a function', 'ALTER FUNCTION carillon.now_ms() VOLATILE'],
    ['a value of a type', "ALTER TYPE carillon.outcome ADD VALUE 'odd'"],
    ['the end of a sequence', 'ALTER SEQUENCE carillon.tokens MAXVALUE 1000'],
    ['the start of an identity', 'ALTER TABLE carillon.tenants ALTER COLUMN tenant SET START WITH 5'],
    [
      'an identity that is always made',
      'ALTER TABLE carillon.alerts ALTER COLUMN alert SET GENERATED ALWAYS',
    ],
    ['how a column is stored', 'ALTER TABLE carillon.queue ALTER COLUMN last_error SET STORAGE EXTERNAL'],
    ['what the planner knows of a column', 'ALTER TABLE carillon.jobs ALTER COLUMN name SET STATISTICS 500'],
    ['a table that a crash empties', 'ALTER TABLE carillon.audit_log SET UNLOGGED'],
    ['row security taken away', 'ALTER TABLE carillon.jobs DISABLE ROW LEVEL SECURITY'],
    ['row security that its owner is free of', 'ALTER TABLE carillon.jobs NO FORCE ROW LEVEL SECURITY'],
    ['a policy', 'CREATE POLICY own ON carillon.jobs USING (true)'],
    ['a policy for others', 'ALTER POLICY own_rows ON carillon.jobs TO PUBLIC'],
    ['what a policy lets through', 'ALTER POLICY own_rows ON carillon.jobs USING (true)'],
    ['what a policy lets in', 'ALTER POLICY own_rows ON carillon.jobs WITH CHECK (true)'],
    ['a comment', "COMMENT ON COLUMN carillon.queue.due IS 'when'"],
  ])('%s', async (_what, sql) => {
    const before = await dumpSchema(client)
    await changed(sql, async () => expect(await dumpSchema(client)).not.toBe(before))
    expect(await dumpSchema(client)).toBe(before)
  })
})

describe('what the dump cannot write down is refused, not left out:', () => {
  test.each([
    ['a view', 'CREATE VIEW carillon.seen AS SELECT 1 AS n', 'relation of kind v'],
    ['a domain', 'CREATE DOMAIN carillon.odd AS int', 'type: carillon.odd'],
    ['a composite type', 'CREATE TYPE carillon.pair AS (a int, b int)', 'relation of kind c'],
    [
      'a trigger that is off',
      'ALTER TABLE carillon.jobs DISABLE TRIGGER jobs_revived',
      'trigger that is off, or of a constraint: jobs_revived',
    ],
    ['a rule', 'CREATE RULE nothing AS ON DELETE TO carillon.jobs DO INSTEAD NOTHING', 'rule: nothing'],
    [
      'statistics',
      'CREATE STATISTICS carillon.both ON due, job FROM carillon.queue',
      'extended statistics: both',
    ],
    ['inheritance', 'CREATE TABLE carillon.heir () INHERITS (carillon.jobs)', 'inheritance: heir'],
  ])('%s', async (_what, sql, named) => {
    await changed(sql, () => expect(dumpSchema(client)).rejects.toThrow(named))
  })
})
