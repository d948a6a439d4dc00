// A migrated database for each scenario, in one Postgres for all of them.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { joinEmbeddedPostgres } from '../../../packages/server/dist/db/embedded/index.js'
import { migrate } from '../../../packages/server/dist/db/migrate.js'
import { systemClock } from '../../../packages/server/dist/platform/clock.js'

const template = 'carillon_of_mutants'

export class Databases {
  #made = 0

  /** An embedded Postgres of its own; what is made in it goes with it. */
  static async open() {
    const databases = new Databases()
    databases.folder = mkdtempSync(join(tmpdir(), 'carillon-mutants-postgres-'))
    databases.server = await joinEmbeddedPostgres({ dataDir: databases.folder })
    await databases.#administer(`CREATE DATABASE ${template}`)
    const client = await connect(databases.#urlOf(template))
    try {
      await migrate(client, systemClock)
    } finally {
      await client.end()
    }
    return databases
  }

  /** The address of a new one. */
  async make() {
    const name = `scenario_${++this.#made}`
    await this.#administer(`CREATE DATABASE ${name} TEMPLATE ${template}`)
    return this.#urlOf(name)
  }

  async close() {
    await this.server.leave()
    rmSync(this.folder, { recursive: true, force: true })
  }

  #urlOf(name) {
    return Object.assign(new URL(this.server.url), { pathname: `/${name}` }).href
  }

  async #administer(text) {
    const client = await connect(this.server.url)
    try {
      await client.query(text)
    } finally {
      await client.end()
    }
  }
}

/** @param {string} url */
export async function connect(url) {
  const client = new pg.Client({ connectionString: url, application_name: 'mutants', types: numbers })
  client.on('error', () => undefined)
  await client.connect()
  return client
}

const int8 = 20
/** All our bigints are milliseconds, keys and counters: exact as numbers. */
const numbers = {
  getTypeParser: (oid, format) => (oid === int8 ? Number : pg.types.getTypeParser(oid, format)),
}
