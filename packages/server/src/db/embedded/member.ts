import { readFile } from 'node:fs/promises'
import pg from 'pg'
import { SUPERUSER } from './cluster.js'
import { codeOf, EmbeddedPostgresError, messageOf } from './failure.js'
import type { Layout } from './layout.js'

/*
 * A member session is one connection that a process keeps open for as long as it uses the embedded Postgres.
 * Whether others still use it is read from pg_stat_activity: a process that dies takes its session with it, so the
 * count needs no cleaning up.
 */

export const DATABASE = 'carillon'
const MEMBER = 'carillon-member'
const LEAVING = 'carillon-leaving'
const CONNECT_TIMEOUT_MS = 5_000
const QUERY_TIMEOUT_MS = 30_000
/** Any number, the same in every release: members of two releases may meet. */
const LEAVE_LOCK = 7_266_511
const UNKNOWN_DATABASE = '3D000'

export async function connectionUrl(layout: Layout, port: number): Promise<string> {
  return urlOf(await readPassword(layout), port, DATABASE)
}

/** Opens a member session. Makes the database first, if the first start was cut off before it could. */
export async function openMember(layout: Layout, port: number): Promise<pg.Client> {
  const password = await readPassword(layout)
  try {
    return await connect(password, port, DATABASE)
  } catch (error) {
    if (codeOf(error) !== UNKNOWN_DATABASE) throw error
  }
  await makeDatabase(layout, port)
  return connect(password, port, DATABASE)
}

/** The caller holds the start lock, so nobody else makes it at the same time. */
export async function makeDatabase(layout: Layout, port: number): Promise<void> {
  const maintenance = await connect(await readPassword(layout), port, 'postgres')
  try {
    const { rowCount } = await maintenance.query('select from pg_database where datname = $1', [DATABASE])
    if (rowCount === 0) await maintenance.query('create database carillon')
  } finally {
    await maintenance.end()
  }
}

export async function serverVersionOf(member: pg.Client): Promise<string> {
  const { rows } = await member.query<{ server_version: string }>('show server_version')
  return rows[0]?.server_version ?? ''
}

/**
 * Resigns and counts who stays. The new name is visible to the next leaver at once, while the end of a session
 * takes Postgres a moment: without it two who leave in turn could each take the other for one who stays.
 * The advisory lock, held until the session ends, keeps two leavers apart where the start lock could not be had.
 */
export async function resign(member: pg.Client): Promise<{ others: number }> {
  await member.query('select pg_advisory_lock($1)', [LEAVE_LOCK])
  await member.query("select set_config('application_name', $1, false)", [LEAVING])
  const { rows } = await member.query<{ others: number }>(
    `select count(*)::int as others from pg_stat_activity
      where application_name = $1 and datname = current_database() and pid <> pg_backend_pid()`,
    [MEMBER],
  )
  return { others: rows[0]?.others ?? 0 }
}

async function connect(password: string, port: number, database: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: urlOf(password, port, database),
    application_name: MEMBER,
    keepAlive: true,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
  })
  // Without a listener a broken session would end the process; whoever uses it sees 'end'.
  client.on('error', () => undefined)
  await client.connect()
  return client
}

function urlOf(password: string, port: number, database: string): string {
  return `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/${database}?sslmode=disable`
}

async function readPassword(layout: Layout): Promise<string> {
  try {
    return (await readFile(layout.passwordFile, 'utf8')).trim()
  } catch (error) {
    throw new EmbeddedPostgresError(
      `Cannot read the password of the embedded Postgres from ${layout.passwordFile} (${messageOf(error)}). It is made ` +
        'with the data folder and belongs to it: restore it from the same backup as the data.',
      { cause: error },
    )
  }
}
