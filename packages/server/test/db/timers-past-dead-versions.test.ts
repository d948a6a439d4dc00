import { readFileSync } from 'node:fs'
import type pg from 'pg'
import { expect, test } from 'vitest'
import { parseStatement, type Statement, statement, valuesOf } from '../../src/db/statement.js'
import { fireParams, fireStatement, tickParams } from '../../src/pipeline/fire/fire-statement.js'
import { type DueTimer, planTick } from '../../src/pipeline/fire/plan.js'
import { handAllTo } from '../kit/owner.js'
import { timerOf } from '../kit/rows.js'
import { useHouse } from '../kit/use-house.js'

/**
 * A timer that has fired often since the oldest open transaction began lies behind as many dead versions of itself. Whoever
 * fires it reads a handful of pages all the same.
 */
const house = useHouse()

const pastTicks = 2_000
/** What a look by the key would read is at least one page visit for each past tick. */
const handful = pastTicks / 10

const sqlOf = (file: string) => new URL(`../../src/pipeline/fire/${file}`, import.meta.url)
const readTimers = statement<{ jobs: number[]; partitions: number[]; start_ats: number[] }, DueTimer>(
  sqlOf('read-timers.sql'),
)

interface BufferPlan {
  'QUERY PLAN': { Plan: { 'Shared Hit Blocks': number; 'Shared Read Blocks': number } }[]
}

/** Runs it, takes back what it did, and answers how many pages it visited. */
async function pagesOf<Params extends object>(
  session: pg.Client,
  of: Statement<Params, object>,
  params: Params,
): Promise<number> {
  await session.query('BEGIN')
  const { rows } = await session.query<BufferPlan>(
    ['EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON)', of.text].join(' '),
    valuesOf(of, params),
  )
  await session.query('ROLLBACK')
  const plan = rows[0]?.['QUERY PLAN'][0]?.Plan
  if (plan === undefined) throw new Error('no plan came back')
  return plan['Shared Hit Blocks'] + plan['Shared Read Blocks']
}

test('a timer is read, fired and decided without a visit to its past versions', async () => {
  const node = await house().node()
  const job = await node.register({ schedule: '@every 10s', overlap_policy: 'QUEUE' })
  const believes = await handAllTo(house(), node)
  const { partition, start_at: startAt } = await timerOf(house(), job)
  if (startAt === null) throw new Error('the job has a tick ahead')
  const old = await house().database.session()
  await old.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
  await old.query('SELECT count(*) FROM carillon.timers')
  for (let tick = 1; tick <= pastTicks; tick++) {
    await house().query('UPDATE carillon.timers SET start_at = $2, due = $2 WHERE job = $1', [
      job.key,
      startAt + tick,
    ])
  }
  const now = startAt + pastTicks
  await house().clock.advance(now - (await house().now()))

  const where = { jobs: [job.key], partitions: [partition], start_ats: [now] }
  const due = await house().database.database.run(readTimers, where)
  expect(due.map(({ job: key, start_at }) => [key, start_at])).toEqual([[job.key, now]])
  const ticks = due.map((timer) =>
    planTick(timer, { lateToleranceMs: 15_000, overloaded: false, windowFactor: 1 }),
  )
  const session = await house().database.session()
  const overlap = parseStatement<ReturnType<typeof tickParams>, object>(
    'overlap.sql',
    readFileSync(sqlOf('overlap.sql'), 'utf8'),
  )
  const params = fireParams(node.membership.incarnation, believes, ticks, null)
  const overlapParams = tickParams(node.membership.incarnation, believes, ticks)
  expect(await pagesOf(session, readTimers, where)).toBeLessThan(handful)
  expect(await pagesOf(session, fireStatement, params)).toBeLessThan(handful)
  expect(await pagesOf(session, overlap, overlapParams)).toBeLessThan(handful)
  await old.query('ROLLBACK')
})
