import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { joinEmbeddedPostgres } from '../../src/db/embedded/index.js'
import { migrate } from '../../src/db/migrate.js'
import { systemClock } from '../../src/platform/clock.js'

declare module 'vitest' {
  interface ProvidedContext {
    postgresUrl: string
    templateDatabase: string
  }
}

/**
 * One real Postgres for all test files: the one of DATABASE_URL, or an embedded one. The schema is migrated once, into
 * a template that every file clones.
 */
export default async function globalPostgres(project: TestProject): Promise<() => Promise<void>> {
  const server = await openServer()
  const template = `carillon_template_${randomBytes(4).toString('hex')}`
  await administer(server.url, `CREATE DATABASE ${template}`)
  const client = new pg.Client({ connectionString: databaseUrl(server.url, template) })
  await client.connect()
  await migrate(client, systemClock)
  await client.end()
  project.provide('postgresUrl', server.url)
  project.provide('templateDatabase', template)
  return async () => {
    await administer(server.url, `DROP DATABASE IF EXISTS ${template} WITH (FORCE)`)
    await server.close()
  }
}

async function openServer(): Promise<{ url: string; close(): Promise<void> }> {
  const url = process.env.DATABASE_URL
  if (url !== undefined) return { url, close: () => Promise.resolve() }
  const dataDir = mkdtempSync(join(tmpdir(), 'carillon-test-postgres-'))
  const embedded = await joinEmbeddedPostgres({ dataDir })
  return {
    url: embedded.url,
    async close() {
      await embedded.leave()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

/** Statements about databases as a whole. Their names are made by the kit: nothing from outside is in them. */
export async function administer(url: string, ...statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    for (const text of statements) await client.query(text)
  } finally {
    await client.end()
  }
}

export function databaseUrl(serverUrl: string, database: string): string {
  const url = new URL(serverUrl)
  url.pathname = `/${database}`
  return url.href
}
