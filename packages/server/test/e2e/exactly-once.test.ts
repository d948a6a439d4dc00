import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Run } from '@carillon/contract'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { joinEmbeddedPostgres } from '../../src/db/embedded/index.js'
import { type Fate, PgProxy, type Seen } from '../kit/pg-proxy.js'
import { Carillon, temporaryFolder, until } from './support/carillon.js'

/**
 * Workers are killed at every step of ctx.transaction and ctx.once, several runs at a time, and others finish the work. What
 * was done is counted in the handler's own table, not by Carillon.
 */
const tasks = fileURLToPath(new URL('./support/exactly-once-tasks.mjs', import.meta.url))
const runsAtOnce = 4

const folder = temporaryFolder()
let postgres: Awaited<ReturnType<typeof joinEmbeddedPostgres>>
let database: pg.Pool
let scheduler: Carillon
let workers: Carillon[] = []
let proxy: PgProxy | undefined
let count = 0

beforeAll(async () => {
  postgres = await joinEmbeddedPostgres({ dataDir: join(folder.path, 'data') })
  database = new pg.Pool({ connectionString: postgres.url, max: 2 })
  scheduler = await Carillon.up({
    args: ['--role', 'api', '--role', 'scheduler'],
    env: { DATABASE_URL: postgres.url, ...quickly },
  })
  await database.query('CREATE TABLE public.effects_made (run text, attempt int, token bigint)')
  await database.query('CREATE TABLE public.totals (booked int)')
})

/** A frozen worker is given up after a second or two, so that a test need not wait for ten. */
const quickly = {
  CARILLON_LEASE_TTL_SECONDS: '2',
  CARILLON_RUN_LEASE_SECONDS: '2',
  CARILLON_HEARTBEAT_MS: '100',
}

beforeEach(async () => {
  await database.query('TRUNCATE public.effects_made, public.totals')
  await database.query('INSERT INTO public.totals VALUES (0)')
})

afterEach(async () => {
  for (const worker of workers) worker.child.kill('SIGCONT')
  await Promise.all(workers.map((worker) => worker.killHard()))
  workers = []
  await proxy?.close()
  proxy = undefined
})

afterAll(async () => {
  await scheduler?.terminate()
  await database?.end()
  await postgres?.leave()
  folder.remove()
})

/** A worker whose connections go through the proxy, where a test puts one in the way. */
async function worker(): Promise<Carillon> {
  const one = await Carillon.up({
    args: ['--role', 'worker', '--tasks', tasks],
    env: { DATABASE_URL: proxy?.url ?? postgres.url, CARILLON_TASK_POOL_SIZE: '4', ...quickly },
  })
  workers.push(one)
  return one
}

/** Jobs that run once, now. */
async function fire(task: string, payload: object, runs = runsAtOnce): Promise<string[]> {
  const schedule = new Date(Date.now() - 1000).toISOString()
  return Promise.all(
    Array.from({ length: runs }, async () => {
      count += 1
      const job = await scheduler.client.jobs.create({
        name: `${task} ${count}`,
        schedule,
        target: { type: 'task', task },
        payload,
        retry: { base_ms: 10, cap_ms: 1000, max_attempts: 20 },
      })
      return job.job_id
    }),
  )
}

async function ended(jobs: string[]): Promise<Run[]> {
  return until('all runs have ended', async () => {
    // A run that had not begun in the worker that was killed kills the next one.
    if (workers.at(-1)?.child.signalCode !== null) await worker()
    const runs = (await Promise.all(jobs.map((job) => scheduler.client.jobs.runs(job)))).flat()
    return runs.length === jobs.length && runs.every(({ status }) => !/pending|running/.test(status)) && runs
  })
}

/** One effect to a run, one final row to a run, and the two name the same attempt. */
async function expectOnce(jobs: string[]): Promise<void> {
  const runs = await ended(jobs)
  expect(runs.map(({ status }) => status)).toEqual(jobs.map(() => 'success'))
  const { rows } = await database.query<{ run: string; effects: number; attempt: number; token: string }>(
    'SELECT run, count(*)::int AS effects, max(attempt) AS attempt, max(token) AS token FROM effects_made GROUP BY run',
  )
  const byRun = new Map(rows.map((row) => [row.run, row]))
  for (const run of runs) {
    expect(byRun.get(run.run_id)).toMatchObject({ effects: 1, attempt: run.attempt })
    expect(run.result).toEqual({ attempt: run.attempt })
  }
  expect(rows).toHaveLength(jobs.length)
  expect((await database.query('SELECT booked FROM totals')).rows).toEqual([{ booked: jobs.length }])
  const finals = await database.query<{ finals: number; token: string }>(
    `SELECT count(*)::int AS finals, max(token) AS token FROM carillon.ledger l JOIN carillon.jobs j USING (job)
     WHERE l.final AND j.name LIKE 'book%' AND l.token = ANY ($1::bigint[]) GROUP BY l.job`,
    [rows.map(({ token }) => token)],
  )
  expect(finals.rows.map(({ finals: each }) => each)).toEqual(jobs.map(() => 1))
}

async function killedAt(jobs: string[], victim: Carillon): Promise<void> {
  await until('the worker is killed', () => victim.child.signalCode === 'SIGKILL')
  await worker()
  await expectOnce(jobs)
}

describe('a worker that is killed (-9) in ctx.transaction', () => {
  test.each(['before', 'begun', 'first write', 'last write', 'after'])(
    "by its own handler, at the step '%s': each run has its effect once",
    async (at) => {
      const victim = await worker()
      await killedAt(await fire('book', { at }), victim)
    },
  )

  /** The statements of a handler's transaction as they go over the wire, in their order. */
  const statements = [
    'BEGIN',
    'SELECT set_config',
    'SELECT q.token',
    'INSERT INTO public',
    'UPDATE public',
    'SET CONSTRAINTS',
    'WITH clock',
    'COMMIT',
    'DISCARD ALL',
  ]

  // What arrived and what was answered differ only to the one who is killed: after each answer, and before the two that count.
  const places = [
    ['BEGIN', 'before it arrives'],
    ['COMMIT', 'before it arrives'],
    ...statements.map((text) => [text, 'after its answer'] as const),
  ] as const
  test.each(places)('at %s, %s: each run has its effect once', async (text, when) => {
    let hit = false
    const kill = () => workers[0]?.killHard() ?? Promise.resolve()
    const fate = async ({ application, text: seen }: Seen): Promise<Fate> => {
      if (hit || application !== 'carillon tasks' || !seen.startsWith(text)) return 'pass'
      hit = true
      if (when === 'after its answer') return { answered: kill }
      await kill()
      return 'never-arrives'
    }
    proxy = await PgProxy.listen(postgres.url, fate)
    const victim = await worker()
    await killedAt(await fire('book', {}), victim)
    expect(hit).toBe(true)
  })
})

test('a worker that is frozen in its transaction until its runs went to another writes nothing when it wakes', async () => {
  const frozen = await worker()
  const jobs = await fire('book', { at: 'last write', signal: 'SIGSTOP' }, 1)
  await until('it was given up', async () => {
    const { rows } = await database.query<{ state: string }>(
      'SELECT state FROM carillon.incarnations WHERE pid = $1',
      [frozen.pid],
    )
    return rows[0]?.state === 'dead'
  })
  await worker()
  await until(
    'some runs are done by the other',
    async () => (await database.query('SELECT FROM effects_made')).rows.length > 0,
  )
  frozen.child.kill('SIGCONT')
  await expectOnce(jobs)
})

describe('a worker that is killed (-9) in ctx.once', () => {
  test.each([
    ['before', 1],
    ['in first', 1],
    ['did first', 2],
    ['between', 1],
    ['in second', 1],
    ['did second', 2],
    ['after', 1],
  ])("at the step '%s': no effect is lost, and one is done at most %i times", async (at, most) => {
    const file = join(folder.path, `mail ${at}`)
    const victim = await worker()
    // One at a time: a kill hits the others anywhere.
    const jobs = await fire('mail', { at, file }, 1)
    await until('the worker is killed', () => victim.child.signalCode === 'SIGKILL')
    await worker()
    const runs = await ended(jobs)
    expect(runs.map(({ status }) => status)).toEqual(jobs.map(() => 'success'))
    const sent = readFileSync(file, 'utf8').trim().split('\n')
    for (const { run_id: id } of runs) {
      for (const name of ['first', 'second']) {
        const times = sent.filter((line) => line === `${id} ${name}`).length
        expect(times).toBeGreaterThanOrEqual(1)
        // Between the effect and its record nobody can tell: only there it is done again.
        expect(times).toBeLessThanOrEqual(most)
      }
    }
  })
})
