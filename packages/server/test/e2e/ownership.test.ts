import { join } from 'node:path'
import type { Job } from '@carillon/contract'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { joinEmbeddedPostgres } from '../../src/db/embedded/index.js'
import { Carillon, temporaryFolder, until } from './support/carillon.js'
import { Sink } from './support/sink.js'

const leaseTtlMs = 10_000
const jobCount = 30

interface NodeRow {
  incarnation: string
  pid: number
  state: string
  partitions: number
}

describe('partitions of real processes', () => {
  const folder = temporaryFolder()
  let postgres: Awaited<ReturnType<typeof joinEmbeddedPostgres>>
  let database: pg.Pool
  let sink: Sink
  const started: Carillon[] = []

  beforeAll(async () => {
    postgres = await joinEmbeddedPostgres({ dataDir: join(folder.path, 'data') })
    database = new pg.Pool({ connectionString: postgres.url, max: 3 })
    database.on('error', () => undefined)
    sink = await Sink.listen()
  })

  afterEach(async () => {
    for (const carillon of started.splice(0)) {
      carillon.child.kill('SIGCONT')
      await carillon.terminate()
    }
    await database.query('DELETE FROM carillon.timers')
    sink.deliveries.length = 0
  })

  afterAll(async () => {
    await sink?.close()
    await database?.end()
    await postgres?.leave()
    folder.remove()
  })

  async function up(...roles: string[]): Promise<Carillon> {
    const carillon = await Carillon.up({
      args: roles.flatMap((role) => ['--role', role]),
      env: {
        DATABASE_URL: postgres.url,
        CARILLON_MIN_INTERVAL_SECONDS: '1',
        // A process that slept for longer than this does not read the answers that wait for it.
        CARILLON_STATEMENT_TIMEOUT_MS: '120000',
      },
    })
    started.push(carillon)
    return carillon
  }

  /** One that does everything, and one that only schedules: what that one holds, somebody else runs. */
  async function pair(): Promise<{ all: Carillon; scheduler: Carillon; jobs: Job[] }> {
    const [all, scheduler] = await Promise.all([up(), up('scheduler')])
    const jobs = await Promise.all(
      Array.from({ length: jobCount }, (_, at) =>
        all.client.jobs.create({
          name: `every-second-${at}-${scheduler.pid}`,
          schedule: '* * * * * *',
          // However busy the machine is, and however late a tick for it: each has to arrive, once.
          overlap_policy: 'ALLOW',
          missed_window: 'RUN_ALL',
          max_missed: 100,
          target: { type: 'http', url: `${sink.url}/` },
        }),
      ),
    )
    await until('both own their share', async () => {
      const shares = await Promise.all([all, scheduler].map(partitionsOf))
      return shares.every((share) => share > 100) && shares.reduce((sum, share) => sum + share) === 256
    })
    return { all, scheduler, jobs }
  }

  async function nodeOf(carillon: Carillon): Promise<NodeRow | undefined> {
    const { rows } = await database.query<NodeRow>(
      `SELECT i.incarnation, i.pid, i.state, count(p.partition)::int AS partitions
       FROM carillon.incarnations i LEFT JOIN carillon.partitions p ON p.owner = i.incarnation
       WHERE i.pid = $1 GROUP BY i.incarnation ORDER BY i.started_at DESC LIMIT 1`,
      [carillon.pid],
    )
    return rows[0]
  }

  async function partitionsOf(carillon: Carillon): Promise<number> {
    return (await nodeOf(carillon))?.partitions ?? 0
  }

  /** How long it took until the node owned everything, for people who read the output. */
  async function takeover(what: string, by: Carillon): Promise<number> {
    const begun = performance.now()
    await until('the other one owns everything', async () => (await partitionsOf(by)) === 256)
    const tookMs = performance.now() - begun
    console.log(`${what}: all partitions taken over after ${Math.round(tookMs)} ms`)
    return tookMs
  }

  /** Waits for every tick of the next seconds. Nothing that arrived so far may have arrived twice. */
  async function expectTicks(jobs: Job[], seconds: number): Promise<void> {
    const from = Math.ceil(Date.now() / 1000) * 1000 + 1_000
    const ticks = Array.from({ length: seconds }, (_, at) => new Date(from + at * 1000).toISOString())
    const expected = jobs.flatMap((job) => ticks.map((tick) => `${job.job_id}@${tick}`))
    await until('every tick of the span has arrived', () => {
      const counts = sink.counts()
      return expected.every((key) => counts.has(key))
    })
    expect(doubled()).toEqual([])
  }

  function doubled(): string[] {
    return [...sink.counts()].flatMap(([key, count]) => (count > 1 ? [key] : []))
  }

  test('SIGTERM hands them over at once: long before any lease ends', async () => {
    const { all, scheduler, jobs } = await pair()
    const exit = scheduler.terminate()
    expect(await takeover('SIGTERM', all)).toBeLessThan(leaseTtlMs * 0.8)
    expect(await exit).toBe(0)
    expect(await nodeOf(scheduler)).toMatchObject({ state: 'left', partitions: 0 })
    await expectTicks(jobs, 3)
  })

  test('kill -9 is noticed by the lost connection: long before any lease ends', async () => {
    const { all, scheduler, jobs } = await pair()
    await until('the server is old enough for a lost lock to count', async () => {
      const { rows } = await database.query<{ old: boolean }>(
        'SELECT now() - pg_postmaster_start_time() > make_interval(secs => $1) AS old',
        [leaseTtlMs / 1000 + 1],
      )
      return rows[0]?.old ?? false
    })
    await scheduler.killHard()
    expect(await takeover('kill -9', all)).toBeLessThan(leaseTtlMs * 0.8)
    await until('it is declared dead', async () => (await nodeOf(scheduler))?.state === 'dead')
    await expectTicks(jobs, 3)
  })

  test('SIGSTOP leaves them until their leases end; the fire of the one that wakes is refused by epoch', async () => {
    const { all, scheduler, jobs } = await pair()
    await takeInTheMiddleOfAFire(scheduler, await nodeOf(all))
    await takeover('SIGSTOP, taken in the middle of a fire', all)
    await until(
      'the one that sleeps is no longer counted on',
      async () => (await silentMs(scheduler)) > leaseTtlMs,
    )
    await expectTicks(jobs, 3)
    scheduler.child.kill('SIGCONT')
    await until('its fire was refused, and counted', async () => (await refused(scheduler)) > 0)
    await until('it has its share again', async () => (await partitionsOf(scheduler)) > 100)
    await expectTicks(jobs, 3)
  })

  test('SIGSTOP beyond the lease time: the others take over by time, and nothing is fired twice when it wakes', async () => {
    const { all, scheduler, jobs } = await pair()
    scheduler.child.kill('SIGSTOP')
    expect(await takeover('SIGSTOP', all)).toBeGreaterThan(leaseTtlMs * 0.5)
    await expectTicks(jobs, 3)
    scheduler.child.kill('SIGCONT')
    await until('it has its share again', async () => (await partitionsOf(scheduler)) > 100)
    await expectTicks(jobs, 3)
  })

  /** Stops a process while a fire of it waits, and gives its partitions to another, as the taking of that one does. */
  async function takeInTheMiddleOfAFire(from: Carillon, to: NodeRow | undefined): Promise<void> {
    const session = await database.connect()
    try {
      await session.query('BEGIN')
      const { incarnation } = (await nodeOf(from)) as NodeRow
      await session.query('SELECT FROM carillon.partitions WHERE owner = $1 FOR UPDATE', [incarnation])
      await until('a fire of it is under way, and waits', async () => {
        // The server shows the first thousand characters of a statement.
        const { rows } = await database.query(
          `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%tick AS MATERIALIZED%'`,
        )
        return rows.length > 0
      })
      from.child.kill('SIGSTOP')
      await session.query('UPDATE carillon.partitions SET epoch = epoch + 1, owner = $2 WHERE owner = $1', [
        incarnation,
        to?.incarnation,
      ])
      await session.query('COMMIT')
    } finally {
      session.release(true)
    }
  }

  async function silentMs(carillon: Carillon): Promise<number> {
    const { rows } = await database.query<{ silent: number }>(
      `SELECT (carillon.now_ms() - max(beat_at))::float8 AS silent FROM carillon.incarnations WHERE pid = $1`,
      [carillon.pid],
    )
    return rows[0]?.silent ?? 0
  }

  async function refused(carillon: Carillon): Promise<number> {
    const text = await (await fetch(`${carillon.url}/metrics`)).text()
    return Number(/^carillon_fires_refused_by_epoch_total (\d+)/m.exec(text)?.[1] ?? 0)
  }
})
