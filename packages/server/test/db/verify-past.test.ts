import { expect, test } from 'vitest'
import { readRecords } from '../../src/pipeline/account/records.js'
import { statement, valuesOf } from '../../src/db/statement.js'
import { minute, useHandMade } from '../kit/hand-made.js'

const hand = useHandMade()
const readLedger = statement<object, object>(
  new URL('../../src/pipeline/account/read-ledger.sql', import.meta.url),
)

test('a slice of a verification does not read what lies before it', async () => {
  const ticks = 20_000
  const job = await hand().job({ accountedThrough: minute(ticks), due: minute(ticks + 1) })
  await hand().database.query(
    `INSERT INTO carillon.ledger (recorded_at, tenant, job, due, origin, seq, outcome, final, round, attempt, version, epoch,
                                  available_at, started_at, partition)
     SELECT due, 1, $1, due, 0, 0, 'success', true, 0, 1, 1, 1, due, due, $2
     FROM generate_series($3::bigint, $4::bigint, 60000) AS due`,
    [job.key, job.partition, minute(1), minute(ticks)],
  )
  await hand().database.query('VACUUM ANALYZE carillon.ledger')
  const slice = { jobs: [job.key], from: minute(ticks - 10), to: minute(ticks + 1), recorded_from: minute(1) }
  const [explained] = await hand().database.query<{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }>(
    ['EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON)', readLedger.text].join(' '),
    valuesOf(readLedger, slice),
  )
  const [{ Plan: plan }] = explained?.['QUERY PLAN'] ?? [{ Plan: {} }]
  expect(plan['Actual Rows']).toBe(11)
  const pages = (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0)
  expect(pages).toBeGreaterThan(0)
  expect(pages).toBeLessThan(60)
})

test('a range that began long before a slice is found behind ticks that were skipped by request', async () => {
  const job = await hand().job({ accountedThrough: minute(400), due: minute(401) })
  await hand().skipped(job, minute(1), 'paused', { due_to: minute(400), ticks: 300 })
  for (let tick = 100; tick < 200; tick++) await hand().skipped(job, minute(tick), 'skipped_by_request')
  const slice = { jobs: [job.key], from: minute(300), to: minute(310), recorded_from: minute(0) }
  const records = await hand().database.database.snapshot((runner) => readRecords(runner, slice))
  expect(records.get(job.key)?.ranges).toMatchObject([{ due: minute(1), due_to: minute(400) }])
})
