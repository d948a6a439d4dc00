import { beforeEach, expect, test } from 'vitest'
import { byIndex } from '../../src/db/by-index.js'
import { type Statement, statement } from '../../src/db/statement.js'
import { useHandMade } from '../kit/hand-made.js'

const hand = useHandMade()
const claim = statement<object, { since: number; until: number; noted: number[] }>(
  new URL('../../src/pipeline/alert/claim-tail.sql', import.meta.url),
)
const read = statement<object, { job: number }>(
  new URL('../../src/pipeline/alert/read-tail.sql', import.meta.url),
)
const jobs = 200
const bounds = { settled_ms: 3_000, oldest_ms: 60_000, most: 10_000, slow_ms: 10_000 }
/** Far fewer than the ledger has, and far more than the last minute of it. */
const fewPages = 700

/** An hour ago every job ran often, in the last minute once; one of these runs failed. Nothing is known of the ledger's statistics, as of today's. */
beforeEach(async () => {
  await hand().database.query('UPDATE carillon.alert_watch SET slice_ms = 60000, through = 0')
  await record(3_600_000, 400)
  await record(20_000, 1)
  await hand().database.query('SELECT carillon.summarize_ledger()')
})

async function record(agoMs: number, runs: number): Promise<void> {
  await hand().database.query(
    `INSERT INTO carillon.ledger (recorded_at, tenant, job, due, origin, seq, outcome, final, round, attempt, version, epoch,
                                  available_at, started_at, finished_at, partition)
     SELECT carillon.now_ms() - $1::bigint, 1, 1000 + j, n, 0, 0,
            CASE WHEN j = 7 AND $2::int = 1 THEN 'failed' ELSE 'success' END::carillon.outcome, true, 0, 1, 1, 1, 0, 0, 0, 0
     FROM generate_series(1, $2::int) AS n, generate_series(1, $3::int) AS j`,
    [agoMs, runs, jobs],
  )
}

async function pagesRead(statement: Statement<object, object>, params: object): Promise<number> {
  return hand().database.database.transaction(async (runner) => {
    await byIndex(runner)
    const explained = { ...statement, text: `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${statement.text}` }
    const [row] = await runner.run<object, object>({ ...explained, planned: 'each-time' }, params)
    const [{ Plan: plan }] = (row as { 'QUERY PLAN': [{ Plan: Record<string, number> }] })['QUERY PLAN']
    const pages = (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0)
    expect(pages).toBeGreaterThan(0)
    return pages
  })
}

test('a look at the tail notes the jobs that are not well, and reads the tail alone', async () => {
  const [slice] = await hand().database.database.run(claim, bounds)
  expect(slice?.noted).toEqual([1_007])
  expect(await pagesRead(claim, bounds)).toBeLessThan(fewPages)
})

test('what became of many noted jobs is read from the tail, not from their histories', async () => {
  const [slice] = await hand().database.database.run(claim, bounds)
  const { since = 0, until = 0 } = slice ?? {}
  expect(until - since).toBeGreaterThan(40_000)
  const noted = Array.from({ length: jobs }, (_, job) => 1_001 + job)
  const asked = { since, until, slow_ms: bounds.slow_ms, noted }
  expect(await pagesRead(read, asked)).toBeLessThan(fewPages)
})
