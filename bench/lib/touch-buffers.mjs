// Postgres' own memory. It is asked for at the start and touched page by page as it is used, so where new pages are dear (lib/memory.mjs) whoever
// comes first pays for the whole of shared_buffers: ours. A server in service has long touched it.
import pg from 'pg'

const database = 'bench_touched'
const pageBytes = 8_192

/** Fills shared_buffers once (or so many pages of it), with a table that is gone afterwards. Answers how many pages it had. */
export async function touchBuffers({ url, admin }, most = Infinity) {
  const own = new URL(url)
  own.pathname = `/${database}`
  await admin.query(['CREATE DATABASE', pg.escapeIdentifier(database)].join(' '))
  const client = new pg.Client({ connectionString: own.href })
  try {
    await client.connect()
    // A row fills a page, and none of it goes to the log.
    await client.query('CREATE UNLOGGED TABLE filling (text text STORAGE PLAIN)')
    const held = await client.query(
      "SELECT setting::int AS pages FROM pg_settings WHERE name = 'shared_buffers'",
    )
    const pages = Math.min(held.rows[0].pages, most)
    await client.query("INSERT INTO filling SELECT repeat('x', 8000) FROM generate_series(1, $1)", [pages])
    const { rows } = await client.query("SELECT pg_relation_size('filling')::float8 AS bytes")
    return rows[0].bytes / pageBytes
  } finally {
    await client.end()
    await admin.query(['DROP DATABASE', pg.escapeIdentifier(database), 'WITH (FORCE)'].join(' '))
    await admin.query('CHECKPOINT')
  }
}
