import { createHash, randomBytes } from 'node:crypto'
import pg from 'pg'
import { afterEach, describe, expect, inject, test } from 'vitest'
import { loadMigrations, type Migration, migrate } from '../../src/db/migrate.js'
import { systemClock } from '../../src/platform/clock.js'
import { administer, databaseUrl } from '../kit/global-postgres.js'
import { ManualClock, settled } from '../kit/manual-clock.js'
import { until } from '../kit/until.js'

const clients: pg.Client[] = []
const databases: string[] = []

/** A database with nothing in it, and as many connections to it as the test wants. */
async function emptyDatabase() {
  const name = `carillon_migrate_${randomBytes(6).toString('hex')}`
  databases.push(name)
  await administer(inject('postgresUrl'), `CREATE DATABASE ${name}`)
  return async (config: pg.ClientConfig = {}) => {
    const connectionString = databaseUrl(inject('postgresUrl'), name)
    const client = new pg.Client({ connectionString, ...config })
    client.on('error', () => undefined)
    await client.connect()
    clients.push(client)
    return client
  }
}

afterEach(async () => {
  for (const client of clients.splice(0)) await client.end()
  for (const name of databases.splice(0)) {
    await administer(inject('postgresUrl'), `DROP DATABASE ${name} WITH (FORCE)`)
  }
})

function migration(version: number, sql: string, name = `step_${version}`): Migration {
  return { version, name, sql, checksum: createHash('sha256').update(sql).digest('hex') }
}

/** Part of the product: all versions must agree on it. */
const lockKey = '7161130679611977582'
const first = migration(1, 'CREATE TABLE carillon.one (n int)')
const second = migration(2, 'CREATE TABLE carillon.two (n int)')

async function tablesOf(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'carillon' ORDER BY 1",
  )
  return rows.map(({ name }) => name)
}

async function appliedTo(client: pg.Client): Promise<number[]> {
  const { rows } = await client.query<{ version: number }>(
    'SELECT version FROM carillon.migrations ORDER BY version',
  )
  return rows.map(({ version }) => version)
}

/** Tables and sequences that no server could use: those of identity columns are used with their table. */
async function keptFromProcesses(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_class c
     WHERE c.relnamespace = 'carillon'::regnamespace AND NOT c.relispartition
       AND CASE c.relkind WHEN 'S' THEN NOT has_sequence_privilege('carillon_api', c.oid, 'USAGE')
                WHEN 'r' THEN NOT has_table_privilege('carillon_api', c.oid, 'SELECT')
                WHEN 'p' THEN NOT has_table_privilege('carillon_api', c.oid, 'SELECT') END
       AND NOT EXISTS (SELECT FROM pg_depend d
                       WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'i')
     ORDER BY 1`,
  )
  return rows.map(({ name }) => name)
}

async function advisoryLocks(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ locks: number }>(
    `SELECT count(*)::int AS locks FROM pg_locks
     WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
  )
  return rows[0]?.locks ?? -1
}

describe('the migrations of the product', () => {
  test('are numbered without a gap, each name once', () => {
    const known = loadMigrations()
    expect(known.map(({ version }) => version)).toEqual(known.map((_, at) => at + 1))
    expect(new Set(known.map(({ name }) => name)).size).toBe(known.length)
  })

  test('make the schema once; a second time there is nothing to do', async () => {
    const connect = await emptyDatabase()
    const client = await connect()
    const newest = loadMigrations().length
    const report = await migrate(client, systemClock)
    expect(report).toMatchObject({ from: 0, to: newest })
    expect(report.applied).toHaveLength(newest)
    expect(report.applied[0]).toBe('0001_house.sql')
    expect(await migrate(client, systemClock)).toEqual({ from: newest, to: newest, applied: [] })
    expect(await appliedTo(client)).toEqual(loadMigrations().map(({ version }) => version))
  })

  test('have the same checksum whatever the line ends of the checkout', () => {
    const [known] = loadMigrations()
    const unix = known?.sql.replaceAll('\r\n', '\n') ?? ''
    expect(known?.checksum).toBe(createHash('sha256').update(unix).digest('hex'))
  })
})

describe('several processes that migrate at once', () => {
  test('do the work once, and all of them find the schema up to date', async () => {
    const connect = await emptyDatabase()
    const five = await Promise.all(Array.from({ length: 5 }, () => connect()))
    const reports = await Promise.all(five.map((client) => migrate(client, systemClock)))
    const applied = reports.flatMap((report) => report.applied)
    expect(applied.sort()).toEqual([...new Set(applied)].sort())
    expect(applied).toHaveLength(loadMigrations().length)
    expect(new Set(reports.map(({ to }) => to))).toEqual(new Set([loadMigrations().length]))
  })

  test('wait for the one at work without waiting in the lock, and go on when it is done', async () => {
    const connect = await emptyDatabase()
    const [worker, waiter, gate] = await Promise.all([connect(), connect(), connect()])
    await gate.query('SELECT pg_advisory_lock(7709)')
    const slow = migration(1, 'SELECT pg_advisory_xact_lock(7709)')
    const working = migrate(worker, systemClock, [slow, second])
    await lockWaits(gate, 1)
    const clock = new ManualClock()
    const waiting = migrate(waiter, clock, [slow, second])
    await until('the other one polls', () => clock.delays.length > 0)
    await lockWaits(gate, 1)
    await gate.query('SELECT pg_advisory_unlock(7709)')
    await working
    await clock.advance(1_000)
    expect(await waiting).toEqual({ from: 2, to: 2, applied: [] })
  })

  test('give up after two minutes and say whom to look for', async () => {
    const connect = await emptyDatabase()
    const [hanging, waiter] = await Promise.all([connect(), connect()])
    await hanging.query('BEGIN')
    await hanging.query('SELECT pg_advisory_xact_lock($1)', [lockKey])
    const clock = new ManualClock()
    const waiting = migrate(waiter, clock, [first]).catch((error: unknown) => error)
    await until('it polls', () => clock.delays.length > 0)
    clock.skip(121_000)
    await clock.advance(0)
    expect(String(await waiting)).toContain(
      'Another process has been migrating this database for two minutes',
    )
    await settled()
  })
})

describe('a migration that fails', () => {
  test('is rolled back and named with its cause; those before it stay', async () => {
    const connect = await emptyDatabase()
    const client = await connect()
    const broken = migration(2, 'CREATE TABLE carillon.half (n int); SELECT 1 / 0', 'divides')
    const failure = await migrate(client, systemClock, [first, broken]).catch((error: unknown) => error)
    expect(failure).toMatchObject({
      message: 'Migration 0002_divides.sql failed and was rolled back; the schema stays at version 1.',
      cause: { code: '22012' },
    })
    expect(await tablesOf(client)).toEqual(['migrations', 'one'])
    expect(await appliedTo(client)).toEqual([1])
    expect(await advisoryLocks(client)).toBe(0)
  })

  test('can be repaired and run again over the same connection', async () => {
    const connect = await emptyDatabase()
    const client = await connect()
    await migrate(client, systemClock, [first, migration(2, 'SELECT 1 / 0')]).catch(() => undefined)
    expect(await migrate(client, systemClock, [first, second])).toEqual({
      from: 1,
      to: 2,
      applied: ['0002_step_2.sql'],
    })
  })

  test('because its connection was killed in the middle leaves nothing half-done, and the next one continues', async () => {
    const connect = await emptyDatabase()
    const [killed, gate, next] = await Promise.all([connect(), connect(), connect()])
    await gate.query('SELECT pg_advisory_lock(7709)')
    const slow = migration(2, 'CREATE TABLE carillon.half (n int); SELECT pg_advisory_xact_lock(7709)')
    const working = migrate(killed, systemClock, [first, slow]).catch((error: unknown) => error)
    await lockWaits(gate, 1)
    await gate.query(
      `SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
       WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    )
    expect(await working).toMatchObject({ message: expect.stringContaining('0002_step_2.sql') as string })
    await gate.query('SELECT pg_advisory_unlock(7709)')
    expect(await tablesOf(next)).toEqual(['migrations', 'one'])
    expect(await migrate(next, systemClock, [first, slow])).toMatchObject({ from: 1, to: 2 })
    expect(await tablesOf(next)).toEqual(['half', 'migrations', 'one'])
  })

  test('leaves what those before it made to the processes that run: each is theirs to use from its commit on', async () => {
    const connect = await emptyDatabase()
    const client = await connect()
    const known = loadMigrations()
    const wallsFrom = known.findIndex(({ name }) => name === 'walls')
    await migrate(client, systemClock, known.slice(0, wallsFrom + 1))
    for (const { version } of known.slice(wallsFrom + 1)) {
      const upTo = known.filter((other) => other.version <= version)
      const broken = migration(version + 1, 'SELECT 1 / 0')
      await expect(migrate(client, systemClock, [...upTo, broken])).rejects.toThrow('rolled back')
      expect(await appliedTo(client)).toContain(version)
      expect({ version, kept: await keptFromProcesses(client) }).toEqual({ version, kept: [] })
    }
  })

  test('is not one that takes longer than an ordinary call may', async () => {
    const connect = await emptyDatabase()
    const client = await connect({ query_timeout: 500, statement_timeout: 400 })
    const long = migration(1, 'SELECT pg_sleep(0.7)')
    expect(await migrate(client, systemClock, [long])).toMatchObject({ to: 1 })
    const { rows } = await client.query<{ timeout: string }>('SHOW statement_timeout')
    expect(Object.values(rows[0] ?? {})).toEqual(['400ms'])
  })
})

describe('a schema that this carillon does not know', () => {
  test('is refused when it is newer, with both versions and what to do', async () => {
    const connect = await emptyDatabase()
    const client = await connect()
    const third = migration(3, 'SELECT 3', 'of_tomorrow')
    await migrate(client, systemClock, [first, second, third])
    await expect(migrate(client, systemClock, [first])).rejects.toThrow(
      'The database has schema version 3 (of_tomorrow); this carillon understands 1 at most. ' +
        'It was migrated by a newer carillon: start that version, or restore the backup from before the upgrade.',
    )
    expect(await advisoryLocks(client)).toBe(0)
  })

  test('is refused when a migration was changed after it was applied', async () => {
    const connect = await emptyDatabase()
    const client = await connect()
    await migrate(client, systemClock, [first])
    const changed = migration(1, 'CREATE TABLE carillon.other (n int)')
    await expect(migrate(client, systemClock, [changed, second])).rejects.toThrow(
      'Migration 0001_step_1.sql is not the one this database was migrated with. ' +
        'A migration never changes once it was released: check out the released file.',
    )
    expect(await appliedTo(client)).toEqual([1])
  })
})

test('the lock of the migrators spells the name of the product', () => {
  expect(BigInt(lockKey)).toBe(Buffer.from('carillon').readBigInt64BE())
})

test('a server that is too old is refused before anything is done, with its version', async () => {
  const asked: string[] = []
  const client = {
    query: (text: string) => {
      asked.push(text)
      return Promise.resolve({ rows: [{ number: '130014', text: '13.14 (Debian)' }] })
    },
  } as unknown as pg.Client
  await expect(migrate(client, systemClock)).rejects.toThrow(
    'PostgreSQL 14 or newer is needed; this server is 13.14 (Debian). Point DATABASE_URL at a newer one.',
  )
  expect(asked).toHaveLength(1)
})

test('none that is not released builds an index over a table that firing writes to: it would stop while that builds', () => {
  const released = 27
  const built = loadMigrations()
    .filter(({ version }) => version > released)
    .flatMap(
      ({ sql }) =>
        sql.match(/CREATE (UNIQUE )?INDEX .* ON carillon\.(jobs|timers|queue|ledger|dead_letters) .*/g) ?? [],
    )
  expect(built).toEqual([])
})

test('behind a pooler, where each transaction may have another session, no lock stays behind', async () => {
  const connect = await emptyDatabase()
  const sessions = await Promise.all([connect(), connect(), connect()])
  const pooler = transactionPooler(sessions)
  expect(await migrate(pooler, systemClock, [first, second])).toMatchObject({ from: 0, to: 2 })
  expect(await migrate(pooler, systemClock, [first, second])).toMatchObject({ from: 2, applied: [] })
  const [look] = sessions
  expect(look && (await advisoryLocks(look))).toBe(0)
})

/** Hands every transaction, and every call outside of one, to the next session. */
function transactionPooler(sessions: pg.Client[]): pg.Client {
  let at = 0
  let inside: pg.Client | null = null
  const query = async (text: string | pg.QueryConfig, values?: unknown[]) => {
    const word = typeof text === 'string' ? text : ''
    const session = inside ?? (sessions[at++ % sessions.length] as pg.Client)
    if (word === 'BEGIN') inside = session
    if (word === 'COMMIT' || word === 'ROLLBACK') inside = null
    return session.query(text, values)
  }
  return { query } as unknown as pg.Client
}

async function lockWaits(client: pg.Client, count: number): Promise<void> {
  await until(`${count} sessions wait for a lock`, async () => {
    const { rows } = await client.query<{ waiting: number }>(
      `SELECT count(*)::int AS waiting FROM pg_stat_activity
       WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    )
    return rows[0]?.waiting === count
  })
}
