import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadConfig } from '../../src/config.js'
import { type RunningServer, startServer } from '../../src/main.js'
import { createTestDatabase, silentLog, type TestDatabase } from '../kit/test-database.js'
import { until } from '../kit/until.js'

let database: TestDatabase
let running: RunningServer | null = null

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(async () => {
  await running?.stop()
  await database.close()
})

const poolSize = 2

test('life signs go on and partitions are renewed while every connection of the pool waits', async () => {
  const env = {
    DATABASE_URL: database.url,
    CARILLON_PORT: '0',
    CARILLON_POOL_SIZE: String(poolSize),
    CARILLON_STATEMENT_TIMEOUT_MS: '120000',
    CARILLON_LEASE_TTL_SECONDS: '3',
  }
  running = await startServer({ config: loadConfig({ env }), log: silentLog })
  const one = async (text: string) => Number((await database.query<{ n: number }>(text))[0]?.n)
  const owned = 'SELECT count(*)::int AS n FROM carillon.partitions WHERE owner IS NOT NULL'
  await until('all partitions are owned', async () => (await one(owned)) === 256)

  const holder = await database.session()
  await holder.query('BEGIN; LOCK TABLE carillon.queue IN ACCESS EXCLUSIVE MODE')
  const waiting = `SELECT count(*)::int AS n FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'carillon' AND wait_event_type = 'Lock'`
  await until('the pool waits', async () => (await one(waiting)) === poolSize)
  const beats = 'SELECT max(beat)::int AS n FROM carillon.incarnations'
  const renewed = 'SELECT min(expires_at) AS n FROM carillon.partitions'
  const [beat, expiry] = [await one(beats), await one(renewed)]
  await until('there were life signs', async () => (await one(beats)) >= beat + 4)
  await until('the partitions were renewed', async () => (await one(renewed)) > expiry)
  expect([await one(waiting), await one(owned)]).toEqual([poolSize, 256])
  await holder.query('ROLLBACK')
})
