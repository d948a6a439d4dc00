import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { pino } from 'pino'
import { inject } from 'vitest'
import { Database } from '../../src/db/pool.js'
import { administer, databaseUrl } from './global-postgres.js'

export const silentLog = pino({ level: 'silent' })

export interface TestDatabase {
  readonly url: string
  readonly database: Database
  /** Plain SQL for arranging and looking, as a person at psql would. */
  query<Row extends object = Record<string, unknown>>(text: string, values?: unknown[]): Promise<Row[]>
  /** A session of its own, for tests that hold locks. Ended by close(). */
  session(): Promise<pg.Client>
  /** Drops the database; fails if the code under test left a connection or a transaction open. */
  close(): Promise<void>
}

/** A database of its own for a test file, cloned from the migrated template in some milliseconds. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const serverUrl = inject('postgresUrl')
  const name = `carillon_test_${randomBytes(6).toString('hex')}`
  await administer(serverUrl, `CREATE DATABASE ${name} TEMPLATE ${inject('templateDatabase')}`)
  const url = databaseUrl(serverUrl, name)
  const database = new Database({
    url,
    poolSize: 5,
    statementTimeoutMs: 20_000,
    applicationName: 'carillon under test',
    log: silentLog,
  })
  const kit = new pg.Pool({ connectionString: url, max: 2, application_name: 'carillon test kit' })
  kit.on('error', () => undefined)
  const sessions: pg.Client[] = []
  return {
    url,
    database,
    async query<Row extends object>(text: string, values: unknown[] = []) {
      return (await kit.query<Row>({ text, values, types: exactNumbers })).rows
    },
    async session() {
      const client = new pg.Client({ connectionString: url, application_name: 'carillon test kit' })
      client.on('error', () => undefined)
      await client.connect()
      sessions.push(client)
      return client
    },
    async close() {
      await Promise.all(sessions.map((client) => client.end()))
      await database.close()
      await kit.end()
      const leaked = await connectionsOf(serverUrl, name)
      await administer(serverUrl, `DROP DATABASE ${name} WITH (FORCE)`)
      if (leaked.length > 0) throw new Error(`Connections were left open: ${leaked.join('; ')}`)
    },
  }
}

/** Backends need a moment to notice that their client said good-bye: look until they are gone, within a bound. */
async function connectionsOf(serverUrl: string, database: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: serverUrl })
  await client.connect()
  try {
    let left: string[] = []
    for (let look = 0; look < 100; look++) {
      const { rows } = await client.query<{ label: string }>(
        `SELECT application_name || ' ' || coalesce(state, '') || ' ' || left(query, 80) AS label
         FROM pg_stat_activity WHERE datname = $1 AND backend_type = 'client backend'`,
        [database],
      )
      left = rows.map(({ label }) => label)
      if (left.length === 0) return []
      await client.query('SELECT pg_sleep(0.02)')
    }
    return left
  } finally {
    await client.end()
  }
}

const int8 = 20
function parserOf(oid: number, format?: 'text'): (text: string) => unknown {
  return oid === int8 ? Number : (pg.types.getTypeParser(oid, format) as (text: string) => unknown)
}
const exactNumbers = { getTypeParser: parserOf as typeof pg.types.getTypeParser }
