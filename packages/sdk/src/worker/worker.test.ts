import type { CloseInput, HeartbeatInput, Lease, LeaseInput } from '@carillon/contract'
import { afterEach, expect, test, vi } from 'vitest'
import {
  createWorker,
  defineTask,
  type HttpWorker,
  NonRetryableError,
  stopReasonOf,
  type TaskContext,
} from '../index.js'

const running: HttpWorker[] = []
afterEach(async () => {
  vi.restoreAllMocks()
  for (const worker of running.splice(0)) await worker.stop({ withinMs: 0 })
})

async function until(isSo: () => boolean): Promise<void> {
  const giveUpAt = performance.now() + 10_000
  while (!isSo()) {
    if (performance.now() > giveUpAt) throw new Error('It never came about.')
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}

/** A server in memory: hands out what is put in, and remembers what it was told. */
class Server {
  readonly polls: LeaseInput[] = []
  readonly beats: HeartbeatInput[] = []
  readonly closes: CloseInput[] = []
  stop: { run_id: string; fencing_token: number; reason: string }[] = []
  lost: { run_id: string; fencing_token: number }[] = []
  lives = 1
  dead = new Set<string>()
  /** Answers to closes that get lost on the way, after the server took them. */
  losing = 0
  leaseSeconds = 30
  heartbeatSeconds = 0.02
  /** Heartbeats get no answer. */
  deaf = false
  private queue: Lease[] = []
  private tokens = 0

  put(payload: unknown, more: Partial<Lease> = {}): Lease {
    this.tokens += 1
    const lease: Lease = {
      run_id: `run_${this.tokens}`,
      job_id: 'job_1',
      job_name: 'a job',
      task: 'task',
      payload,
      scheduled_at: '2026-11-02T09:00:00.000Z',
      attempt: 1,
      max_attempts: 3,
      fencing_token: this.tokens,
      idempotency_key: `key-${this.tokens}`,
      catch_up: false,
      traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
      timeout_seconds: 60,
      timeout_at: '2026-11-02T09:01:00.000Z',
      ...more,
    }
    this.queue.push(lease)
    return lease
  }

  readonly fetch: typeof globalThis.fetch = async (url, init) => {
    const path = new URL(url instanceof Request ? url.url : url).pathname
    const body = JSON.parse(typeof init?.body === 'string' ? init.body : '{}') as { worker_id?: string }
    if (body.worker_id !== undefined && this.dead.has(body.worker_id) && !path.endsWith('/close')) {
      return answer(410, { code: 'worker_gone', detail: 'gone' })
    }
    const terms = {
      worker_id: body.worker_id ?? `node_${this.lives++}`,
      lease_seconds: this.leaseSeconds,
      heartbeat_seconds: this.heartbeatSeconds,
    }
    if (path.endsWith('/heartbeat') && this.deaf) throw new TypeError('fetch failed')
    if (path.endsWith('/heartbeat')) {
      this.beats.push(body as HeartbeatInput)
      return answer(200, { ...terms, held: [], stop: this.stop, lost: this.lost })
    }
    if (path.endsWith('/close')) return this.close(body as CloseInput)
    return this.lease(body as LeaseInput, terms, init?.signal ?? undefined)
  }

  private close(input: CloseInput): Response {
    this.closes.push(input)
    if (this.losing > 0) {
      this.losing -= 1
      throw new TypeError('fetch failed')
    }
    const data = input.results.map((result) => ({ ...result, status: 'closed' }))
    return answer(200, { worker_id: input.worker_id, alive: true, data })
  }

  private async lease(input: LeaseInput, terms: object, signal?: AbortSignal): Promise<Response> {
    this.polls.push(input)
    while (this.queue.length === 0 && input.max !== 0 && signal?.aborted !== true) {
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    signal?.throwIfAborted()
    return answer(200, { ...terms, data: this.queue.splice(0, input.max ?? 1) })
  }

  reports() {
    return this.closes.flatMap(({ results }) => results)
  }
}

function answer(status: number, body: object): Response {
  return new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json' } })
}

function start(
  server: Server,
  run: (input: unknown, ctx: TaskContext) => unknown,
  concurrency = 2,
): HttpWorker {
  const tasks = [defineTask({ id: 'task', run })]
  const worker = createWorker({
    url: 'http://carillon.test',
    tasks,
    concurrency,
    name: 'unit',
    fetch: server.fetch,
  })
  running.push(worker)
  worker.start()
  return worker
}

/** A handler that ends when the test says so, or when it is told to stop. */
function held() {
  const open: { ctx: TaskContext; finish: (value: unknown) => void }[] = []
  const run = (_input: unknown, ctx: TaskContext) =>
    new Promise((resolve, reject) => {
      open.push({ ctx, finish: resolve })
      ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason))
    })
  return { open, run }
}

test('a run is given to its handler with all that is known of it, and its result is told', async () => {
  const server = new Server()
  const lease = server.put({ n: 1 })
  const seen: [unknown, TaskContext][] = []
  start(server, (input, ctx) => {
    seen.push([input, ctx])
    return { n: 2 }
  })
  await until(() => server.reports().length === 1)
  expect(seen[0]?.[0]).toEqual({ n: 1 })
  expect(seen[0]?.[1]).toMatchObject({
    runId: lease.run_id,
    jobId: 'job_1',
    attempt: 1,
    fencingToken: lease.fencing_token,
    idempotencyKey: lease.idempotency_key,
    scheduledAt: new Date(lease.scheduled_at),
  })
  expect(server.reports()).toMatchObject([
    { run_id: lease.run_id, fencing_token: lease.fencing_token, outcome: 'success', result: { n: 2 } },
  ])
  expect(server.polls[0]).toMatchObject({ worker: 'unit', tasks: ['task'], max: 2, runs: [] })
  expect(server.polls[0]).not.toHaveProperty('worker_id')
  await until(() => server.polls.length >= 2)
  expect(server.polls[1]).toMatchObject({ worker_id: 'node_1' })
})

test('a handler that throws is told as failed, and as final where it says so', async () => {
  const server = new Server()
  server.put('once more')
  server.put('never again')
  start(server, (input) => {
    throw input === 'never again' ? new NonRetryableError('no use') : new Error('boom')
  })
  await until(() => server.reports().length === 2)
  const told = server.reports().map(({ outcome, retryable, error }) => ({ outcome, retryable, error }))
  expect(told).toContainEqual({
    outcome: 'failed',
    retryable: true,
    error: expect.stringContaining('boom') as string,
  })
  expect(told).toContainEqual({
    outcome: 'failed',
    retryable: false,
    error: expect.stringContaining('no use') as string,
  })
})

test('no more runs are taken than there is room for, and all that are held are named', async () => {
  const server = new Server()
  for (let at = 0; at < 5; at++) server.put(at)
  const { open, run } = held()
  const worker = start(server, run)
  await until(() => open.length === 2)
  await until(() => server.beats.some(({ runs }) => runs?.length === 2))
  expect(worker.running).toBe(2)
  open[0]?.finish('done')
  await until(() => open.length === 3)
  expect(server.polls.at(-1)).toMatchObject({ max: 1, runs: [{ run_id: 'run_2', fencing_token: 2 }] })
})

test('a result whose answer was lost is sent again, and its run is named until it is answered', async () => {
  const server = new Server()
  server.losing = 2
  server.put(1)
  const worker = start(server, () => 'done')
  await until(() => server.closes.length >= 2)
  expect(worker.running).toBe(1)
  await until(() => worker.running === 0)
  expect(server.closes).toHaveLength(3)
  expect(new Set(server.reports().map((report) => JSON.stringify(report))).size).toBe(1)
})

test.each([
  ['cancelled', (server: Server, lease: Lease) => (server.stop = [{ ...lease, reason: 'cancel_requested' }])],
  ['replaced', (server: Server, lease: Lease) => (server.stop = [{ ...lease, reason: 'replaced' }])],
  ['lost', (server: Server, lease: Lease) => (server.lost = [lease])],
])('the signal of a run that is %s aborts, and says why', async (what, tell) => {
  const server = new Server()
  const lease = server.put(1)
  const { open, run } = held()
  start(server, run)
  await until(() => open.length === 1)
  tell(server, lease)
  await until(() => open[0]?.ctx.signal.aborted === true)
  expect(stopReasonOf(open[0]?.ctx.signal)).toBe(what)
  await until(() => server.reports().length === 1)
  expect(server.reports()).toMatchObject([{ outcome: 'failed' }])
})

test('a heartbeat of a handler asks the server, and throws once the run is not its own', async () => {
  const server = new Server()
  server.heartbeatSeconds = 60
  const lease = server.put(1)
  const thrown: unknown[] = []
  const now = performance.now.bind(performance)
  let ahead = 0
  vi.spyOn(performance, 'now').mockImplementation(() => now() + ahead)
  start(server, async (_, ctx) => {
    await Promise.all([ctx.heartbeat(), ctx.heartbeat({ done: 1 }), ctx.heartbeat()])
    await ctx.heartbeat()
    const asked = server.beats.length
    server.lost = [lease]
    ahead = 1_010
    await ctx.heartbeat().catch((error: unknown) => thrown.push(error))
    return asked
  })
  await until(() => thrown.length === 1)
  expect(stopReasonOf(thrown[0])).toBe('lost')
  expect(server.beats).toHaveLength(2)
})

test('a heartbeat that nobody hears is no loss', async () => {
  const server = new Server()
  server.heartbeatSeconds = 60
  server.put(1)
  server.deaf = true
  start(server, async (_, ctx) => {
    await ctx.heartbeat()
    return 'went on'
  })
  await until(() => server.reports().length === 1)
  expect(server.reports()).toMatchObject([{ outcome: 'success', result: 'went on' }])
})

test('a payload that does not fit is told as failed for good, and the handler is not called', async () => {
  const server = new Server()
  server.put({ n: 'x' })
  const strict = defineTask({
    id: 'task',
    input: {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: () => ({ issues: [{ message: 'is no number', path: ['n'] }] }),
      },
    },
    run: () => 'called',
  })
  const worker = createWorker({ url: 'http://carillon.test', tasks: [strict], fetch: server.fetch })
  running.push(worker)
  worker.start()
  await until(() => server.reports().length === 1)
  expect(server.reports()).toMatchObject([
    { outcome: 'failed', retryable: false, error: expect.stringContaining('/n: is no number') as string },
  ])
})

test('what cannot end within the time of a stop is interrupted, not failed', async () => {
  const server = new Server()
  server.put(1)
  const { open, run } = held()
  const worker = start(server, run)
  await until(() => open.length === 1)
  await worker.stop({ withinMs: 0 })
  expect(stopReasonOf(open[0]?.ctx.signal)).toBe('shutdown')
  expect(server.reports()).toMatchObject([{ outcome: 'interrupted' }])
})

test('a signal of the process stops the worker, and nothing listens for it afterwards', async () => {
  const server = new Server()
  const worker = createWorker({
    url: 'http://carillon.test',
    tasks: [defineTask({ id: 'task', run: () => 1 })],
    fetch: server.fetch,
    waitSeconds: 0,
  })
  running.push(worker)
  const before = process.listenerCount('SIGUSR2')
  worker.start({ signals: ['SIGUSR2'], withinMs: 100 })
  server.put(1)
  await until(() => server.reports().length === 1)
  process.emit('SIGUSR2')
  await until(() => server.closes.some(({ leave }) => leave === true))
  await worker.stop()
  expect(process.listenerCount('SIGUSR2')).toBe(before)
})

test('a run over its time is over, also for a handler that hears no signal', async () => {
  const server = new Server()
  server.put(1, { timeout_seconds: 0.05 })
  start(server, () => new Promise(() => undefined))
  await until(() => server.reports().length === 1)
  expect(server.reports()).toMatchObject([
    { outcome: 'failed', error: expect.stringContaining('0.05 s') as string },
  ])
})

test('a worker that was declared dead drops its runs, tells their results in its old name, and begins anew', async () => {
  const server = new Server()
  server.put(1)
  const { open, run } = held()
  const worker = start(server, run)
  await until(() => open.length === 1)
  server.dead.add('node_1')
  await until(() => open[0]?.ctx.signal.aborted === true)
  await until(() => server.closes.length === 1)
  expect(server.closes[0]).toMatchObject({ worker_id: 'node_1' })
  server.put(2)
  await until(() => open.length === 2)
  expect(worker.workerId).toBe('node_2')
})

test('runs are given up when nothing was heard from the server for longer than the lease', async () => {
  const server = new Server()
  server.leaseSeconds = 0.1
  server.put(1)
  const { open, run } = held()
  const tasks = [defineTask({ id: 'task', run })]
  let away = false
  const fetch: typeof globalThis.fetch = (url, init) =>
    away ? Promise.reject(new TypeError('fetch failed')) : server.fetch(url, init)
  const worker = createWorker({ url: 'http://carillon.test', tasks, concurrency: 1, fetch })
  running.push(worker)
  worker.start()
  await until(() => open.length === 1)
  away = true
  await until(() => open[0]?.ctx.signal.aborted === true)
  away = false
})

test('a stop lets runs end, hands back what never arrived, and says good-bye', async () => {
  const server = new Server()
  server.put(1)
  const { open, run } = held()
  const worker = start(server, run)
  await until(() => open.length === 1)
  const stopped = worker.stop()
  await until(() => server.polls.some(({ max }) => max === 0))
  expect(server.polls.at(-1)).toMatchObject({ max: 0, runs: [{ run_id: 'run_1', fencing_token: 1 }] })
  open[0]?.finish('done')
  await stopped
  expect(server.reports()).toMatchObject([{ outcome: 'success', result: 'done' }])
  expect(server.closes.at(-1)).toMatchObject({ leave: true, results: [] })
  // Another worker has all runs that come now: one that went on asking would take its share of them.
  const another = start(server, () => 'by another', 1)
  for (let told = 2; told <= 20; told++) {
    await until(() => another.running === 0)
    server.put(told)
    await until(() => server.reports().length === told)
  }
  expect(server.reports().slice(1)).toEqual(
    Array.from({ length: 19 }, () => expect.objectContaining({ result: 'by another' }) as object),
  )
})

test('a result of any size or shape is sent in bounds', async () => {
  const server = new Server()
  server.put('long')
  server.put('round')
  start(server, (input) => {
    if (input === 'long') return 'x'.repeat(1_000_000)
    const round: { self?: unknown } = {}
    round.self = round
    return round
  })
  await until(() => server.reports().length === 2)
  for (const { result } of server.reports())
    expect(result).toMatchObject({ note: expect.any(String) as string })
})

test('a worker without tasks, or without a server, is refused where it is made', () => {
  expect(() => createWorker({ url: 'http://carillon.test', tasks: [] })).toThrow(/tasks/)
  const tasks = [defineTask({ id: 'a', run: () => 1 })]
  expect(() => createWorker({ url: 'carillon.test', tasks })).toThrow(
    /createWorker: "carillon.test" is not a URL/,
  )
})

test('keeps its process alive until it is stopped, also while a call gets no answer', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  const before = timers()
  const silent = () => new Promise<never>(() => undefined)
  const worker = createWorker({
    url: 'http://localhost:7420',
    tasks: [defineTask({ id: 'task', run: () => null })],
    fetch: silent,
  })
  worker.start()
  await Promise.resolve()
  expect(timers()).toBeGreaterThan(before)
  // Not waited for: the call that it gives up never ends here.
  void worker.stop({ withinMs: 0 })
  await until(() => timers() <= before)
})
