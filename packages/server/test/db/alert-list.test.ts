import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseStatement } from '../../src/db/statement.js'
import { paramTypes } from '../kit/plans.js'
import { createTestDatabase, type TestDatabase } from '../kit/test-database.js'

/** A page of alerts costs what it shows, however many there are: a hundred thousand of this tenant, of which a few hundred go on. */
const alerts = 100_000
const file = fileURLToPath(new URL('../../src/pipeline/alert/list-alerts.sql', import.meta.url))
const source = readFileSync(file, 'utf8')
const { text } = parseStatement<never, object>('pipeline/alert/list-alerts.sql', source)
const first = Number.MAX_SAFE_INTEGER
const page = {
  tenant: 1,
  of_tenant: true,
  of_fleet: true,
  before: first,
  least: 0,
  state: null,
  kind: null,
  job: null,
  most: 51,
}

let database: TestDatabase
let session: pg.Client

beforeAll(async () => {
  database = await createTestDatabase()
  session = await database.session()
  // The tenant's are old ones and the fleet's, of another kind, among them; the few that go on are the oldest of all.
  await session.query(
    `INSERT INTO carillon.alerts (tenant, kind, fingerprint, subject, job, raised_at, resolved_at, route_at, silenced_by)
     SELECT CASE WHEN n % 50 = 0 THEN NULL ELSE 1 END,
            CASE WHEN n % 50 = 0 THEN 'overload' WHEN n % 20000 = 7 THEN 'slow_run' WHEN n % 2 = 0 THEN 'failed_in_row' ELSE 'missed_tick' END,
            'f' || n, 'alert ' || n, CASE WHEN n % 50 <> 0 THEN n % 1000 END, n, CASE WHEN n > 400 THEN n + 1 END, NULL,
            CASE WHEN n BETWEEN 300 AND 400 THEN gen_random_uuid() END
     FROM generate_series(1, $1::int) n`,
    [alerts],
  )
  await session.query('ANALYZE carillon.alerts')
  // As requests come: the database confines them to their tenant.
  await session.query("SET ROLE carillon_api; SET carillon.tenant = '1'")
})

afterAll(() => database.close())

interface Node {
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  'Shared Hit Blocks'?: number
  'Shared Read Blocks'?: number
  Plans?: Node[]
}

/** How many blocks the statement touched, and how many rows it threw away. */
async function costOf(asked: Record<string, unknown>) {
  const values = paramTypes(source).map(([name]) => asked[name])
  const explained = await session.query(['EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON)', text].join(' '), values)
  const [row] = explained.rows as { 'QUERY PLAN': { Plan: Node }[] }[]
  const top = (row?.['QUERY PLAN'][0] as { Plan: Node }).Plan
  const all = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(all)]
  const dropped = all(top).reduce(
    (sum, node) => sum + (node['Rows Removed by Filter'] ?? 0) * node['Actual Loops'],
    0,
  )
  return {
    rows: top['Actual Rows'],
    blocks: (top['Shared Hit Blocks'] ?? 0) + (top['Shared Read Blocks'] ?? 0),
    dropped,
  }
}

describe('a page of alerts among a hundred thousand', () => {
  test.each<[string, Partial<typeof page> | Record<string, unknown>, number]>([
    ['without a filter', {}, 51],
    ['deep below', { before: 30_000 }, 51],
    ['that go on', { state: 'firing' }, 51],
    ['that are silenced', { state: 'silenced' }, 51],
    ['that are over', { state: 'resolved' }, 51],
    ['of a rare kind', { kind: 'slow_run', of_fleet: false }, 5],
    ['of a kind that nobody has', { kind: 'breaker_open', of_fleet: false }, 0],
    ['of a frequent kind', { kind: 'missed_tick', of_fleet: false }, 51],
    ['of one job', { job: 123 }, 51],
    ['of a job that has none', { job: 4_000_000 }, 0],
    ['of one job, going on', { job: 123, state: 'firing' }, 1],
    ['of a rare kind, going on', { kind: 'slow_run', of_fleet: false, state: 'firing' }, 1],
    ['by its id', { before: 40_124, least: 40_123, most: 1 }, 1],
  ])('%s touches few of them', async (_which, asked, rows) => {
    const cost = await costOf({ ...page, ...asked })
    expect(cost.rows).toBe(rows)
    expect(cost.dropped).toBeLessThan(1_000)
    // 1,400 and more where it went through all of them.
    expect(cost.blocks).toBeLessThan(500)
  })

  test('of a kind of the fleet reads no other kind, and nothing of tenants', async () => {
    const cost = await costOf({ ...page, kind: 'overload', of_tenant: false })
    expect([cost.rows, cost.dropped]).toEqual([51, 0])
  })
})
