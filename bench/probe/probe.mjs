// The plain SQL probe: what this Postgres can do at most with our tables, run over two connections from one Node process.
// No epochs, no overlap places, no tokens, no index for history, no job that is read: the ceiling, not a scheduler.
import { readFileSync } from 'node:fs'
import pg from 'pg'
import { now, round } from '../lib/figures.mjs'

const sql = (name) => readFileSync(new URL(`./${name}.sql`, import.meta.url), 'utf8')
const statements = {
  tables: sql('tables'),
  fire: sql('fire'),
  close: sql('close'),
  register: sql('register'),
}
const connections = 2
const perBatch = 1_000
const database = 'bench_probe'
const periodMs = 60_000

export class Probe {
  #house
  #clients = []
  #ended

  static async open(house) {
    const probe = new Probe()
    probe.#house = house
    const { pid } = await house.postgres()
    probe.groups = { postgres: [pid] }
    const url = await house.freshDatabase(database)
    probe.#ended = house.atEnd(() => probe.#end())
    for (let at = 0; at <= connections; at++) {
      const client = new pg.Client({ connectionString: url })
      client.on('error', () => undefined)
      await client.connect()
      probe.#clients.push(client)
    }
    await probe.#admin(statements.tables)
    return probe
  }

  #admin(text, values) {
    return this.#clients[connections].query(text, values)
  }

  #run(client, name, values) {
    return client.query({ name, text: statements[name], values })
  }

  /** Timers that are due over one period, each once in it. */
  async load(jobs) {
    await this.#admin(
      `INSERT INTO timers SELECT n, n % 256, (n::bigint * 7919) % $2::bigint FROM generate_series(1, $1::int) n`,
      [jobs, periodMs],
    )
    await this.#admin('CREATE INDEX timers_due ON timers (partition, due)')
    // No checkpoint: the first write to each page after one logs the whole page, which is a cost of the disk, not of the work.
    await this.#admin('VACUUM ANALYZE timers')
    this.jobs = jobs
    this.order = Int32Array.from({ length: jobs }, (_, at) => at + 1)
    const dueOf = (job) => (job * 7919) % periodMs
    this.order.sort((a, b) => dueOf(a) - dueOf(b) || a - b)
    this.next = Float64Array.from({ length: jobs + 1 }, (_, job) => dueOf(job))
    this.cursor = 0
  }

  #batch(most) {
    const [jobs, dues] = [[], []]
    for (let count = Math.min(perBatch, most, this.jobs); count > 0; count--) {
      const job = this.order[this.cursor]
      this.cursor = (this.cursor + 1) % this.jobs
      jobs.push(job)
      dues.push(this.next[job])
      this.next[job] += periodMs
    }
    return [`{${jobs.join()}}`, `{${dues.join()}}`, jobs.length]
  }

  /** Fires, hands over and closes in due order, until the time is up or so many are done. What is done in the time to warm up does not count. */
  async cycle({ seconds = Infinity, runs = Infinity, warmUpSeconds = 0 }) {
    const begun = now() + warmUpSeconds * 1_000
    const until = begun + seconds * 1_000
    let [given, done] = [0, 0]
    const line = async (client, worker) => {
      while (now() < until && given < runs) {
        const [jobs, dues, count] = this.#batch(runs - given)
        given += count
        const at = Math.round(now())
        await this.#run(client, 'fire', [jobs, dues, periodMs, worker, at])
        const { rowCount } = await this.#run(client, 'close', [jobs, dues, worker, at])
        if (now() >= begun) done += rowCount
      }
    }
    await Promise.all(this.#clients.slice(0, connections).map(line))
    const ms = now() - begun
    const { rows } = await this.#admin(
      'SELECT count(*)::int AS count, count(DISTINCT (due, job))::int AS ticks FROM ledger',
    )
    return {
      runs_per_s: Math.round((done / ms) * 1_000),
      drain_s: round(ms / 1_000, 2),
      lost: given - rows[0].ticks,
      doubled: rows[0].count - rows[0].ticks,
    }
  }

  /**
   * Starts at given instants by one timer a tick and closes in batches, as a worker would that holds them leased: how late
   * Node itself is on this machine under the database's load.
   */
  async paced(dues) {
    const lags = new Float64Array(dues.length)
    let [at, closed] = [0, 0]
    let waiting = []
    const begun = now()
    const flush = async (client, worker) => {
      while (closed < dues.length) {
        const ticks = waiting.splice(0, perBatch)
        if (ticks.length === 0) await new Promise((resolve) => setTimeout(resolve, 3))
        else {
          const [jobs, own] = [
            `{${ticks.map(({ job }) => job).join()}}`,
            `{${ticks.map(({ due }) => due).join()}}`,
          ]
          await this.#run(client, 'close', [jobs, own, worker, Math.round(now())])
          closed += ticks.length
        }
      }
    }
    await this.#stage(dues)
    const starting = new Promise((resolve) => {
      const tick = () => {
        while (at < dues.length && dues[at] <= now()) {
          lags[at] = now() - dues[at]
          waiting.push({ job: at, due: dues[at] })
          at += 1
        }
        if (at === dues.length) resolve()
        else setTimeout(tick, Math.min(1_000, Math.max(1, Math.floor(dues[at] - now()))))
      }
      tick()
    })
    await Promise.all([starting, ...this.#clients.slice(0, 1).map((client) => flush(client, 0))])
    return { lags, ms: now() - begun }
  }

  async #stage(dues) {
    for (let from = 0; from < dues.length; from += 10_000) {
      const part = Array.from(dues.slice(from, from + 10_000))
      await this.#admin(
        `INSERT INTO queue (due, job, worker, leased_at)
         SELECT due, $2::bigint + place - 1, 0, 0 FROM unnest($1::bigint[]) WITH ORDINALITY AS tick (due, place)`,
        [part, from],
      )
    }
  }

  /** Callers await one job each; what waits is folded into one statement per connection. */
  async register({ seconds, inFlight }) {
    await this.#admin(
      'CREATE TABLE jobs (job bigint PRIMARY KEY, name text NOT NULL, definition jsonb NOT NULL)',
    )
    await this.#admin('CREATE INDEX timers_due ON timers (partition, due)')
    const idle = this.#clients.slice(0, connections)
    const definition = JSON.stringify({ url: 'https://example.com/hook', body: 'x'.repeat(230) })
    let [waiting, made] = [[], 0]
    const until = now() + seconds * 1_000
    const fold = () => {
      while (waiting.length > 0 && idle.length > 0) {
        const [client, calls] = [idle.pop(), waiting.splice(0, perBatch)]
        const columns = [
          calls.map(({ job }) => job),
          calls.map(({ job }) => `job-${job}`),
          calls.map(() => definition),
          calls.map(({ job }) => job % 256),
          calls.map(({ job }) => job),
        ]
        this.#run(client, 'register', columns).then(
          () => {
            idle.push(client)
            for (const { resolve } of calls) resolve()
            queueMicrotask(fold)
          },
          (error) => calls.forEach(({ reject }) => reject(error)),
        )
      }
    }
    const begun = now()
    const line = async () => {
      while (now() < until)
        await new Promise((resolve, reject) => {
          waiting.push({ job: ++made, resolve, reject })
          if (waiting.length === 1) setImmediate(fold)
        })
    }
    await Promise.all(Array.from({ length: inFlight }, line))
    const ms = now() - begun
    const { rows } = await this.#admin('SELECT count(*)::int AS count FROM timers')
    return { per_s: Math.round((made / ms) * 1_000), lost: made - rows[0].count }
  }

  close() {
    return this.#ended()
  }

  async #end() {
    for (const client of this.#clients) await client.end().catch(() => undefined)
    await this.#house.dropDatabase(database)
  }
}
