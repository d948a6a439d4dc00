import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Job, Lease, LeaseAnswer, Run } from '@carillon/contract'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { joinEmbeddedPostgres } from '../../src/db/embedded/index.js'
import { Carillon, temporaryFolder, until } from './support/carillon.js'

/** Short, so that a lapse is seen in a test's time. The default is 30 s. */
const leaseSeconds = 3
const script = fileURLToPath(new URL('./support/http-worker.mjs', import.meta.url))

interface Line {
  started?: string
  aborted?: string
  why?: string
  message?: string
  stopped?: boolean
  attempt?: number
  token?: number
  key?: string
  at?: number
  scheduledAt?: number
}

describe('workers over HTTP', () => {
  const folder = temporaryFolder()
  const started: Carillon[] = []
  const workers: WorkerProcess[] = []
  let postgres: Awaited<ReturnType<typeof joinEmbeddedPostgres>>

  beforeAll(async () => {
    postgres = await joinEmbeddedPostgres({ dataDir: join(folder.path, 'data') })
  })

  afterEach(async () => {
    for (const worker of workers.splice(0)) await worker.kill()
    for (const carillon of started.splice(0)) await carillon.killHard()
  })

  afterAll(async () => {
    await postgres.leave()
    folder.remove()
  })

  /** A process of the fleet without workers of its own for these tasks. */
  async function up(roles = ['api', 'scheduler']): Promise<Carillon> {
    const carillon = await Carillon.up({
      args: roles.flatMap((role) => ['--role', role]),
      env: {
        DATABASE_URL: postgres.url,
        CARILLON_RUN_LEASE_SECONDS: String(leaseSeconds),
        CARILLON_LEASE_TTL_SECONDS: '3',
        CARILLON_MIN_INTERVAL_SECONDS: '1',
      },
    })
    started.push(carillon)
    return carillon
  }

  function work(url: string, task: string): WorkerProcess {
    const worker = new WorkerProcess(process.execPath, [script], { CARILLON_URL: url, TASK: task })
    workers.push(worker)
    return worker
  }

  let made = 0
  function job(carillon: Carillon, task: string, more: object = {}): Promise<Job> {
    made += 1
    return carillon.client.jobs.create({
      name: `job-${made}`,
      schedule: '2099-01-01T00:00:00Z',
      overlap_policy: 'ALLOW',
      retry: { max_attempts: 5, backoff: 'fixed', base_ms: 100 },
      target: { type: 'task', task },
      ...more,
    })
  }

  const runOf = async (carillon: Carillon, { job_id }: Job, status: Run['status']) =>
    until(`a run is ${status}`, async () =>
      (await carillon.client.jobs.runs(job_id)).find((run) => run.status === status),
    )

  test('run what is scheduled, each tick once and none before its time', async () => {
    const carillon = await up()
    const worker = work(carillon.url, 'ticking')
    const every = await job(carillon, 'ticking', { schedule: '* * * * * *' })
    await until('five ticks ran', () => worker.runs().length >= 5)
    expect(new Set(worker.runs().map(({ key }) => key)).size).toBe(worker.runs().length)
    for (const { at, scheduledAt } of worker.runs()) expect(at).toBeGreaterThanOrEqual(scheduledAt ?? 0)
    expect((await runOf(carillon, every, 'success')).worker).toMatch(/^node_/)
    const view = await carillon.client.cluster()
    expect(view.workers).toMatchObject({ alive: 1, data: [{ name: 'e2e', tasks: ['ticking'] }] })
    expect(view.nodes).toHaveLength(1)
    // Nobody in that process holds the runs until then, so they come early.
    expect(await (await fetch(`${carillon.url}/metrics`)).text()).toMatch(/^carillon_stage_ahead_seconds 2$/m)
  })

  test('kill -9 of a worker: its run comes back after the lapse, with a larger token and the same key', async () => {
    const carillon = await up()
    const first = work(carillon.url, 'killed')
    const one = await job(carillon, 'killed', { payload: { ms: 60_000 } })
    await carillon.client.jobs.trigger(one.job_id)
    const [before] = await first.startedRuns(1)
    await first.kill()
    await carillon.client.jobs.edit(one.job_id, { payload: { ms: 0 } })
    const second = work(carillon.url, 'killed')
    const [after] = await second.startedRuns(1)
    expect(after).toMatchObject({ started: before?.started, key: before?.key, attempt: 2 })
    expect(after?.token).toBeGreaterThan(before?.token ?? 0)
  })

  test('a worker stopped past its lease learns that it is dead; its result is kept as stale, and it begins anew', async () => {
    const carillon = await up()
    const first = work(carillon.url, 'stopped')
    const one = await job(carillon, 'stopped', { payload: { ms: 1_500 } })
    await carillon.client.jobs.trigger(one.job_id)
    await first.startedRuns(1)
    first.child.kill('SIGSTOP')
    const second = work(carillon.url, 'stopped')
    const [again] = await second.startedRuns(1)
    expect(again?.attempt).toBe(2)
    await runOf(carillon, one, 'success')
    first.child.kill('SIGCONT')
    await until('it learns that it is dead', () => first.says('declared dead'))
    await until('its result is stale', () => first.says('kept as stale'))
    const [run] = await carillon.client.jobs.runs(one.job_id)
    expect(run).toMatchObject({ status: 'success', attempt: 2 })
    const detail = await carillon.client.runs.get(run?.run_id ?? '')
    expect(detail.attempts.map(({ outcome }) => outcome).sort()).toEqual(['failed', 'stale', 'success'])
    await until('it is there again', async () => (await carillon.client.cluster()).workers.alive === 2)
  })

  test('any process answers any call: two of them, turn by turn', async () => {
    const [first, second] = await Promise.all([up(), up(['api'])])
    const one = await job(first, 'alternating')
    const ask = { tasks: ['alternating'], wait_seconds: 10 }
    const { worker_id } = await post<LeaseAnswer>(first, '', { tasks: ask.tasks })
    for (const [leasing, closing] of [
      [first, second],
      [second, first],
    ] as const) {
      await first.client.jobs.trigger(one.job_id)
      const { data } = await post<LeaseAnswer>(leasing, '', { ...ask, worker_id, runs: [] })
      const [run] = data as [Lease]
      const ref = { run_id: run.run_id, fencing_token: run.fencing_token }
      expect(await post(closing, '/heartbeat', { worker_id, runs: [ref] })).toMatchObject({ held: [ref] })
      const results = [{ ...ref, outcome: 'success' }]
      expect(await post(closing, '/close', { worker_id, results })).toMatchObject({
        data: [{ status: 'closed' }],
      })
      expect(await post(leasing, '/close', { worker_id, results })).toMatchObject({
        data: [{ status: 'already_closed' }],
      })
    }
  })

  test('a process killed between the lease and its answer loses nothing: the run comes back at once', async () => {
    const [keeper, doomed] = await Promise.all([up(), up(['api'])])
    const one = await job(keeper, 'undelivered')
    // Between the two: an answer that names runs does not get through, and its process is gone.
    const cut = await Between.listen(doomed.url, async (body) => {
      if ((JSON.parse(body) as LeaseAnswer).data.length === 0) return true
      await doomed.killHard()
      return false
    })
    const { worker_id } = await post<LeaseAnswer>(keeper, '', { tasks: ['undelivered'] })
    const ask = { worker_id, tasks: ['undelivered'], wait_seconds: 15, runs: [] }
    const lost = post<LeaseAnswer>(cut, '', ask).catch((error: unknown) => error)
    await keeper.client.jobs.trigger(one.job_id)
    expect(await lost).toBeInstanceOf(Error)
    const [run] = await until('the worker gets the run', async () => {
      const { data } = await post<LeaseAnswer>(keeper, '', { ...ask, wait_seconds: 1 })
      return data.length > 0 && data
    })
    expect(run).toMatchObject({ attempt: 1 })
    await cut.close()
  })

  test('a process killed in the middle of a long poll: its worker goes on with another', async () => {
    const [keeper, doomed] = await Promise.all([up(), up(['api'])])
    // A load balancer, so to say.
    let backend = doomed.url
    const balancer = await Between.listen(
      () => backend,
      () => Promise.resolve(true),
    )
    const worker = work(balancer.url, 'polling')
    await until('it polls', async () =>
      (await keeper.client.cluster()).workers.data.some(({ tasks }) => tasks.includes('polling')),
    )
    backend = keeper.url
    await doomed.killHard()
    const one = await job(keeper, 'polling')
    await keeper.client.jobs.trigger(one.job_id)
    const [run] = await worker.startedRuns(1)
    expect(run?.attempt).toBe(1)
    await runOf(keeper, one, 'success')
    await balancer.close()
  })

  test('a run over its time is ended by the server, and the next attempt runs', async () => {
    const carillon = await up()
    const one = await job(carillon, 'slow', { timeout_seconds: 1 })
    await carillon.client.jobs.trigger(one.job_id)
    const { worker_id, data } = await post<LeaseAnswer>(carillon, '', { tasks: ['slow'], wait_seconds: 10 })
    const [hung] = data as [Lease]
    const beat = () => post(carillon, '/heartbeat', { worker_id }).then(() => undefined)
    const [next] = await until('the next attempt', async () => {
      await beat()
      const answer = await post<LeaseAnswer>(carillon, '', { worker_id, tasks: ['slow'] })
      return answer.data.length > 0 && answer.data
    })
    expect(next).toMatchObject({ run_id: hung.run_id, attempt: 2, idempotency_key: hung.idempotency_key })
    const results = [{ run_id: hung.run_id, fencing_token: hung.fencing_token, outcome: 'success' }]
    expect(await post(carillon, '/close', { worker_id, results })).toMatchObject({
      alive: true,
      data: [{ status: 'stale' }],
    })
  })

  test('a run that a person cancels is told to stop, and ends as cancelled', async () => {
    const carillon = await up()
    const worker = work(carillon.url, 'cancelled')
    const one = await job(carillon, 'cancelled', { payload: { ms: 60_000 } })
    await carillon.client.jobs.trigger(one.job_id)
    const [run] = await worker.startedRuns(1)
    await carillon.client.runs.cancel(run?.started ?? '')
    await until('its signal aborts', () => worker.lines.some(({ aborted }) => aborted === run?.started))
    expect(await runOf(carillon, one, 'cancelled')).toMatchObject({ reason: 'cancel_requested' })
  })

  test('SIGTERM of a process ends its long polls at once; SIGTERM of a worker lets its runs end', async () => {
    const [keeper, leaving] = await Promise.all([up(), up(['api'])])
    const { worker_id } = await post<LeaseAnswer>(leaving, '', { tasks: ['draining'] })
    const poll = post<LeaseAnswer>(leaving, '', { worker_id, tasks: ['draining'], wait_seconds: 30 })
    await until('the poll waits', async () =>
      /carillon_remote_polls 1/.test(await (await fetch(`${leaving.url}/metrics`)).text()),
    )
    expect(await leaving.terminate()).toBe(0)
    expect((await poll).data).toEqual([])
    const worker = work(keeper.url, 'draining')
    const one = await job(keeper, 'draining', { payload: { ms: 1_000 } })
    await keeper.client.jobs.trigger(one.job_id)
    await worker.startedRuns(1)
    worker.child.kill('SIGTERM')
    await until('it has stopped', () => worker.lines.some(({ stopped }) => stopped === true))
    expect((await keeper.client.jobs.runs(one.job_id))[0]).toMatchObject({ status: 'success', attempt: 1 })
  })
})

/** A real process that works for a server elsewhere. */
class WorkerProcess {
  readonly child: ChildProcess
  readonly lines: Line[] = []

  constructor(command: string, args: string[], env: Record<string, string>) {
    this.child = spawn(command, args, {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, ...env },
    })
    let text = ''
    this.child.stdout?.on('data', (chunk: Buffer) => {
      text += chunk.toString()
      const whole = text.split('\n')
      text = whole.pop() ?? ''
      for (const line of whole)
        this.lines.push(line.startsWith('{') ? (JSON.parse(line) as Line) : { message: line })
    })
  }

  runs(): Line[] {
    return this.lines.filter(({ started }) => started !== undefined)
  }

  says(words: string): boolean {
    return this.lines.some(({ message }) => message?.includes(words) === true)
  }

  startedRuns(count: number): Promise<Line[]> {
    return until(`${count} runs have started`, () => this.runs().length >= count && this.runs())
  }

  async kill(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return
    this.child.kill('SIGKILL')
    await once(this.child, 'exit')
  }
}

async function post<Answer>({ url }: { url: string }, path: string, body: object): Promise<Answer> {
  const answer = await fetch(`${url}/api/v1/leases${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!answer.ok) throw new Error(`${answer.status}: ${await answer.text()}`)
  return (await answer.json()) as Answer
}

/** Stands between a caller and a server, and decides which answers get through. */
class Between {
  private constructor(
    readonly url: string,
    readonly close: () => Promise<void>,
  ) {}

  static async listen(
    target: string | (() => string),
    letThrough: (body: string) => Promise<boolean>,
  ): Promise<Between> {
    const server = createServer((incoming: IncomingMessage, outgoing: ServerResponse) => {
      const base = typeof target === 'string' ? target : target()
      const { method, url, headers } = incoming
      const onward = request(`${base}${url ?? '/'}`, { method, headers, agent: false }, (answer) => {
        let body = ''
        answer.on('data', (chunk: Buffer) => {
          body += chunk.toString()
        })
        answer.on('error', () => outgoing.destroy())
        answer.on('end', () => {
          void letThrough(body).then((pass) =>
            pass
              ? outgoing.writeHead(answer.statusCode ?? 502, { 'content-type': 'application/json' }).end(body)
              : outgoing.destroy(),
          )
        })
      })
      onward.on('error', () => outgoing.destroy())
      incoming.pipe(onward)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    return new Between(url, () => {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    })
  }
}
