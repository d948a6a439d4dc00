import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../kit/test-database.js'

let database: TestDatabase
let route: number

beforeAll(async () => {
  database = await createTestDatabase()
  const [made] = await database.query<{ route: number }>(
    "INSERT INTO carillon.routes (tenant, kind, name) VALUES (1, 'task', 'noop') RETURNING route",
  )
  route = made?.route as number
})

afterAll(() => database.close())

interface LookedFor {
  description: string | null
  tags: string[] | null
  managed_by: string | null
}

const nothing: LookedFor = { description: null, tags: null, managed_by: null }
const described = { description: 'pays', tags: ['billing'], managed_by: 'terraform' }

async function stored(definition: object): Promise<number> {
  const [row] = await database.query<{ job: number }>(
    `INSERT INTO carillon.jobs (id, tenant, partition, name, definition, one_off, route, effective_from, zone_data)
     VALUES ($1, 1, 0, $2, $3, false, $4, 0, '2025c') RETURNING job`,
    [randomUUID(), randomUUID(), JSON.stringify(definition), route],
  )
  return row?.job as number
}

async function lookedFor(job: number): Promise<LookedFor | undefined> {
  const [row] = await database.query<LookedFor>(
    'SELECT description, tags, managed_by FROM carillon.jobs WHERE job = $1',
    [job],
  )
  return row
}

test.each([
  ['nothing', {}, nothing],
  ['a description', { description: 'pays' }, { ...nothing, description: 'pays' }],
  ['tags', { tags: ['billing'] }, { ...nothing, tags: ['billing'] }],
  ['an owner', { managed_by: 'terraform' }, { ...nothing, managed_by: 'terraform' }],
  ['all of it', described, described],
])('a job whose definition has %s can be looked for by that', async (_, definition, expected) => {
  expect(await lookedFor(await stored({ name: 'x', ...definition }))).toEqual(expected)
})

test.each([
  ['takes it away', described, {}, nothing],
  ['brings it', {}, described, described],
  ['replaces it', described, { tags: ['a'] }, { ...nothing, tags: ['a'] }],
])('an edit that %s is followed', async (_, before, after, expected) => {
  const job = await stored(before)
  await database.query('UPDATE carillon.jobs SET definition = $2 WHERE job = $1', [
    job,
    JSON.stringify(after),
  ])
  expect(await lookedFor(job)).toEqual(expected)
})

test('a job that is collected has none of it any more', async () => {
  const job = await stored(described)
  await database.query(
    "UPDATE carillon.jobs SET definition = NULL, state = 'collected', ended_at = 1 WHERE job = $1",
    [job],
  )
  expect(await lookedFor(job)).toEqual(nothing)
})

test('whatever else is changed leaves it alone', async () => {
  const job = await stored(described)
  await database.query("UPDATE carillon.jobs SET state = 'paused', paused_at = 1 WHERE job = $1", [job])
  expect(await lookedFor(job)).toEqual(described)
})
