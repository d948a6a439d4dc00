import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll } from 'vitest'
import { joinEmbeddedPostgres } from '../../../src/db/embedded/index.js'

/**
 * Databases by name in one Postgres for a whole test file, in a folder below `folder`: making a Postgres of its own would take
 * longer than most tests. Call it once, at the top of what uses it.
 */
export function useDatabases(folder: string): (name: string) => Promise<string> {
  let postgres: Awaited<ReturnType<typeof joinEmbeddedPostgres>>
  const made = new Map<string, Promise<string>>()

  beforeAll(async () => {
    postgres = await joinEmbeddedPostgres({ dataDir: join(folder, 'postgres') })
  })
  afterAll(() => postgres?.leave())

  async function make(name: string): Promise<string> {
    const client = new pg.Client({ connectionString: postgres.url })
    await client.connect()
    try {
      await client.query(['CREATE DATABASE', pg.escapeIdentifier(name)].join(' '))
    } finally {
      await client.end()
    }
    return Object.assign(new URL(postgres.url), { pathname: `/${name}` }).href
  }

  return (name) => {
    const known = made.get(name) ?? make(name)
    made.set(name, known)
    return known
  }
}
