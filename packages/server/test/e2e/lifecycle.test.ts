import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Job, Run } from '@carillon/contract'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { joinEmbeddedPostgres } from '../../src/db/embedded/index.js'
import { Carillon, temporaryFolder, until } from './support/carillon.js'
import { Sink } from './support/sink.js'

const tasks = fileURLToPath(new URL('./support/tasks.mjs', import.meta.url))

describe('the life of a server', () => {
  const folder = temporaryFolder()
  const dataDir = join(folder.path, 'data')
  const started: Carillon[] = []
  let postgres: Awaited<ReturnType<typeof joinEmbeddedPostgres>>

  // Kept running over all tests: each would start and stop it otherwise.
  beforeAll(async () => {
    postgres = await joinEmbeddedPostgres({ dataDir })
  })

  async function up(args: string[] = [], folderOfData = dataDir): Promise<Carillon> {
    const env = { CARILLON_MIN_INTERVAL_SECONDS: '1' }
    const carillon = await Carillon.up({ dataDir: folderOfData, args, env })
    started.push(carillon)
    return carillon
  }

  afterEach(async () => {
    await Promise.all(started.splice(0).map((carillon) => carillon.terminate()))
  })
  afterAll(async () => {
    await postgres?.leave()
    folder.remove()
  })

  test('a one-off due in two seconds reaches its target at its time, once, with every header', async () => {
    const sink = await Sink.listen()
    const carillon = await up()
    // Within its second: milliseconds are written only where there are some.
    const at = new Date(Math.floor(Date.now() / 1_000) * 1_000 + 2_001).toISOString()
    const target = { type: 'http' as const, url: `${sink.url}/hook`, headers: { 'X-Team': 'billing' } }
    const job = await carillon.client.jobs.create({ name: 'once', schedule: at, target, payload: { n: 1 } })
    expect(job.next_run_at).toBe(at)

    const run = await finished(carillon, job)
    expect(sink.deliveries).toHaveLength(1)
    const [delivery] = sink.deliveries
    expect(delivery?.receivedAt).toBeGreaterThanOrEqual(Date.parse(at))
    expect(delivery?.headers).toMatchObject({
      'carillon-job-id': job.job_id,
      'carillon-run-id': run.run_id,
      'carillon-scheduled-at': at,
      'carillon-attempt': '1',
      'carillon-fencing-token': String(run.fencing_token),
      'carillon-catch-up': 'false',
      'idempotency-key': `${job.job_id}:${Math.floor(Date.parse(at) / 1000)}`,
      'x-team': 'billing',
    })
    expect(delivery?.body.payload).toEqual({ n: 1 })
    expect(run).toMatchObject({ status: 'success', attempt: 1, scheduled_at: at, error: null })
    expect((await carillon.client.jobs.get(job.job_id)).state).toBe('ended')
    console.log(`one-off: received ${(delivery?.receivedAt ?? 0) - Date.parse(at)} ms after its time`)
    await sink.close()
  })

  test('a restart on the same data folder keeps jobs and ledger', async () => {
    const file = join(folder.path, 'kept')
    // One of its own: the Postgres in it ends with the server, too.
    const own = join(folder.path, 'restarted')
    const before = await up(['--tasks', tasks], own)
    const job = await before.client.jobs.create({
      name: 'kept',
      schedule: '* * * * * *',
      target: { type: 'task', task: 'note' },
      payload: { file },
    })
    const [run] = await until('a tick ran', async () => {
      const runs = await before.client.jobs.runs(job.job_id)
      return (
        runs.some(({ status }) => status === 'success') && runs.filter(({ status }) => status === 'success')
      )
    })
    expect(await before.terminate()).toBe(0)

    const after = await up(['--tasks', tasks], own)
    expect(await after.client.jobs.get(job.job_id)).toMatchObject({
      name: 'kept',
      state: 'active',
      version: 1,
    })
    const runs = await after.client.jobs.runs(job.job_id, { limit: 200 })
    expect(runs.find(({ run_id }) => run_id === run?.run_id)).toEqual(run)
    await after.client.jobs.delete(job.job_id)
    await expect(after.client.jobs.get(job.job_id)).rejects.toMatchObject({
      code: 'job_not_found',
      status: 404,
    })
    expect((await after.client.jobs.runs(job.job_id, { limit: 200 })).length).toBeGreaterThanOrEqual(
      runs.length,
    )
  })

  test('SIGTERM lets a run under way finish, records it and exits with 0', async () => {
    const release = join(folder.path, 'drain-release')
    const carillon = await up(['--tasks', tasks])
    const { job, startedFile } = await holdJob(carillon, 'drained', release)
    await until('the run has begun', () => existsSync(startedFile))
    const exit = carillon.terminate()
    await until('the drain has begun', () => carillon.stderr.includes('stopping'))
    writeFileSync(release, '')
    expect(await exit).toBe(0)

    const next = await up()
    expect(await next.client.jobs.runs(job.job_id)).toMatchObject([{ status: 'success', attempt: 1 }])
  })

  test('SIGTERM ends a process whose task hears no signal, once the drain time is over', async () => {
    const startedFile = join(folder.path, 'deaf-started')
    // A data folder of its own: the run comes back to whoever serves its task.
    const carillon = await Carillon.up({
      dataDir: join(folder.path, 'deaf'),
      args: ['--tasks', tasks],
      env: { CARILLON_DRAIN_SECONDS: '1' },
    })
    await carillon.client.jobs.create({
      name: 'deaf',
      schedule: new Date(Date.now()).toISOString(),
      target: { type: 'task', task: 'deaf' },
      payload: { started: startedFile },
    })
    await until('the run has begun', () => existsSync(startedFile))
    expect(await carillon.terminate()).toBe(0)
  })

  test('SIGTERM ends a process whose database is away', async () => {
    const away = await joinEmbeddedPostgres({ dataDir: join(folder.path, 'away') })
    const carillon = await Carillon.up({
      env: { DATABASE_URL: away.url, CARILLON_DRAIN_SECONDS: '2', CARILLON_STATEMENT_TIMEOUT_MS: '1000' },
    })
    await away.leave()
    await until('it notices', async () => (await fetch(`${carillon.url}/readyz`)).status === 503)
    expect((await fetch(`${carillon.url}/api/v1/jobs`)).status).toBe(503)
    expect(await carillon.terminate()).toBe(0)
  })

  test('a worker killed in the middle of a run: the run goes on elsewhere with the same key and a higher token', async () => {
    const release = join(folder.path, 'kill-release')
    const doomed = await up(['--tasks', tasks])
    const { job, startedFile } = await holdJob(doomed, 'rescued', release)
    await until('the run has begun', () => existsSync(startedFile))
    const survivor = await up(['--tasks', tasks])
    await doomed.killHard()
    const attempts = await until('the run has begun again', () => {
      const lines = readFileSync(startedFile, 'utf8').trim().split('\n')
      return (
        lines.length === 2 &&
        lines.map((line) => JSON.parse(line) as { attempt: number; token: number; key: string })
      )
    })
    writeFileSync(release, '')
    const run = await finished(survivor, job)
    expect(run).toMatchObject({ status: 'success', attempt: 2 })
    const [lost, kept] = attempts
    expect(kept?.key).toBe(lost?.key)
    expect(kept?.token).toBeGreaterThan(lost?.token ?? 0)
    expect(run.fencing_token).toBe(kept?.token)
  })

  test('api, scheduler and worker run apart over one database', async () => {
    const file = join(folder.path, 'apart')
    const [api] = await Promise.all([
      up(['--role', 'api']),
      up(['--role', 'scheduler']),
      up(['--role', 'worker', '--tasks', tasks]),
    ])
    const job = await api.client.jobs.create({
      name: 'apart',
      schedule: new Date(Date.now() + 1_500).toISOString(),
      target: { type: 'task', task: 'note' },
      payload: { file },
    })
    expect(await finished(api, job)).toMatchObject({ status: 'success', result: { noted: true } })
    expect(readFileSync(file, 'utf8').trim().split('\n')).toHaveLength(1)
  })

  test('a run whose task nobody serves waits, is reported, and runs when a worker comes', async () => {
    const file = join(folder.path, 'unserved')
    const server = await up()
    const job = await server.client.jobs.create({
      name: 'unserved',
      schedule: new Date(Date.now()).toISOString(),
      target: { type: 'task', task: 'note' },
      payload: { file },
    })
    expect(job.warnings).toMatchObject([{ code: 'no_worker_for_task' }])
    await until('the run says what it waits for', async () => {
      const [run] = await server.client.jobs.runs(job.job_id)
      return run?.status === 'pending' && run.reason === 'no_worker_for_task'
    })
    await until('the log says it too', () => server.stderr.includes('no live worker serves this task'))
    await up(['--role', 'worker', '--tasks', tasks])
    expect(await finished(server, job)).toMatchObject({ status: 'success', attempt: 1 })
  })

  async function holdJob(carillon: Carillon, name: string, release: string) {
    const startedFile = join(folder.path, `${name}-started`)
    const job = await carillon.client.jobs.create({
      name,
      schedule: new Date(Date.now()).toISOString(),
      target: { type: 'task', task: 'hold' },
      payload: { started: startedFile, until: release },
    })
    return { job, startedFile }
  }
})

function finished(carillon: Carillon, job: Job): Promise<Run> {
  return until(`a run of ${job.name} has ended`, async () => {
    const runs = await carillon.client.jobs.runs(job.job_id)
    return runs.find(({ status }) => status !== 'pending' && status !== 'running')
  })
}
