// One real Postgres for the soak: the one of DATABASE_URL, in a database of its own, or an embedded one.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { joinEmbeddedPostgres } from '../../packages/server/dist/db/embedded/index.js'
import { migrate } from '../../packages/server/dist/db/migrate.js'
import { systemClock } from '../../packages/server/dist/platform/clock.js'

/** Answers a migrated, empty database and how to make it go away. */
export async function openPostgres() {
  const server = await openServer()
  const name = `carillon_soak_${process.pid}_${Date.now().toString(36)}`
  await administer(server.url, `CREATE DATABASE ${name}`)
  const url = new URL(server.url)
  url.pathname = `/${name}`
  await withClient(url.href, (client) => migrate(client, systemClock))
  return {
    url: url.href,
    async close() {
      await administer(server.url, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
      await server.close()
    },
  }
}

async function openServer() {
  const given = process.env.DATABASE_URL
  if (given !== undefined) return { url: given, close: () => Promise.resolve() }
  const dataDir = mkdtempSync(join(tmpdir(), 'carillon-soak-postgres-'))
  const embedded = await joinEmbeddedPostgres({ dataDir })
  return {
    url: embedded.url,
    async close() {
      await embedded.leave()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

/** @template Result @param {string} url @param {(client: pg.Client) => Promise<Result>} work */
export async function withClient(url, work) {
  const client = new pg.Client({ connectionString: url, application_name: 'carillon soak', types: numbers })
  client.on('error', () => undefined)
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

const int8 = 20
/** All our bigints are milliseconds, keys and counters: exact as numbers. */
const numbers = {
  getTypeParser: (oid, format) => (oid === int8 ? Number : pg.types.getTypeParser(oid, format)),
}

/** A statement about a database as a whole, or about its functions. All that is in it is made here. */
function administer(url, text) {
  return withClient(url, (client) => client.query(text))
}

/**
 * Puts the database's clock elsewhere in time, for every process alike: Carillon reads it through this one function. A
 * soak of ten minutes can so cross a clock change.
 * @param {string} url @param {number} offsetMs
 */
export async function shiftClock(url, offsetMs) {
  const body = `SELECT floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint + ${Math.round(offsetMs)}`
  const kind = 'RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE'
  await administer(url, `CREATE OR REPLACE FUNCTION carillon.now_ms() ${kind} AS '${body}'`)
}
