import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type pg from 'pg'
import { type Clock, pause } from '../platform/clock.js'

export interface Migration {
  version: number
  name: string
  checksum: string
  sql: string
}

export interface MigrationReport {
  from: number
  to: number
  applied: string[]
}

/** What the database has and what this carillon would add. */
export interface MigrationStatus {
  /** The schema's version; 0 where there is no schema yet. */
  current: number
  /** The newest version that this carillon knows. */
  newest: number
  applied: { version: number; file: string; applied_at: string }[]
  pending: string[]
  /** Applied ones whose file is not what it was: a released migration never changes. */
  changed: string[]
}

const directory = new URL('../../migrations/', import.meta.url)
/** Spells "carillon": one migrator at a time in a database. */
const lockKey = '7161130679611977582'
const oldestServer = 140_000
const patienceMs = 120_000

export function loadMigrations(): Migration[] {
  return readdirSync(fileURLToPath(directory))
    .filter((file) => /^\d{4}_\w+\.sql$/.test(file))
    .sort()
    .map((file) => {
      const sql = readFileSync(new URL(file, directory), 'utf8')
      const checksum = createHash('sha256').update(sql.replaceAll('\r\n', '\n')).digest('hex')
      return { version: Number(file.slice(0, 4)), name: file.slice(5, -4), checksum, sql }
    })
}

interface Step {
  /** The schema's version before it. */
  from: number
  /** What it applied; null when nothing was missing. */
  applied: Migration | null
}

/**
 * Brings the schema up to date. Any number of processes may call this at once: one works, the others wait for it and
 * find nothing to do. Each migration commits with its own record, so a migrator killed in the middle leaves a schema
 * that the next one continues from.
 */
export async function migrate(
  client: pg.Client,
  clock: Clock,
  migrations: Migration[] = loadMigrations(),
): Promise<MigrationReport> {
  await requireServerVersion(client)
  const applied: string[] = []
  let from: number | undefined
  for (;;) {
    const step = await nextStep(client, clock, migrations)
    from ??= step.from
    if (step.applied === null) return { from, to: migrations.at(-1)?.version ?? from, applied }
    applied.push(fileName(step.applied))
  }
}

/** Reads and changes nothing: no lock, no schema, no table. */
export async function migrationStatus(
  client: pg.Client,
  migrations: Migration[] = loadMigrations(),
): Promise<MigrationStatus> {
  const { rows: tables } = await client.query<{ present: boolean }>(
    "SELECT to_regclass('carillon.migrations') IS NOT NULL AS present",
  )
  const { rows } = tables[0]?.present
    ? await client.query<{ version: number; name: string; checksum: string; applied_at: Date }>(
        'SELECT version, name, checksum, applied_at FROM carillon.migrations ORDER BY version',
      )
    : { rows: [] }
  const current = rows.at(-1)?.version ?? 0
  const checksums = new Map(rows.map((row) => [row.version, row.checksum]))
  return {
    current,
    newest: migrations.at(-1)?.version ?? 0,
    applied: rows.map(({ version, name, applied_at }) => ({
      version,
      file: fileName({ version, name }),
      applied_at: applied_at.toISOString(),
    })),
    pending: migrations.filter(({ version }) => version > current).map(fileName),
    changed: migrations
      .filter(({ version, checksum }) => (checksums.get(version) ?? checksum) !== checksum)
      .map(fileName),
  }
}

/** Waits for its turn by polling: waiting for the lock would pin the oldest snapshot of the whole database. */
async function nextStep(client: pg.Client, clock: Clock, migrations: Migration[]): Promise<Step> {
  const giveUpAt = clock.monotonic() + patienceMs
  for (;;) {
    const step = await tryStep(client, migrations)
    if (step !== 'busy') return step
    if (clock.monotonic() > giveUpAt) {
      throw new Error(
        'Another process has been migrating this database for two minutes. See pg_stat_activity for it.',
      )
    }
    await pause(clock, 100)
  }
}

/**
 * The next migration that is missing, with its record, in one transaction. The lock belongs to the transaction: one that
 * belonged to the session would stay behind in a pooler, and every later start would wait for it.
 */
async function tryStep(client: pg.Client, migrations: Migration[]): Promise<Step | 'busy'> {
  await client.query('BEGIN')
  try {
    const { rows: locks } = await client.query<{ taken: boolean }>(
      'SELECT pg_try_advisory_xact_lock($1) AS taken',
      [lockKey],
    )
    const step = locks[0]?.taken ? await applyNext(client, migrations) : 'busy'
    await client.query('COMMIT')
    return step
  } catch (error) {
    // A connection that broke has rolled back by itself; the failure to say so must not hide why it broke.
    await client.query('ROLLBACK').catch(() => undefined)
    throw error
  }
}

async function applyNext(client: pg.Client, migrations: Migration[]): Promise<Step> {
  await client.query("SET LOCAL lock_timeout = '10s'; SET LOCAL statement_timeout = 0")
  await client.query('CREATE SCHEMA IF NOT EXISTS carillon')
  await client.query(`CREATE TABLE IF NOT EXISTS carillon.migrations (
    version int PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`)
  const { rows } = await client.query<{ version: number; name: string; checksum: string }>(
    'SELECT version, name, checksum FROM carillon.migrations ORDER BY version',
  )
  const from = rows.at(-1)?.version ?? 0
  refuseUnknown(rows, migrations)
  const next = migrations.find((migration) => migration.version > from)
  if (next === undefined) {
    if (await hasWalls(client)) await raiseWalls(client)
    return { from, applied: null }
  }
  const walled = await hasWalls(client)
  try {
    // The deadline of ordinary calls is not for this one: a migration of a large table takes the time it takes.
    const text: pg.QueryConfig & { query_timeout: number } = { text: next.sql, query_timeout: 2 ** 31 - 1 }
    await client.query(text)
  } catch (error) {
    throw new Error(
      `Migration ${fileName(next)} failed and was rolled back; the schema stays at version ${from}.`,
      { cause: error },
    )
  }
  // With it, not after all of them: processes of the version before work on, and what replaces something of theirs must be theirs
  // to use from the moment on in which it is there, also where the migrator dies before the next.
  if (walled) await raiseWalls(client)
  await client.query('INSERT INTO carillon.migrations (version, name, checksum) VALUES ($1, $2, $3)', [
    next.version,
    next.name,
    next.checksum,
  ])
  return { from, applied: next }
}

/**
 * Row-level security on every table that has a tenant, also on those that the last migrations made. Where all of it is in
 * place nothing is locked. The error names the SQL that an administrator has to run where this login may not.
 */
async function raiseWalls(client: pg.Client): Promise<void> {
  await client.query('SELECT carillon.raise_walls()')
}

async function hasWalls(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ present: boolean }>(
    "SELECT to_regprocedure('carillon.raise_walls()') IS NOT NULL AS present",
  )
  return rows[0]?.present ?? false
}

function refuseUnknown(
  applied: { version: number; name: string; checksum: string }[],
  known: Migration[],
): void {
  const newest = known.at(-1)?.version ?? 0
  const ahead = applied.at(-1)
  if (ahead !== undefined && ahead.version > newest) {
    throw new Error(
      `The database has schema version ${ahead.version} (${ahead.name}); this carillon understands ${newest} at most. ` +
        'It was migrated by a newer carillon: start that version, or restore the backup from before the upgrade.',
    )
  }
  for (const row of applied) {
    const migration = known.find((candidate) => candidate.version === row.version)
    if (migration !== undefined && migration.checksum !== row.checksum) {
      throw new Error(
        `Migration ${fileName(migration)} is not the one this database was migrated with. ` +
          'A migration never changes once it was released: check out the released file.',
      )
    }
  }
}

async function requireServerVersion(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ number: string; text: string }>(
    "SELECT current_setting('server_version_num') AS number, current_setting('server_version') AS text",
  )
  const [server] = rows
  if (Number(server?.number) < oldestServer) {
    throw new Error(
      `PostgreSQL 14 or newer is needed; this server is ${server?.text}. Point DATABASE_URL at a newer one.`,
    )
  }
}

function fileName(migration: Pick<Migration, 'version' | 'name'>): string {
  return `${String(migration.version).padStart(4, '0')}_${migration.name}.sql`
}
