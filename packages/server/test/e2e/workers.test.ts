import { join } from 'node:path'
import type { Job } from '@carillon/contract'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { joinEmbeddedPostgres } from '../../src/db/embedded/index.js'
import { uuidOf } from '../../src/platform/ids.js'
import { Carillon, temporaryFolder, until } from './support/carillon.js'
import { type Delivery, Sink } from './support/sink.js'

/** Short, so that a lapse is seen in a test's time. The default is 30 s. */
const runLeaseSeconds = '3'

describe('workers', () => {
  const folder = temporaryFolder()
  const started: Carillon[] = []
  let postgres: Awaited<ReturnType<typeof joinEmbeddedPostgres>>
  let database: pg.Client
  let sink: Sink

  beforeAll(async () => {
    postgres = await joinEmbeddedPostgres({ dataDir: join(folder.path, 'data') })
    database = new pg.Client({ connectionString: postgres.url })
    await database.connect()
  })

  beforeEach(async () => {
    sink = await Sink.listen()
  })

  afterEach(async () => {
    for (const carillon of started.splice(0)) {
      carillon.child.kill('SIGCONT')
      await carillon.killHard()
    }
    await sink.close()
  })

  afterAll(async () => {
    await database.end()
    await postgres.leave()
    folder.remove()
  })

  async function up(roles: string[], env: Record<string, string> = {}): Promise<Carillon> {
    const carillon = await Carillon.up({
      args: roles.flatMap((role) => ['--role', role]),
      env: {
        DATABASE_URL: postgres.url,
        CARILLON_RUN_LEASE_SECONDS: runLeaseSeconds,
        CARILLON_LEASE_TTL_SECONDS: '3',
        CARILLON_ALLOWED_NETWORKS: '127.0.0.0/8',
        ...env,
      },
    })
    started.push(carillon)
    return carillon
  }

  /** A job that runs only when it is triggered. */
  function webhook(carillon: Carillon, name: string, more: object = {}): Promise<Job> {
    return carillon.client.jobs.create({
      name: `${name}-${carillon.pid}`,
      schedule: '2099-01-01T00:00:00Z',
      overlap_policy: 'ALLOW',
      retry: { max_attempts: 5, backoff: 'fixed', base_ms: 100 },
      target: { type: 'http', url: `${sink.url}/` },
      ...more,
    })
  }

  interface Attempt {
    outcome: string
    final: boolean
    attempt: number
    token: string
  }

  async function attemptsOf(job: Job): Promise<Attempt[]> {
    const { rows } = await database.query<Attempt>(
      `SELECT l.outcome, l.final, l.attempt, l.token
       FROM carillon.ledger l JOIN carillon.jobs j USING (job)
       WHERE j.id = $1 ORDER BY l.token`,
      [uuidOf(job.job_id)],
    )
    return rows
  }

  /** Answers of a receiver that are given when the test says so. */
  function held(): { arrived: () => Delivery[]; answer: () => void } {
    const arrived: Delivery[] = []
    let release = () => undefined as void
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    sink.answer = async (delivery) => {
      arrived.push(delivery)
      await released
      return 200
    }
    return { arrived: () => arrived, answer: () => release() }
  }

  test('one process has more than a thousand webhooks in flight at once, each delivered once', async () => {
    const count = 1_200
    const carillon = await up([], { CARILLON_WORKER_CONCURRENCY: String(count) })
    const job = await webhook(carillon, 'many', { timeout_seconds: 300 })
    const { arrived, answer } = held()
    for (let asked = 0; asked < count; asked += 40)
      await Promise.all(Array.from({ length: 40 }, () => carillon.client.jobs.trigger(job.job_id)))
    await until('all of them are with the receiver', () => arrived().length >= count)
    expect(await attemptsOf(job)).toEqual([])
    answer()
    const attempts = await until('all of them are recorded', async () => {
      const rows = await attemptsOf(job)
      return rows.length >= count && rows
    })
    expect(attempts).toHaveLength(count)
    expect(attempts.every(({ outcome, final }) => outcome === 'success' && final)).toBe(true)
    expect(new Set(arrived().map(({ headers }) => headers['idempotency-key'])).size).toBe(count)
    expect(arrived()).toHaveLength(count)
  })

  test('what a worker says that was stopped beyond its lease is kept as stale and changes nothing', async () => {
    const [desk, stopped] = await Promise.all([up(['api', 'scheduler']), up(['worker'])])
    const job = await webhook(desk, 'stopped')
    const { arrived, answer } = held()
    await desk.client.jobs.trigger(job.job_id)
    await until('the run is under way', () => arrived().length === 1)
    stopped.child.kill('SIGSTOP')
    await up(['worker'])
    await until('another worker runs it', () => arrived().length === 2)
    answer()
    await until('the other one’s result is recorded', async () =>
      (await attemptsOf(job)).some(({ outcome }) => outcome === 'success'),
    )
    stopped.child.kill('SIGCONT')
    const attempts = await until('so is the one of the worker that woke', async () => {
      const rows = await attemptsOf(job)
      return rows.some(({ outcome }) => outcome === 'stale') && rows
    })
    const [first, second] = arrived()
    expect(second?.headers['idempotency-key']).toBe(first?.headers['idempotency-key'])
    expect(second?.body.fencing_token).toBeGreaterThan(first?.body.fencing_token ?? 0)
    expect(attempts.filter(({ final }) => final)).toMatchObject([{ outcome: 'success', attempt: 2 }])
    expect(attempts.filter(({ outcome }) => outcome === 'stale')).toMatchObject([
      { final: false, token: String(first?.body.fencing_token) },
    ])
    expect(arrived()).toHaveLength(2)
  })

  test('a worker whose connections all break connects again and keeps its runs', async () => {
    const desk = await up(['api', 'scheduler'])
    const job = await webhook(desk, 'cut')
    const { arrived, answer } = held()
    const before = await sessions()
    const worker = await up(['worker'])
    await up(['worker'], { CARILLON_WORKER_CONCURRENCY: '1' })
    await desk.client.jobs.trigger(job.job_id)
    await until('the run is under way', () => arrived().length === 1)
    await serverIsOld()
    const own = (await sessions()).filter((pid) => !before.includes(pid))
    await database.query('SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) AS pid', [own])
    const beaten = await beatsOf(worker)
    await until('it gives life signs again', async () => (await beatsOf(worker)) > beaten + 8)
    answer()
    const attempts = await until('the run is recorded', async () => {
      const rows = await attemptsOf(job)
      return rows.length > 0 && rows
    })
    expect(attempts).toMatchObject([{ outcome: 'success', final: true, attempt: 1 }])
    expect(arrived()).toHaveLength(1)
  })

  async function sessions(): Promise<number[]> {
    const { rows } = await database.query<{ pid: number }>(
      `SELECT pid FROM pg_stat_activity
       WHERE datname = current_database() AND application_name LIKE 'carillon%' AND pid <> pg_backend_pid()`,
    )
    return rows.map(({ pid }) => pid)
  }

  /** From then on a lost session lock says that a process is gone. */
  async function serverIsOld(): Promise<void> {
    await until('the server is old enough for a lost lock to count', async () => {
      const { rows } = await database.query<{ old: boolean }>(
        "SELECT now() - pg_postmaster_start_time() > interval '4 s' AS old",
      )
      return rows[0]?.old ?? false
    })
  }

  /** Zero when the process is not known under the id it had first. */
  async function beatsOf(carillon: Carillon): Promise<number> {
    const { rows } = await database.query<{ beat: string }>(
      "SELECT beat FROM carillon.incarnations WHERE pid = $1 AND state = 'alive' ORDER BY started_at LIMIT 1",
      [carillon.pid],
    )
    return Number(rows[0]?.beat ?? 0)
  }
})
