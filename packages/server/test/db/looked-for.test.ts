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
const columns = 'description, tags, managed_by'
const described = { description: 'pays', tags: ['billing'], managed_by: 'terraform' }

async function stored(definition: object): Promise<{ job: number } & LookedFor> {
  const [row] = await database.query<{ job: number } & LookedFor>(
    `INSERT INTO carillon.jobs (id, tenant, partition, name, definition, one_off, route, effective_from, zone_data)
     VALUES ($1, 1, 0, $2, $3, false, $4, 0, '2025c') RETURNING job, ${columns}`,
    [randomUUID(), randomUUID(), JSON.stringify(definition), route],
  )
  return row as { job: number } & LookedFor
}

async function changed(job: number, set: string, values: unknown[] = []): Promise<LookedFor | undefined> {
  const [row] = await database.query<LookedFor>(
    `UPDATE carillon.jobs SET ${set} WHERE job = $1 RETURNING ${columns}`,
    [job, ...values],
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
  expect(await stored({ name: 'x', ...definition })).toMatchObject(expected)
})

test.each([
  ['takes it away', described, {}, nothing],
  ['brings it', {}, described, described],
  ['replaces it', described, { tags: ['a'] }, { ...nothing, tags: ['a'] }],
])('an edit that %s is followed', async (_, before, after, expected) => {
  const { job } = await stored(before)
  expect(await changed(job, 'definition = $2', [JSON.stringify(after)])).toEqual(expected)
})

test('a job that is collected has none of it any more', async () => {
  const { job } = await stored(described)
  expect(await changed(job, "definition = NULL, state = 'collected', ended_at = 1")).toEqual(nothing)
})

test('whatever else is changed leaves it alone', async () => {
  const { job } = await stored(described)
  expect(await changed(job, "state = 'paused', paused_at = 1")).toEqual(described)
})
