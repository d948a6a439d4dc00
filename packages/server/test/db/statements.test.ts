import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isAboutARow } from '../../src/db/errors.js'
import { parseStatement } from '../../src/db/statement.js'
import { createTestDatabase, type TestDatabase } from '../kit/test-database.js'

const source = fileURLToPath(new URL('../../src/', import.meta.url))
const allFiles = readdirSync(source, { recursive: true, encoding: 'utf8' }).map((file) => join(source, file))
const sqlFiles = allFiles.filter((file) => file.endsWith('.sql')).map((file) => relative(source, file))
const codeFiles = allFiles.filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))

let database: TestDatabase
let session: pg.Client

beforeAll(async () => {
  database = await createTestDatabase()
  session = await database.session()
})

afterAll(() => database.close())

/** What a statement answers with: it is done with nothing but NULL, and undone. Those that must not be NULL give nothing. */
async function columnsOf(text: string): Promise<{ name: string; table: string }[]> {
  await session.query('BEGIN')
  try {
    const { fields } = await session.query(text.replaceAll(/\$\d+::/g, 'NULL::'))
    const { rows } = await session.query<{ table: string }>(
      `SELECT coalesce(c.relname, '') AS table FROM unnest($1::int[]) WITH ORDINALITY AS f (oid, place)
       LEFT JOIN pg_class c ON c.oid = f.oid ORDER BY f.place`,
      [fields.map(({ tableID }) => tableID)],
    )
    return fields.map(({ name }, at) => ({ name, table: rows[at]?.table ?? '' }))
  } catch (error) {
    if (!isAboutARow(error)) throw error
    return []
  } finally {
    await session.query('ROLLBACK')
  }
}

function sqlOf(file: string): string {
  return readFileSync(join(source, file), 'utf8')
}

/** The files that the code loads: each `new URL('./….sql', import.meta.url)`, as a path from the source folder. */
function loadedFiles(): string[] {
  return codeFiles.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/new URL\(\s*'(\.{1,2}\/[^']+\.sql)',\s*import\.meta\.url/g)].map(
      ([, path]) => relative(source, join(dirname(file), path as string)),
    ),
  )
}

test('statements are found where the stages are', () => {
  expect(sqlFiles.length).toBeGreaterThan(20)
  expect(sqlFiles).toContain(join('pipeline', 'fire', 'fire.sql'))
})

describe.each(sqlFiles)('%s', (file) => {
  test('can be prepared on the migrated schema', async () => {
    const { name, text, params } = parseStatement(file, sqlOf(file))
    await session.query(['PREPARE', `"${name}"`, 'AS', text].join(' '))
    const { rows } = await session.query<{ count: number }>(
      'SELECT cardinality(parameter_types) AS count FROM pg_prepared_statements WHERE name = $1',
      [name],
    )
    expect(rows[0]?.count).toBe(params.length)
  })

  test('says above itself what it does, not only what it takes', () => {
    const header = sqlOf(file).split('\n').filter(isComment(true))
    const words = header.filter((line) => !/@(param|plan)/.test(line)).join(' ')
    expect(words.replace(/[-\s]+/g, ' ').trim().length).toBeGreaterThan(40)
  })

  test('is planned for each call if it touches the queue, whose size changes from nothing to a storm, if it must find timers past their dead versions, or if the index depends on which filters are given', () => {
    const { text, planned } = parseStatement(file, sqlOf(file))
    // By places alone, whatever the queue holds: plans.test.ts looks at the one plan that they get.
    if (byPlaces.includes(file)) return void expect(planned).toBe('once')
    const filtersLetters = text.includes('carillon.dead_letters') && / IS NULL OR /.test(text)
    const filtersJobs = text.includes('carillon.jobs') && / ILIKE /.test(text)
    const findsTimers = /\(timers\.start_at, timers\.job\) >= /.test(text)
    const isNarrowed = filtersLetters || filtersJobs || narrowed.includes(file)
    const eachTime = text.includes('carillon.queue') || isNarrowed || findsTimers
    expect(planned).toBe(eachTime ? 'each-time' : 'usually')
  })

  test('fills in what the definition of a job was stored without, wherever it gives one', async () => {
    const { text, wholeDefinitions } = parseStatement(file, sqlOf(file))
    const given = (await columnsOf(text)).find(({ name }) => name === 'definition')
    const ofAJob = given !== undefined && !['calendars', 'outbox'].includes(given.table)
    expect(wholeDefinitions).toBe(ofAJob)
  })

  test('is one statement, without a semicolon that would end it', () => {
    expect(parseStatement(file, sqlOf(file)).text).not.toContain(';')
  })

  test('reads the time from the one clock that tests can move', () => {
    if (clockReaders.includes(file)) return
    const text = parseStatement(file, sqlOf(file)).text.toLowerCase()
    expect(text).not.toMatch(
      /\b(now\(\)|clock_timestamp|statement_timestamp|current_timestamp|localtimestamp)/,
    )
  })
})

const byPlaces = [join('pipeline', 'fire', 'fire-plain.sql'), join('pipeline', 'record', 'close-plain.sql')]

/** The index depends on which filters are given, or on how much time is asked for. */
const narrowed = [
  join('pipeline', 'account', 'list-events.sql'),
  join('pipeline', 'alert', 'list-alerts.sql'),
  join('pipeline', 'record', 'tail-ledger.sql'),
  join('pipeline', 'register', 'bulk', 'match-jobs.sql'),
]

/** The age of the server and its own clock are not ours to move. */
const clockReaders = [join('cluster', 'postgres', 'peers.sql'), join('db', 'inspect-server.sql')]

/** A plan is kept from the first calls on, when there are no keys yet and nobody has counted them. */
test('jobs with idempotency keys read those keys alone, by a plan that was made when there were none', async () => {
  const file = join('pipeline', 'register', 'create-jobs.sql')
  const { text, params } = parseStatement(file, sqlOf(file))
  await session.query('SET plan_cache_mode = force_generic_plan')
  await session.query(['PREPARE early AS', text].join(' '))
  const nothing = params.map(() => 'NULL').join()
  const { rows } = await session.query<{ 'QUERY PLAN': string }>(
    ['EXPLAIN EXECUTE early (', nothing, ')'].join(''),
  )
  await session.query('RESET plan_cache_mode')
  const lines = rows.map((row) => row['QUERY PLAN'])
  const at = lines.findIndex((line) => line.includes('Scan using idempotency_keys_pkey'))
  expect(at).toBeGreaterThan(0)
  expect(lines[at + 1]).toMatch(/Index Cond: .*tenant = .*key = ANY/)
})

test('every statement is loaded by the code, and everything that is loaded exists', () => {
  const loaded = loadedFiles()
  expect([...new Set(loaded)].sort()).toEqual([...sqlFiles].sort())
})

test('no two statements are prepared under one name', () => {
  const names = sqlFiles.map((file) => parseStatement(file, sqlOf(file)).name)
  expect(new Set(names).size).toBe(names.length)
})

test('no statement is kept anywhere but in its file: the code holds no SQL that touches our tables', () => {
  const offenders = codeFiles.filter((file) =>
    /\b(FROM|INTO|UPDATE|JOIN)\s+carillon\.\w/.test(readFileSync(file, 'utf8')),
  )
  const allowed = [join('db', 'migrate.ts')]
  expect(offenders.map((file) => relative(source, file))).toEqual(allowed)
})

/** The lines of the header: comments before the first line of SQL. */
function isComment(above: boolean): (line: string) => boolean {
  let still = above
  return (line) => {
    still = still && (line.startsWith('--') || line.trim() === '')
    return still
  }
}
