// An application with tables of its own in the same database: it asks for tasks inside its transactions. An order and the request
// that belongs to it commit together or not at all, whatever becomes of the connection.
import { setTimeout as wait } from 'node:timers/promises'
import { now } from './clock.mjs'

/** What the application and the handlers write to. @param {import('pg').Client} client */
export async function makeTables(client) {
  await client.query(`CREATE SCHEMA chaos;
    CREATE TABLE chaos.orders (id int PRIMARY KEY, job_id text NOT NULL);
    CREATE TABLE chaos.bookings (run text NOT NULL, job text NOT NULL, token bigint NOT NULL)`)
}

export class Orders {
  #client = null
  #number = 0

  /** @param {{ postgres: import('./postgres.mjs').Postgres, journal: import('./journal.mjs').Journal, random: import('./random.mjs').Random }} options */
  constructor(options) {
    Object.assign(this, options)
  }

  /** @param {() => boolean} isOver @param {number} perSecond */
  async meddle(isOver, perSecond) {
    while (!isOver()) {
      await this.once(this.random.fork())
      await wait(this.random.between(0, 2_000 / perSecond))
    }
    await this.#drop()
  }

  async once(random) {
    const order = (this.#number += 1)
    const commits = random.chance(0.75)
    const entry = { call: 'order', name: `order-${order}`, order, invoked: now() }
    let status = 'failed'
    try {
      this.#client ??= await this.postgres.connect()
      const ask = (text, values) => this.#client.query({ text, values, query_timeout: 6_000 })
      await ask('BEGIN')
      const payload = JSON.stringify({ order })
      const { rows } = await ask(
        "SELECT carillon.enqueue_task('quick', $1::jsonb, delay => $2::interval) AS id",
        [payload, `${random.between(0, 1_500)} milliseconds`],
      )
      entry.jobId = rows[0].id
      await ask('INSERT INTO chaos.orders VALUES ($1, $2)', [order, entry.jobId])
      if (random.chance(0.3)) await wait(random.between(0, 1_500))
      // From here on the answer may be lost after the commit.
      if (commits) status = 'unknown'
      await ask(commits ? 'COMMIT' : 'ROLLBACK')
      if (commits) status = 'ok'
    } catch {
      await this.#drop()
    }
    this.journal.append({ ...entry, status, answered: now() })
    await this.journal.sync()
  }

  async #drop() {
    const broken = this.#client
    this.#client = null
    await broken?.end().catch(() => undefined)
  }
}
