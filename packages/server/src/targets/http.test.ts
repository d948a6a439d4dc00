import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import type { HttpTarget } from '@carillon/contract'
import { afterEach, expect, test } from 'vitest'
import { createAddressGuard } from './address-guard.js'
import { createHttpTarget, type HttpTargetOptions } from './http.js'
import { StopSwitch } from './stop-switch.js'
import type { Attempt } from './target.js'

const scheduledAt = Date.UTC(2026, 0, 5, 9)
const now = Date.UTC(2026, 0, 5, 9, 0, 30)
const attempt: Attempt = {
  tenant: 1,
  jobId: 'job_1',
  jobName: 'weekly report',
  runId: 'run_1',
  scheduledAt,
  attempt: 2,
  token: 77,
  catchUp: false,
  idempotencyKey: 'job_1:1767603600',
  payload: { n: 1 },
  timeoutMs: 20_000,
}
const never = new StopSwitch()
const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function serve(handler: RequestListener): Promise<{ url: string; server: Server }> {
  const server = createServer(handler)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanups.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook` }
}

function client(options: Partial<HttpTargetOptions> = {}) {
  const guard = createAddressGuard({ allowedNetworks: [], allowLoopback: true })
  const target = createHttpTarget({ guard, now: () => now, ...options })
  cleanups.push(() => target.close())
  return target
}

const http = (url: string, more: Partial<HttpTarget> = {}): HttpTarget => ({ type: 'http', url, ...more })

async function readAll(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request) text += String(chunk)
  return text
}

async function deliverTo(handler: RequestListener, changes: Partial<Attempt> = {}) {
  const { url } = await serve(handler)
  return { url, outcome: await client().deliver(http(url), { ...attempt, ...changes }, never) }
}

test('a POST carries the envelope, the Carillon headers and the job’s own', async () => {
  let seen: { method?: string | undefined; headers: IncomingMessage['headers']; body: unknown } | undefined
  const { url } = await serve((request, response) => {
    void readAll(request).then((text) => {
      seen = { method: request.method, headers: request.headers, body: JSON.parse(text) }
      response.writeHead(201).end('made')
    })
  })
  const headers = {
    Authorization: 'Bearer s',
    'carillon-run-ID': 'forged',
    'idempotency-key': 'forged',
    Host: 'forged',
    'Content-Length': '3',
  }
  const outcome = await client().deliver(http(`${url}?a=b%20c`, { headers }), attempt, never)
  expect(outcome).toEqual({ kind: 'success', result: { status: 201, body: 'made' } })
  expect(seen).toMatchObject({
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'user-agent': 'Carillon/0.1',
      'accept-encoding': 'identity',
      'carillon-job-id': 'job_1',
      'carillon-run-id': 'run_1',
      'carillon-scheduled-at': '2026-01-05T09:00:00Z',
      'carillon-attempt': '2',
      'carillon-fencing-token': '77',
      'carillon-catch-up': 'false',
      'idempotency-key': 'job_1:1767603600',
      authorization: 'Bearer s',
      host: new URL(url).host,
    },
    body: {
      job_id: 'job_1',
      job_name: 'weekly report',
      run_id: 'run_1',
      scheduled_at: '2026-01-05T09:00:00Z',
      attempt: 2,
      fencing_token: 77,
      catch_up: false,
      idempotency_key: 'job_1:1767603600',
      payload: { n: 1 },
    },
  })
})

test('a GET has no body, and an idempotency key beyond ASCII is percent-encoded', async () => {
  let seen: IncomingMessage | undefined
  let body = 'unread'
  const { url } = await serve((request, response) => {
    seen = request
    void readAll(request).then((text) => {
      body = text
      response.end()
    })
  })
  const outcome = await client().deliver(
    http(url, { method: 'GET' }),
    { ...attempt, idempotencyKey: 'día\n1' },
    never,
  )
  expect(outcome).toEqual({ kind: 'success', result: { status: 200, body: '' } })
  expect(seen?.method).toBe('GET')
  expect(body).toBe('')
  expect(seen?.headers['content-type']).toBeUndefined()
  expect(seen?.headers['idempotency-key']).toBe('d%C3%ADa%0A1')
})

test('deliveries one after the other share a connection, also when more came than is kept', async () => {
  const { url, server } = await serve((_, response) => response.end('x'.repeat(10_000)))
  let connections = 0
  server.on('connection', () => connections++)
  const target = client()
  for (let deliveries = 0; deliveries < 5; deliveries++) {
    await target.deliver(http(url), attempt, never)
    // The client offers a connection for reuse only after a turn of the event loop.
    await setImmediate()
  }
  expect(connections).toBe(1)
})

test.each([408, 425, 429, 500, 503, 599])('status %i is retryable', async (status) => {
  const { outcome, url } = await deliverTo((_, response) => response.writeHead(status).end('busy\n now'))
  expect(outcome).toEqual({
    kind: 'failed',
    reason: 'http_status',
    retryable: true,
    error: `POST ${url} answered ${status}: busy now`,
    result: { status, body: 'busy\n now' },
  })
})

test.each([400, 404, 410, 422])('status %i is final, whatever its Retry-After', async (status) => {
  const { outcome } = await deliverTo((_, response) =>
    response.writeHead(status, { 'retry-after': '5' }).end(),
  )
  expect(outcome).toMatchObject({ kind: 'failed', reason: 'http_status', retryable: false })
  expect(outcome).not.toHaveProperty('retryAfterMs')
})

test.each([
  ['120', 120_000],
  [new Date(now + 45_000).toUTCString(), 45_000],
  ['99999999999', 86_400_000],
])('a 429 with Retry-After %s is honoured', async (header, wait) => {
  const { outcome } = await deliverTo((_, response) =>
    response.writeHead(429, { 'retry-after': header }).end(),
  )
  expect(outcome).toMatchObject({ retryable: true, retryAfterMs: wait })
})

test('redirects are not followed and are final', async () => {
  const paths: (string | undefined)[] = []
  const { outcome, url } = await deliverTo((request, response) => {
    paths.push(request.url)
    response.writeHead(302, { location: '/elsewhere' }).end()
  })
  expect(outcome).toMatchObject({
    kind: 'failed',
    reason: 'http_status',
    retryable: false,
    error: `POST ${url} answered 302 (to /elsewhere): redirects are not followed. Give the job's target the final URL.`,
  })
  expect(paths).toEqual(['/hook'])
})

test('a target that never answers fails at the deadline', async () => {
  const { outcome, url } = await deliverTo(() => {}, { timeoutMs: 100 })
  expect(outcome).toEqual({
    kind: 'failed',
    reason: 'timeout',
    retryable: true,
    error: `POST ${url}: no answer within 0.1 s`,
  })
})

function trickle(status: number): RequestListener {
  return (_, response) => {
    response.writeHead(status)
    const timer = setInterval(() => response.write('x'), 5)
    response.on('close', () => clearInterval(timer))
  }
}

test('a body that trickles in does not stretch the deadline', async () => {
  const { outcome } = await deliverTo(trickle(200), { timeoutMs: 1_500 })
  expect(outcome).toMatchObject({ kind: 'failed', reason: 'timeout', retryable: true })
  expect(outcome).toHaveProperty(
    'error',
    expect.stringMatching(/no complete answer within 1.5 s \(status 200 and \d+ bytes came\)/),
  )
})

test('a refusal whose body never ends is still the refusal', async () => {
  const { outcome } = await deliverTo(trickle(410), { timeoutMs: 1_500 })
  expect(outcome).toMatchObject({ reason: 'http_status', retryable: false, result: { status: 410 } })
})

test('a huge body is cut off: its start is kept and the sender is stopped', async () => {
  let sent = 0
  let stopped: () => void = () => {}
  const closed = new Promise<void>((resolve) => {
    stopped = resolve
  })
  const { outcome } = await deliverTo((_, response) => {
    const chunk = Buffer.alloc(65_536, 'a')
    const push = () => {
      do sent += chunk.length
      while (response.write(chunk))
    }
    response.on('drain', push).on('close', stopped)
    push()
  })
  await closed
  expect(outcome).toEqual({
    kind: 'success',
    result: { status: 200, body: 'a'.repeat(4_096), truncated: true },
  })
  expect(sent).toBeLessThan(64 * 1024 * 1024)
})

test('what Postgres cannot store is replaced in the excerpt, and no character is cut in half', async () => {
  const body = Buffer.concat([
    Buffer.from('a\0b'),
    Buffer.from([0xed, 0xa0, 0x80, 0xff]),
    Buffer.from('é'.repeat(4_000)),
  ])
  const { outcome } = await deliverTo((_, response) => response.end(body))
  const text = (outcome as { result: { body: string } }).result.body
  expect(text).toMatch(/^a\uFFFDb\uFFFD+é+$/)
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(4_096)
})

test('a connection closed amid the body of a success is a retryable failure', async () => {
  const { outcome } = await deliverTo((_, response) => {
    response.writeHead(200, { 'content-length': '100' })
    response.write('0123456789', () => response.destroy())
  })
  expect(outcome).toMatchObject({ kind: 'failed', reason: 'connection', retryable: true })
  expect(outcome).toHaveProperty(
    'error',
    expect.stringContaining('the connection was closed (status 200 and 10 bytes came)'),
  )
})

test('a connection closed without an answer is a retryable failure', async () => {
  const { outcome } = await deliverTo((request) => request.socket.destroy())
  expect(outcome).toMatchObject({ kind: 'failed', reason: 'connection', retryable: true })
  expect(outcome).toHaveProperty('error', expect.stringContaining('closed before an answer came'))
})

test('a refused connection names the address', async () => {
  const { url, server } = await serve(() => {})
  server.close()
  await once(server, 'close')
  const outcome = await client().deliver(http(url), attempt, never)
  const host = new URL(url).host
  expect(outcome).toEqual({
    kind: 'failed',
    reason: 'connection',
    retryable: true,
    error: `POST ${url}: connect ECONNREFUSED ${host}`,
  })
})

test('an answer that is not HTTP is a retryable failure', async () => {
  const server = createTcpServer((socket) => socket.end('SSH-2.0-OpenSSH\r\n'))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanups.push(() => server.close())
  const { port } = server.address() as AddressInfo
  const outcome = await client().deliver(http(`http://127.0.0.1:${port}/`), attempt, never)
  expect(outcome).toMatchObject({ kind: 'failed', reason: 'connection', retryable: true })
})

test('https to a plain HTTP port is a retryable failure', async () => {
  const { url } = await serve((_, response) => response.end())
  const outcome = await client().deliver(http(url.replace('http:', 'https:')), attempt, never)
  expect(outcome).toMatchObject({ kind: 'failed', reason: 'connection', retryable: true })
})

test('the caller’s signal ends a delivery under way, and closes its connection', async () => {
  const abort = new AbortController()
  let socketClosed: Promise<unknown> = Promise.resolve()
  const { url } = await serve((request) => {
    socketClosed = once(request.socket, 'close')
    abort.abort(new Error('the process is stopping'))
  })
  const outcome = await client().deliver(http(url), attempt, StopSwitch.by(abort.signal))
  expect(outcome).toEqual({
    kind: 'failed',
    reason: 'cancelled',
    retryable: true,
    error: `POST ${url}: cancelled: the process is stopping`,
  })
  await socketClosed
})

test('an already aborted signal sends nothing', async () => {
  let requests = 0
  const { url } = await serve((_, response) => {
    requests++
    response.end()
  })
  const target = client()
  expect(await target.deliver(http(url), attempt, StopSwitch.by(AbortSignal.abort()))).toMatchObject({
    reason: 'cancelled',
  })
  await target.deliver(http(url), attempt, never)
  expect(requests).toBe(1)
})

test('an attempt that waits for a connection keeps its deadline, and is not sent after it', async () => {
  const seen: unknown[] = []
  let release: () => void = () => {}
  let arrived: () => void = () => {}
  const first = new Promise<void>((resolve) => {
    arrived = resolve
  })
  const { url } = await serve((request, response) => {
    seen.push(request.headers['carillon-run-id'])
    if (seen.length > 1) return response.end()
    release = () => response.end()
    arrived()
  })
  const target = client({ connectionsPerOrigin: 1 })
  const holding = target.deliver(http(url), attempt, never)
  await first
  const waiting = await target.deliver(http(url), { ...attempt, runId: 'run_2', timeoutMs: 50 }, never)
  expect(waiting).toMatchObject({ kind: 'failed', reason: 'timeout' })
  release()
  expect(await holding).toMatchObject({ kind: 'success' })
  expect(await target.deliver(http(url), { ...attempt, runId: 'run_3' }, never)).toMatchObject({
    kind: 'success',
  })
  expect(seen).toEqual(['run_1', 'run_3'])
})

test('a target that cannot be sent at all is final', async () => {
  const target = client()
  expect(await target.deliver(http('nonsense'), attempt, never)).toMatchObject({
    reason: 'invalid_target',
    retryable: false,
  })
  const { url } = await serve((_, response) => response.end())
  const injected = http(url, { headers: { 'x-a': 'b\r\nx-c: d' } })
  expect(await target.deliver(injected, attempt, never)).toMatchObject({
    reason: 'invalid_target',
    retryable: false,
  })
})

test('the query of the URL stays out of error texts', async () => {
  const { url } = await serve((_, response) => response.writeHead(500).end())
  const outcome = await client().deliver(http(`${url}?token=secret`), attempt, never)
  expect(outcome).toHaveProperty('error', `POST ${url} answered 500`)
})
