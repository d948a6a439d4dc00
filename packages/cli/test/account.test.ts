import type { ClusterView, ServiceStatus, Verification, Why } from '@carillon/sdk'
import pg from 'pg'
import { createLog, loadConfig, openPostgres } from '@carillon/server'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  carillon,
  type Ended,
  jsonOf,
  newFolder,
  removeFolder,
  startServer,
  type TestServer,
  until,
} from './support/carillon.js'

let server: TestServer
let databaseUrl: string
let jobId: string
let leave: () => Promise<void>
let folder: string

/** The same question to the database and to the API: both ways know the same. */
const ways = [
  ['the database', () => ({ env: { DATABASE_URL: databaseUrl } })],
  ['the server', () => ({ env: { CARILLON_URL: server.url } })],
] as const

beforeAll(async () => {
  folder = newFolder()
  server = await startServer()
  const config = loadConfig({ env: { CARILLON_DATA_DIR: server.dataDir } })
  const postgres = await openPostgres(config, createLog({ level: 'silent', format: 'json' }))
  databaseUrl = postgres.url
  leave = postgres.leave
  const args = [
    'jobs',
    'create',
    'heartbeat',
    '--schedule',
    new Date().toISOString(),
    '--task',
    'nothing',
    '--json',
  ]
  jobId = jsonOf<{ job_id: string }>(await carillon([...args, '--url', server.url])).job_id
})

afterAll(async () => {
  await leave()
  await server.stop()
  removeFolder(folder)
})

async function query<Row extends object>(sql: string, values: unknown[] = []): Promise<Row[]> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    return (await client.query<Row>(sql, values)).rows
  } finally {
    await client.end()
  }
}

/** A tick of the job that is in the queue: nobody serves its task. */
function tickInQueue(): Promise<string> {
  return until(async () => {
    const [row] = await query<{ due: string }>(
      'SELECT q.due FROM carillon.queue q JOIN carillon.jobs j USING (job) WHERE q.due <= carillon.now_ms() LIMIT 1',
    )
    return row === undefined ? null : new Date(Number(row.due)).toISOString()
  })
}

describe.each(ways)('asked of %s', (_name, way) => {
  const ask = (...args: string[]): Promise<Ended> => carillon(args, { ...way(), cwd: folder })

  it('why says what became of a tick, by the name and by the id of its job', async () => {
    const at = await tickInQueue()
    for (const job of ['heartbeat', jobId]) {
      const ended = await ask('why', job, '--at', at, '--json')
      expect(jsonOf<Why>(ended)).toMatchObject({
        job_id: jobId,
        at,
        verdict: 'in_flight',
        reason: 'no_worker_for_task',
      })
      expect(ended.code).toBe(0)
    }
    const { stdout } = await ask('why', 'heartbeat', '--at', at)
    expect(stdout).toMatch(/^▸ In flight .*no live worker serves its task "nothing"/)
    expect(stdout).toContain('→ Start a worker')
  })

  it('why says that an instant is no tick', async () => {
    const { stdout, code } = await ask('why', 'heartbeat', '--at', '2020-01-01T00:00:00Z')
    expect(stdout).toMatch(/^○ No tick: the job was registered at/)
    expect(code).toBe(0)
  })

  it('why knows no job that there is not', async () => {
    for (const job of ['stranger', 'job_00000000000000000000000000']) {
      const { code, stdout, stderr } = await ask('why', job, '--at', '2026-01-01T00:00:00Z')
      expect(stderr).toContain('no job')
      expect(stdout).toBe('')
      expect(code).toBe(3)
    }
  })

  it('verify says that every tick is accounted for, of all jobs and of one', async () => {
    await tickInQueue()
    for (const only of [[], ['--job', 'heartbeat']]) {
      const ended = await ask('verify', '--from', '1h', '--json', ...only)
      const found = jsonOf<Verification>(ended)
      const { ran, late, caught_up, skipped, in_flight, paused, pending, unaccounted } = found
      expect(ran + late + caught_up + skipped + in_flight + paused + pending + unaccounted).toBe(
        found.expected,
      )
      expect(found).toMatchObject({ jobs: 1, unaccounted: 0, doubled: 0, next_cursor: null })
      expect(found.expected).toBeGreaterThan(0)
      expect(ended.code).toBe(0)
    }
    expect((await ask('verify', '--from', '1h')).stdout).toContain('✓ Every tick is accounted for')
    expect((await ask('verify')).stdout).toContain('✓ Every tick is accounted for')
  })

  it('cluster shows the process that runs', async () => {
    const view = jsonOf<ClusterView>(await ask('cluster', '--json'))
    expect(view.nodes).toMatchObject([
      { state: 'alive', roles: ['api', 'scheduler', 'worker'], partitions: 256 },
    ])
    expect(view).toMatchObject({ unowned: 0, brake: null })
    const { stdout } = await ask('cluster', '--partitions')
    expect(stdout).toMatch(/^Partitions +256 of 256 owned; epochs/m)
    expect(stdout).toMatch(/^255 +node_/m)
  })

  it('brake is set for a time, shown, and taken off', async () => {
    const set = await ask(
      'brake',
      'set',
      '--catch-up',
      '0.5',
      '--windows',
      '2',
      '--for',
      '10m',
      '--reason',
      'a drill',
      '--json',
    )
    expect(jsonOf(set)).toMatchObject({
      brake: { catch_up_factor: 0.5, window_factor: 2, reason: 'a drill' },
    })
    expect((await ask('brake', 'show')).stdout).toMatch(/^Reason +a drill$/m)
    expect(jsonOf(await ask('brake', 'clear', '--json'))).toEqual({ brake: null })
    expect((await ask('brake', 'show')).stdout).toContain('no brake is in force')
  })

  it('events lists what operators should know of', async () => {
    await query(
      "INSERT INTO carillon.alerts (kind, fingerprint, subject) VALUES ('overload', $1, 'the drill') ON CONFLICT DO NOTHING",
      ['test drill'],
    )
    expect((await ask('events', '--open')).stdout).toMatch(/^! overload +the drill/m)
    await query("DELETE FROM carillon.alerts WHERE fingerprint = 'test drill'")
    expect(jsonOf(await ask('events', '--open', '--json'))).toEqual({ data: [] })
  })
})

it('status says how things are, and who is there; its exit code says whether all is well', async () => {
  const ended = await carillon(['status', '--json'], { env: { CARILLON_URL: server.url }, cwd: folder })
  const status = jsonOf<ServiceStatus>(ended)
  expect(status).toMatchObject({ alive: { api: 1, scheduler: 1, worker: 1 } })
  expect(ended.code).toBe(status.state === 'ok' ? 0 : 1)
  const { stdout } = await carillon(['status'], { env: { CARILLON_URL: server.url }, cwd: folder })
  expect(stdout).toMatch(/^(✓ ok|! degraded)/)
  expect(stdout).toMatch(/^Alive +1 api, 1 scheduler, 1 worker/m)
})

describe('verify and why end with 1', () => {
  it('when a tick is unaccounted, and name it', async () => {
    const at = Date.now() - 1_800_000
    await query(
      `WITH old AS (
         INSERT INTO carillon.jobs (id, tenant, partition, name, definition, one_off, route, effective_from, zone_data)
         SELECT gen_random_uuid(), tenant, partition, 'lossy', definition || '{"schedule": "@every 1h"}', false, route,
                $1::bigint - 1, zone_data
         FROM carillon.jobs WHERE name = 'heartbeat' RETURNING *)
       INSERT INTO carillon.timers (job, tenant, due, start_at, accounted_through, partition)
       SELECT job, tenant, 253402300799000, 253402300799000, 253402300798000, partition FROM old`,
      [at],
    )
    await query(
      `UPDATE carillon.jobs SET definition = definition || jsonb_build_object('anchor', $1::bigint) WHERE name = 'lossy'`,
      [at - 3_600_000],
    )
    const tick = new Date(at).toISOString()
    const env = { DATABASE_URL: databaseUrl }
    const ended = await carillon(['verify', '--from', '2h', '--job', 'lossy', '--json'], { env })
    expect(jsonOf<Verification>(ended)).toMatchObject({
      unaccounted: 1,
      findings: [{ tick, kind: 'unaccounted' }],
    })
    expect(ended.code).toBe(1)
    const table = await carillon(['verify', '--from', '2h'], { env })
    expect(table.stdout).toContain('✗ 1 unaccounted, 0 doubled')
    expect(table.code).toBe(1)
    const why = await carillon(['why', 'lossy', '--at', tick], { env })
    expect(why.stdout).toMatch(/^✗ Unaccounted/)
    expect(why.code).toBe(1)
    await query(
      "DELETE FROM carillon.timers t USING carillon.jobs j WHERE t.job = j.job AND j.name = 'lossy'",
    )
    await query("DELETE FROM carillon.jobs WHERE name = 'lossy'")
  })
})

describe('wrong usage is refused', () => {
  it.each([
    ['a brake without an end', ['brake', 'set', '--catch-up', '0', '--reason', 'x'], 'always has an end'],
    ['a brake without a reason', ['brake', 'set', '--catch-up', '0', '--for', '1m'], '--reason'],
    ['a brake that does nothing', ['brake', 'set', '--for', '1m', '--reason', 'x'], '--windows 4'],
    [
      'a time that is none',
      ['brake', 'set', '--catch-up', '0', '--for', 'long', '--reason', 'x'],
      '--for is "long"',
    ],
    [
      'a factor out of bounds',
      ['brake', 'set', '--catch-up', '7', '--for', '1m', '--reason', 'x'],
      '--catch-up',
    ],
    ['an instant that is none', ['why', 'heartbeat', '--at', 'noon'], '--at'],
    ['a range that ends before it begins', ['verify', '--from', '1h', '--to', '2h'], '--to'],
  ])('%s', async (_what, args, said) => {
    const { code, stdout, stderr } = await carillon(args, { env: { DATABASE_URL: databaseUrl } })
    expect(stderr).toContain(said)
    expect(stdout).toBe('')
    expect(code).toBe(2)
  })
})

it('a server named on the command line is asked, although DATABASE_URL is set', async () => {
  const env = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/nothing' }
  expect((await carillon(['cluster', '--json', '--url', server.url], { env })).code).toBe(0)
  expect((await carillon(['cluster', '--json'], { env })).code).not.toBe(0)
})

it('a database that is not migrated is told so', async () => {
  await query('CREATE DATABASE empty_house')
  const url = new URL(databaseUrl)
  url.pathname = '/empty_house'
  const { code, stderr } = await carillon(['verify', '--from', '1h'], { env: { DATABASE_URL: url.href } })
  expect(stderr).toContain('carillon migrate')
  expect(code).toBe(1)
})
