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
const lockKey = '7161677110969590382'
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
  await takeLock(client, clock)
  try {
    await client.query('CREATE SCHEMA IF NOT EXISTS carillon')
    await client.query(`CREATE TABLE IF NOT EXISTS carillon.migrations (
      version int PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`)
    return await applyMissing(client, migrations)
  } finally {
    await client.query('SELECT pg_advisory_unlock($1)', [lockKey])
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

async function applyMissing(client: pg.Client, migrations: Migration[]): Promise<MigrationReport> {
  const { rows } = await client.query<{ version: number; name: string; checksum: string }>(
    'SELECT version, name, checksum FROM carillon.migrations ORDER BY version',
  )
  const from = rows.at(-1)?.version ?? 0
  refuseUnknown(rows, migrations)
  const missing = migrations.filter((migration) => migration.version > from)
  for (const migration of missing) {
    await client.query('BEGIN')
    try {
      await client.query("SET LOCAL lock_timeout = '10s'; SET LOCAL statement_timeout = 0")
      await client.query(migration.sql)
      await client.query('INSERT INTO carillon.migrations (version, name, checksum) VALUES ($1, $2, $3)', [
        migration.version,
        migration.name,
        migration.checksum,
      ])
      await client.query('COMMIT')
    } catch (error) {
      await client.query('ROLLBACK').catch(() => undefined)
      throw new Error(
        `Migration ${fileName(migration)} failed and was rolled back; the schema stays at version ${migration.version - 1}.`,
        { cause: error },
      )
    }
  }
  return { from, to: migrations.at(-1)?.version ?? from, applied: missing.map(fileName) }
}

function refuseUnknown(
  applied: { version: number; name: string; checksum: string }[],
  known: Migration[],
): void {
  const newest = known.at(-1)?.version ?? 0
  const ahead = applied.find((row) => row.version > newest)
  if (ahead !== undefined) {
    throw new Error(
      `The database has schema version ${applied.at(-1)?.version} (${ahead.name}); this carillon understands ${newest} at most. ` +
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

/** Polls for the lock: waiting inside pg_advisory_lock would pin the oldest snapshot of the whole database. */
async function takeLock(client: pg.Client, clock: Clock): Promise<void> {
  const giveUpAt = clock.monotonic() + patienceMs
  for (;;) {
    const { rows } = await client.query<{ taken: boolean }>('SELECT pg_try_advisory_lock($1) AS taken', [
      lockKey,
    ])
    if (rows[0]?.taken) return
    if (clock.monotonic() > giveUpAt) {
      throw new Error(
        'Another process has been migrating this database for two minutes. See pg_stat_activity for it.',
      )
    }
    await pause(clock, 100)
  }
}

function fileName(migration: Pick<Migration, 'version' | 'name'>): string {
  return `${String(migration.version).padStart(4, '0')}_${migration.name}.sql`
}
