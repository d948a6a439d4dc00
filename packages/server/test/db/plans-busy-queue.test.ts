import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseStatement } from '../../src/db/statement.js'
import { customPlan, type PlanNode, paramTypes, plausible } from '../kit/plans.js'
import { createTestDatabase, type TestDatabase } from '../kit/test-database.js'

/**
 * A queue that is passed through quickly holds few rows at a time, and what the planner knows of it says nothing about
 * the many that are gone but still there for an old transaction. Whoever has the whole key of a run must find it by that.
 */
const source = fileURLToPath(new URL('../../src/pipeline/', import.meta.url))
const files = ['queue', 'record', 'recover', 'remote'].flatMap((room) =>
  readdirSync(`${source}${room}`)
    .filter((file) => file.endsWith('.sql'))
    .map((file) => `${room}/${file}`),
)
const jobs = 300
/** For a run that waits for a place of an edited job: whether one of an older version goes on outside the places. */
const byJobAlone: Record<string, number> = {
  'queue/lease.sql': 1,
  // Of jobs that somebody watches: whether a run of theirs has started.
  'record/tail-running.sql': 1,
}
/** Rare: after a lost answer, and once for each process that died. */
const mayScan = new Set([
  // Goes through the runs in flight, for people who look at the runs of all jobs.
  'record/ends-between.sql',
  'queue/held.sql',
  'recover/rescue.sql',
  'recover/rescued.sql',
])
/** For jobs that just gave back a place: all that waits for one. Runs that wait are few, and so are their entries. */
const mayRead: Record<string, string> = {
  'queue/lease.sql': 'queue_waiting',
  'queue/look.sql': 'queue_waiting',
}

let database: TestDatabase
let session: pg.Client
let now: number

beforeAll(async () => {
  database = await createTestDatabase()
  session = await database.session()
  const { rows } = await session.query<{ now: number }>('SELECT carillon.now_ms() AS now')
  now = rows[0]?.now ?? 0
  await session.query("INSERT INTO carillon.routes (route, tenant, kind, name) VALUES (1, 1, 'http', '')")
  // Every job has had a run each second.
  await session.query(
    `INSERT INTO carillon.queue (due, job, tenant, route, version, epoch, max_attempts, available_at, fired_at, holder,
                                 token, leased_at, partition)
     SELECT $1::bigint - 1000 * second, job, 1, 1, 1, 1, 3, $1::bigint - 1000 * second, $1,
            CASE WHEN second > 2 THEN 1 END, CASE WHEN second > 2 THEN job * 1000 + second END,
            CASE WHEN second > 2 THEN 1 END, job % 256
     FROM generate_series(1, 100) AS second, generate_series(1, $2::int) AS job`,
    [now, jobs],
  )
  // The planner last looked at a moment when all of them were done.
  await session.query('DELETE FROM carillon.queue')
  await session.query('ANALYZE carillon.queue')
})

afterAll(() => database.close())

describe.each(files)('%s', (file) => {
  const text = readFileSync(`${source}${file}`, 'utf8')
  const statement = parseStatement<never, object>(file, text)

  test('finds a run by its whole key, and those of a job by their places', async () => {
    const million = { jobs, incarnation: 1, now }
    const values = paramTypes(text).map(([name, type]) => plausible(name, type, million))
    const plan = await customPlan(session, statement.text, values)
    const whole = plan.filter(isWhole).filter((node) => node['Index Name'] !== mayRead[file])
    if (!mayScan.has(file)) expect(whole).toEqual([])
    const looks = plan.filter(isLookByJobAlone).map((node) => node['Index Cond'])
    expect(looks.slice(byJobAlone[file] ?? 0)).toEqual([])
  })
})

test('the statements that close, lease and give back are among them', () => {
  expect(files).toEqual(
    expect.arrayContaining(['queue/lease.sql', 'queue/hand-back.sql', 'record/close.sql']),
  )
})

function isWhole(node: PlanNode): boolean {
  if (node['Node Type'] === 'Seq Scan') return node['Relation Name'] === 'queue'
  return node['Index Name']?.startsWith('queue_') === true && node['Index Cond'] === undefined
}

/** Reads every row that the job ever had, as long as none of them can be removed. */
function isLookByJobAlone(node: PlanNode): boolean {
  const condition = node['Index Cond'] ?? ''
  const ofTheQueue = node['Index Name']?.startsWith('queue_') === true
  return ofTheQueue && /\bjob = /.test(condition) && !/\b(due|slot)\b/.test(condition)
}
