// Ours, as people run it: `carillon up` processes of the built product, jobs over the HTTP API, runs as tasks.
import { mkdirSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { startCarillon } from '../carillon.mjs'
import { nodeArgs } from '../lib/node-args.mjs'
import { now, round } from '../lib/figures.mjs'
import { requestOf, converse } from '../lib/raw-http.mjs'

export const name = 'carillon'
const tasks = fileURLToPath(new URL('./recording-tasks.mjs', import.meta.url))
const perBulk = 5_000

/** What each process does: here one does everything. */
export const oneProcess = [['api', 'scheduler', 'worker']]
/** One process hands its runs to its own worker without a detour; further workers lease theirs. */
const usual = ({ workers }) => [...oneProcess, ...Array.from({ length: workers }, () => ['worker'])]

export class Carillon {
  #house
  #started = []
  #client
  #dropped

  constructor(house) {
    this.#house = house
  }

  /** `processes`: the roles of each. `settings`: environment variables, for all of them. */
  static async open(house, { processes = usual(house), settings = {}, database = 'bench_carillon' } = {}) {
    const carillon = new Carillon(house)
    await carillon.#open(processes, settings, database)
    return carillon
  }

  async #open(processes, settings, database) {
    const { pid } = await this.#house.postgres()
    this.postgresPid = pid
    this.database = database
    this.databaseUrl = await this.#house.freshDatabase(database)
    this.sockets = mkdtempSync(join(this.#house.folder, 'notes-'))
    this.#dropped = this.#house.atEnd(() => this.#end())
    this.settings = settings
    for (const roles of processes) await this.startProcess(roles)
    this.#client = new pg.Client({ connectionString: this.databaseUrl })
    this.#client.on('error', () => undefined)
    await this.#client.connect()
    if (this.#house.profile !== undefined) await this.sql('CREATE EXTENSION IF NOT EXISTS pg_stat_statements')
  }

  async startProcess(roles, more = {}) {
    const args = roles.flatMap((role) => ['--role', role])
    if (roles.includes('worker')) args.push('--tasks', tasks)
    const env = {
      DATABASE_URL: this.databaseUrl,
      BENCH_RECORDER: this.sockets,
      CARILLON_MAX_JOBS: '100000000',
      CARILLON_MIN_INTERVAL_SECONDS: '1',
      ...this.settings,
      ...more,
    }
    const carillon = await startCarillon(args, env, [...nodeArgs, ...profiling(this.#house.profile)])
    this.#started.push(carillon)
    return carillon
  }

  /** Another process in the place of one that is gone, or goes. */
  async replaceProcess(pid, roles) {
    const gone = this.#started.findIndex((carillon) => carillon.pid === pid)
    if (gone >= 0) await this.#started.splice(gone, 1)[0].exited
    return this.startProcess(roles)
  }

  get url() {
    return this.#started[0].url
  }

  get pids() {
    return this.#started.map(({ pid }) => pid)
  }

  /** For counting CPU time. */
  get groups() {
    return { carillon: this.pids, postgres: [this.postgresPid] }
  }

  async sql(text, values) {
    return (await this.#client.query(text, values)).rows
  }

  /** Registers jobs in bulk over HTTP, two calls at a time; answers how many milliseconds it took. */
  async register(count, jobAt) {
    const { hostname, port } = new URL(this.url)
    const begun = now()
    let from = 0
    let failure = null
    const next = () => {
      if (from >= count || failure !== null) return null
      const jobs = []
      for (const end = Math.min(count, from + perBulk); from < end; from++) jobs.push(jobAt(from))
      return requestOf('/api/v1/jobs/bulk', JSON.stringify({ jobs, atomic: true }))
    }
    const line = () => converse({ host: hostname, port: Number(port) }, next, 200)
    await Promise.all([line(), line()]).catch((error) => {
      failure = error
      throw error
    })
    return now() - begun
  }

  /** Daily jobs of a task that notes its start, each at its time of the day: what a scheduler has at a hot second. */
  schedule(dues) {
    return this.register(dues.length, (i) => ({
      name: `daily-${i}`,
      schedule: dailyAt(new Date(dues[i])),
      target: { type: 'task', task: 'note' },
      payload: { i },
    }))
  }

  /** So that the planner knows what was loaded, as it would on any day but the first. */
  async settle() {
    await this.sql('ANALYZE carillon.jobs, carillon.timers')
    await this.sql('CHECKPOINT')
  }

  /** Its worker runs from the start. */
  listen() {}

  async started() {
    const counts = await Promise.all(this.#sockets().map((path) => ask(path, '/count')))
    return counts.reduce((sum, count) => sum + Number(count), 0)
  }

  async records() {
    const parts = await Promise.all(this.#sockets().map((path) => ask(path, '/records')))
    return parts.map((bytes) => new Float64Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 8))
  }

  #sockets() {
    return readdirSync(this.sockets).map((file) => join(this.sockets, file))
  }

  /** The moment when nothing is in flight any more: every run is closed, and committed. */
  async drained(_count, limitMs = 120_000) {
    const end = now() + limitMs
    for (;;) {
      const rows = await this.sql('SELECT FROM carillon.queue LIMIT 1')
      if (rows.length === 0) return now()
      if (now() > end) throw new Error(`Runs are still in the queue after ${Math.round(limitMs / 1000)} s.`)
      await wait(10)
    }
  }

  /** What the ledger says: every tick closed once, at its first attempt. */
  async ledger() {
    const [row] = await this.sql(
      `SELECT count(*)::int AS rows, count(*) FILTER (WHERE final)::int AS final,
              count(*) FILTER (WHERE outcome = 'success')::int AS success,
              count(*) FILTER (WHERE outcome = 'skipped')::int AS skipped,
              count(DISTINCT (due, job)) FILTER (WHERE final)::int AS ticks,
              min(fired_at)::float8 AS first_fired, max(fired_at)::float8 AS last_fired,
              max(leased_at)::float8 AS last_leased
       FROM carillon.ledger WHERE origin = 0`,
    )
    return row
  }

  /**
   * Whether every tick is accounted for, of jobs that all have the same period and their first tick in the period after
   * `from`: from the first one to its cursor, each tick of a job has one final row, or is still in flight.
   */
  async accounted(from, periodMs) {
    const [row] = await this.sql(
      `WITH recorded AS (
         SELECT job, sum(ticks)::int AS ticks, count(*)::int AS rows, count(DISTINCT due)::int AS dues
         FROM carillon.ledger WHERE final AND origin = 0 GROUP BY job
       ), flying AS (
         SELECT job, count(*)::int AS ticks FROM carillon.queue WHERE origin = 0 GROUP BY job
       )
       SELECT coalesce(sum(greatest(0, named.ticks - coalesce(r.ticks, 0) - coalesce(f.ticks, 0))), 0)::int AS lost,
              coalesce(sum(greatest(0, coalesce(r.ticks, 0) + coalesce(f.ticks, 0) - named.ticks, r.rows - r.dues)),
                       0)::int AS doubled
       FROM (
         SELECT t.job, ((t.due - $1::bigint) / $2::bigint)::int AS ticks FROM carillon.timers t WHERE t.due IS NOT NULL
       ) named
       LEFT JOIN recorded r USING (job)
       LEFT JOIN flying f USING (job)`,
      [from, periodMs],
    )
    return row
  }

  /** Megabytes of each process. */
  async memory() {
    const { residentMb } = await import('../lib/cpu.mjs')
    return this.pids.map((pid) => round(residentMb(pid)))
  }

  /** Ends the processes, so that what is in the tables stands still. */
  async stop() {
    for (const carillon of this.#started.splice(0).reverse()) await carillon.end()
  }

  async close() {
    await this.#dropped?.()
  }

  async #end() {
    await this.stop()
    if (this.#house.profile !== undefined)
      await keepStatements(this, this.#house.profile).catch(() => undefined)
    await this.#client?.end().catch(() => undefined)
    await this.#house.dropDatabase(this.database)
  }
}

function dailyAt(instant) {
  if (instant.getUTCMilliseconds() !== 0) return instant.toISOString()
  return `${instant.getUTCSeconds()} ${instant.getUTCMinutes()} ${instant.getUTCHours()} * * *`
}

function profiling(folder) {
  return folder === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${folder}`]
}

/** What took the database's time, the dearest first. */
async function keepStatements(carillon, folder) {
  const rows = await carillon.sql(
    `SELECT round(total_exec_time)::float8 AS ms, calls::float8, rows::float8, round((total_exec_time / calls)::numeric, 3)::float8 AS ms_each,
            round((wal_bytes / greatest(rows, 1))::numeric)::float8 AS wal_bytes_per_row, left(regexp_replace(query, '\\s+', ' ', 'g'), 200) AS query
     FROM pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
     ORDER BY total_exec_time DESC LIMIT 40`,
  )
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, `statements-${Date.now()}.json`), `${JSON.stringify(rows, null, 1)}\n`)
}

function ask(socketPath, path) {
  return new Promise((resolve, reject) => {
    request({ socketPath, path }, (response) => {
      const chunks = []
      response.on('data', (chunk) => chunks.push(chunk))
      response.on('end', () => {
        const all = Buffer.concat(chunks)
        // A copy of its own begins at a place that numbers can be read from.
        resolve(path === '/count' ? all.toString() : Buffer.from(new Uint8Array(all)))
      })
      response.on('error', reject)
    })
      .on('error', reject)
      .end()
  })
}
