import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ServiceStatus } from '@carillon/contract'
import pg from 'pg'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { joinEmbeddedPostgres } from '../../src/db/embedded/index.js'
import { PgProxy } from '../kit/pg-proxy.js'
import { Carillon, temporaryFolder, until } from './support/carillon.js'
import { useDatabases } from './support/databases.js'

const command = fileURLToPath(new URL('../../../cli/bin/carillon.js', import.meta.url))
const folder = temporaryFolder()
const started: Carillon[] = []

async function up(env: Record<string, string>, ...roles: string[]): Promise<Carillon> {
  const args = roles.flatMap((role) => ['--role', role])
  const carillon = await Carillon.up({ args, env: { CARILLON_DRAIN_SECONDS: '2', ...env } })
  started.push(carillon)
  return carillon
}

afterEach(async () => {
  await Promise.all(started.splice(0).map((carillon) => carillon.terminate()))
})
afterAll(() => folder.remove())

const codes = ({ reasons }: ServiceStatus) => reasons.map(({ code }) => code)
const statusOf = ({ client }: Carillon) => client.status()
const asked = async ({ url }: Carillon, path: string) => {
  const answer = await fetch(`${url}${path}`)
  return { status: answer.status, body: (await answer.json()) as { checks: Record<string, { ok: boolean }> } }
}

describe('with the database gone', () => {
  test('a process lives, is not ready, and says why; all is well again when it is back', async () => {
    const dataDir = join(folder.path, 'gone')
    const postgres = await joinEmbeddedPostgres({ dataDir })
    const { port } = new URL(postgres.url)
    const carillon = await up({ DATABASE_URL: postgres.url, CARILLON_STATEMENT_TIMEOUT_MS: '1000' })
    await until('all is well', async () => (await statusOf(carillon)).state === 'ok')
    expect((await asked(carillon, '/readyz')).status).toBe(200)

    await postgres.leave()
    const down = await until('it notices', async () => {
      const status = await statusOf(carillon)
      return status.state === 'down' && status
    })
    expect(codes(down)).toEqual(['database_unreachable'])
    expect(await asked(carillon, '/readyz')).toMatchObject({
      status: 503,
      body: { checks: { database: { ok: false }, process: { ok: true } } },
    })
    // A restart would not help.
    expect((await asked(carillon, '/healthz')).status).toBe(200)
    expect(await (await fetch(`${carillon.url}/metrics`)).text()).toMatch(
      /^carillon_heartbeat_age_seconds [1-9]/m,
    )

    const again = await joinEmbeddedPostgres({ dataDir })
    if (new URL(again.url).port === port) {
      await until('all is well again', async () => (await statusOf(carillon)).state === 'ok')
      expect((await asked(carillon, '/readyz')).status).toBe(200)
    } else console.warn('Postgres came back at another port: that the process recovers was not seen here.')
    await carillon.terminate()
    await again.leave()
  })
})

describe('with a database that hangs', () => {
  const databaseOf = useDatabases(join(folder.path, 'hanging'))

  test('that is told within seconds, and nobody who asks waits for it; all is well when it answers again', async () => {
    let goOn: (() => void) | null = null
    let held = Promise.resolve()
    const proxy = await PgProxy.listen(await databaseOf('hangs'), async () => {
      await held
      return 'pass' as const
    })
    const carillon = await up({ DATABASE_URL: proxy.url })
    await until('all is well', async () => (await statusOf(carillon)).state === 'ok')
    // Connections stay open, and nothing is answered: a deadline is all that tells.
    held = new Promise((resolve) => (goOn = resolve))
    const atOnce = () => ({ signal: AbortSignal.timeout(10_000) })
    const down = await until('it is told', async () => {
      const answer = await fetch(`${carillon.url}/api/v1/status`, atOnce())
      const status = (await answer.json()) as ServiceStatus
      return status.state === 'down' && status
    })
    expect(codes(down)).toEqual(['database_unreachable'])
    expect((await fetch(`${carillon.url}/readyz`, atOnce())).status).toBe(503)
    expect((await fetch(`${carillon.url}/healthz`, atOnce())).status).toBe(200)
    expect((await fetch(`${carillon.url}/metrics`, atOnce())).status).toBe(200)
    const resume = goOn as (() => void) | null
    resume?.()
    await until('all is well again', async () => (await statusOf(carillon)).state === 'ok')
    await carillon.terminate()
    await proxy.close()
  })
})

describe('with ownership elsewhere', () => {
  const databaseOf = useDatabases(folder.path)

  async function holdAll(url: string, holder: string): Promise<void> {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    await client.query(
      `UPDATE carillon.partitions SET epoch = epoch + 1, expires_at = carillon.now_ms() + 3600000,
         owner = (SELECT incarnation FROM carillon.incarnations WHERE state = 'alive' AND roles = $1)`,
      [[holder]],
    )
    await client.end()
  }

  test('without a scheduler the fleet is down, and the command says so by its exit code', async () => {
    const carillon = await up({ DATABASE_URL: await databaseOf('lonely') }, 'api', 'worker')
    const status = await until('it is counted', async () => {
      const seen = await statusOf(carillon)
      return seen.counted_ms_ago !== null && seen
    })
    expect(status).toMatchObject({ state: 'down', alive: { api: 1, scheduler: 0, worker: 1 } })
    expect(codes(status)).toEqual(['no_scheduler', 'partitions_unowned'])
    expect((await asked(carillon, '/readyz')).status).toBe(200)
    const said = spawnSync(process.execPath, [command, 'status', '--url', carillon.url], { encoding: 'utf8' })
    expect(said.status).toBe(1)
    expect(said.stdout).toContain('✗ down')
    expect(said.stdout).toContain('no_scheduler: no scheduler is alive')
    expect(said.stdout).toContain('docs/operate/runbooks/no-scheduler.md')
  })

  test('a scheduler to which no partition comes is not ready, and what nobody fires is told', async () => {
    const url = await databaseOf('held')
    const env = {
      ...{ DATABASE_URL: url, CARILLON_LEASE_TTL_SECONDS: '1', CARILLON_OVERLOAD_LAG_SECONDS: '1' },
      ...{ CARILLON_MIN_INTERVAL_SECONDS: '1' },
    }
    const api = await up(env, 'api')
    // Somebody who lives has them all, and fires nothing.
    await holdAll(url, 'api')
    const scheduler = await up(env, 'scheduler')
    const ready = await until('it has been without for long enough', async () => {
      const answer = await asked(scheduler, '/readyz')
      return answer.status === 503 && answer
    })
    expect(ready.body.checks).toMatchObject({ database: { ok: true }, ownership: { ok: false } })
    await api.client.jobs.create({
      name: 'waits',
      schedule: '* * * * * *',
      target: { type: 'task', task: 't' },
    })
    const late = await until('the lag is above the bound', async () => {
      const status = await statusOf(api)
      return codes(status).includes('ticks_late') && status
    })
    expect(late.state).toBe('degraded')
    // One that also serves the API is ready, and says what it lacks.
    const both = await up(env, 'api', 'scheduler')
    const idle = await until('it has been without for long enough', async () => {
      const status = await statusOf(both)
      return codes(status).includes('owns_nothing') && status
    })
    expect([idle.node.partitions, (await asked(both, '/readyz')).status]).toEqual([0, 200])
    expect(late.lag_ms).toBeGreaterThan(1_000)
    expect(codes(late)).toContain('no_worker')
  })
})
