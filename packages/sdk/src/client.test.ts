import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { ApiError, type Client, type ClientOptions, ConnectionError, createClient } from './index.js'

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
})

interface Seen {
  method: string | undefined
  path: string | undefined
  headers: IncomingMessage['headers']
  body: string
}

type Reply = (response: ServerResponse, request: IncomingMessage) => void
const json =
  (status: number, body: unknown, type = 'application/json'): Reply =>
  (response) =>
    response.writeHead(status, { 'content-type': type }).end(JSON.stringify(body))
const cut: Reply = (_, request) => request.socket.destroy()

/** Answers each request with the next reply, the last one again and again. */
async function serve(...replies: Reply[]) {
  const seen: Seen[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk) => (body += String(chunk)))
    request.on('end', () => {
      seen.push({ method: request.method, path: request.url, headers: request.headers, body })
      replies[Math.min(seen.length, replies.length) - 1]?.(response, request)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanups.push(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const waits: number[] = []
  const sleep = (ms: number) => {
    waits.push(ms)
    return Promise.resolve()
  }
  const client = (options: Partial<ClientOptions> = {}) =>
    createClient({ url, sleep, random: () => 0.5, ...options })
  return { url, seen, waits, client }
}

const problem = (status: number, code: string) =>
  json(
    status,
    {
      type: `urn:carillon:error:${code}`,
      title: 'Title',
      status,
      code,
      detail: 'What went wrong',
      hint: 'What to do',
      request_id: 'req_1',
      errors: [{ pointer: '/schedule', message: 'not a schedule' }, 'nonsense'],
    },
    'application/problem+json',
  )

const caught = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  )

test('create posts the job as JSON, with the key as a bearer token', async () => {
  const { client, seen } = await serve(json(201, { job_id: 'job_1' }))
  const input = {
    name: 'report',
    schedule: '0 9 * * 1',
    target: { type: 'http' as const, url: 'https://example.com/' },
  }
  expect(await client({ apiKey: 'k1' }).jobs.create(input)).toEqual({ job_id: 'job_1' })
  expect(seen).toHaveLength(1)
  expect(seen[0]).toMatchObject({
    method: 'POST',
    path: '/api/v1/jobs',
    headers: { 'content-type': 'application/json', authorization: 'Bearer k1' },
  })
  expect(JSON.parse(seen[0]?.body ?? '')).toEqual(input)
})

test('list, get and runs read their routes; delete takes an empty answer', async () => {
  const list = await serve(json(200, { data: [], next_cursor: null }))
  expect(await list.client().jobs.list({ limit: 5, cursor: 'a+b' })).toEqual({ data: [], next_cursor: null })
  expect(list.seen[0]).toMatchObject({ method: 'GET', path: '/api/v1/jobs?limit=5&cursor=a%2Bb' })
  expect(list.seen[0]?.headers).not.toHaveProperty('authorization')

  const get = await serve(json(200, { job_id: 'a/b' }))
  expect(await get.client().jobs.get('a/b')).toEqual({ job_id: 'a/b' })
  expect(get.seen[0]?.path).toBe('/api/v1/jobs/a%2Fb')

  const runs = await serve(json(200, [{ run_id: 'run_1' }]))
  expect(await runs.client().jobs.runs('job_1', { limit: 2 })).toEqual([{ run_id: 'run_1' }])
  expect(runs.seen[0]?.path).toBe('/api/v1/jobs/job_1/runs?limit=2')

  const remove = await serve((response) => response.writeHead(204).end())
  expect(await remove.client().jobs.delete('job_1')).toBeUndefined()
  expect(remove.seen[0]).toMatchObject({ method: 'DELETE', path: '/api/v1/jobs/job_1' })
})

test('a path in front of the API is kept', async () => {
  const { url, seen } = await serve(json(200, {}))
  await createClient({ url: `${url}/carillon/` }).jobs.get('job_1')
  expect(seen[0]?.path).toBe('/carillon/api/v1/jobs/job_1')
})

test('iterate follows the cursors to the end, and fetches no page that is not asked for', async () => {
  const { client, seen } = await serve(
    json(200, { data: [{ job_id: '1' }, { job_id: '2' }], next_cursor: 'c1' }),
    json(200, { data: [], next_cursor: 'c2' }),
    json(200, { data: [{ job_id: '3' }], next_cursor: null }),
  )
  const ids: string[] = []
  for await (const job of client().jobs.iterate({ limit: 2 })) {
    if (ids.length === 0) expect(seen).toHaveLength(1)
    ids.push(job.job_id)
  }
  expect(ids).toEqual(['1', '2', '3'])
  expect(seen.map(({ path }) => path)).toEqual([
    '/api/v1/jobs?limit=2',
    '/api/v1/jobs?limit=2&cursor=c1',
    '/api/v1/jobs?limit=2&cursor=c2',
  ])
})

test('a problem document becomes an ApiError with all that it says', async () => {
  const { client } = await serve(problem(422, 'invalid_schedule'))
  const error = await caught(client().jobs.create({ name: 'x', schedule: 'y' }))
  expect(error).toBeInstanceOf(ApiError)
  expect(error).toMatchObject({
    status: 422,
    code: 'invalid_schedule',
    message: 'What went wrong (invalid_schedule, HTTP 422)',
    detail: 'What went wrong',
    hint: 'What to do',
    requestId: 'req_1',
    errors: [{ pointer: '/schedule', message: 'not a schedule' }],
  })
})

test.each([
  [
    'an HTML page',
    (response: ServerResponse) => response.setHeader('content-type', 'text/html').end('<html>'),
  ],
  [
    'a proxy’s error page',
    (response: ServerResponse) => response.writeHead(502, { 'content-type': 'text/html' }).end('<html>'),
  ],
  ['a redirect', (response: ServerResponse) => response.writeHead(302, { location: '/login' }).end()],
  ['JSON of somebody else', json(404, { message: 'no route' })],
])('%s is told apart from an answer of Carillon', async (_, reply) => {
  const { client, seen } = await serve(reply)
  const error = await caught(client().jobs.get('job_1'))
  expect(error).toBeInstanceOf(ApiError)
  expect(error).toMatchObject({ code: 'unexpected_answer' })
  expect((error as ApiError).hint).toContain('url')
  expect(seen).toHaveLength(1)
})

test('a read is repeated after a lost answer and a 503, with growing waits', async () => {
  const half: Reply = (response, request) => {
    response.writeHead(200, { 'content-length': '50' })
    response.write('{', () => request.socket.destroy())
  }
  const { client, seen, waits } = await serve(
    cut,
    half,
    problem(503, 'database_unavailable'),
    json(200, { job_id: '1' }),
  )
  expect(await client().jobs.get('1')).toEqual({ job_id: '1' })
  expect(seen).toHaveLength(4)
  expect(waits).toEqual([150, 300, 600])
})

test('the repeats are bounded, and the last error is given', async () => {
  const { client, seen } = await serve(problem(503, 'database_unavailable'))
  expect(await caught(client().jobs.list())).toMatchObject({ code: 'database_unavailable', status: 503 })
  expect(seen).toHaveLength(4)
  expect(await caught(client({ maxRetries: 0 }).jobs.list())).toBeInstanceOf(ApiError)
  expect(seen).toHaveLength(5)
})

test('a POST with a key is repeated after a lost answer, with the same key', async () => {
  const { client, seen } = await serve(
    cut,
    problem(409, 'idempotency_key_in_use'),
    json(201, { job_id: 'job_1' }),
  )
  expect(await client().jobs.create({ name: 'x', schedule: 'y' })).toEqual({ job_id: 'job_1' })
  expect(seen).toHaveLength(3)
  expect(new Set(seen.map(({ headers }) => headers['idempotency-key'])).size).toBe(1)
})

test('a key that another call has under way is told, where no answer of ours was lost', async () => {
  const { client, seen } = await serve(problem(409, 'idempotency_key_in_use'))
  const error = await caught(client().jobs.create({ name: 'x', schedule: 'y' }, { idempotencyKey: 'mine' }))
  expect(error).toMatchObject({ code: 'idempotency_key_in_use' })
  expect(seen).toHaveLength(1)
})

test('a POST without a key is never repeated after a lost answer or a 503, nor is a PATCH', async () => {
  for (const call of [
    (c: Client) => c.jobs.pause('job_1'),
    (c: Client) => c.jobs.edit('job_1', { priority: 1 }),
  ]) {
    const lost = await serve(cut)
    expect(await caught(call(lost.client()))).toBeInstanceOf(ConnectionError)
    expect(lost.seen).toHaveLength(1)
    const busy = await serve(problem(503, 'database_unavailable'))
    expect(await caught(call(busy.client()))).toMatchObject({ status: 503 })
    expect(busy.seen).toHaveLength(1)
  }
})

const after =
  (seconds: string, status = 429): Reply =>
  (response, request) => {
    response.setHeader('retry-after', seconds)
    problem(status, 'rate_limited')(response, request)
  }

test('a 429 did nothing: any call is repeated, after the time that the server asks for', async () => {
  const { client, seen, waits } = await serve(after('7'), json(200, { job_id: 'job_1' }))
  expect(await client().jobs.pause('job_1')).toEqual({ job_id: 'job_1' })
  expect(seen).toHaveLength(2)
  expect(waits).toEqual([7_000])
})

test('a server that asks for more than a minute is not waited for, and the error says how long', async () => {
  const { client, seen, waits } = await serve(after('3600'))
  expect(await caught(client().jobs.get('job_1'))).toMatchObject({ status: 429, retryAfterSeconds: 3600 })
  expect(seen).toHaveLength(1)
  expect(waits).toEqual([])
})

test.each(['soon', '-5', 'Wed, 21 Oct 2026 07:28:00 GMT'])(
  'a Retry-After of "%s" is no number of seconds: the usual wait is taken',
  async (text) => {
    const { client, waits } = await serve(after(text, 503), json(200, {}))
    await client().jobs.get('job_1')
    expect(waits).toEqual([150])
  },
)

test('a refusal gives all that the server said, e.g. the results of a bulk create', async () => {
  const results = [{ index: 0, status: 'failed', name: 'x' }]
  const { client } = await serve(json(422, { code: 'bulk_failed', detail: 'd', results }))
  expect(await caught(client().jobs.bulk({ jobs: [], atomic: true }))).toMatchObject({ body: { results } })
})

test('other refusals are not repeated', async () => {
  const { client, seen } = await serve(problem(500, 'internal_error'))
  expect(await caught(client().jobs.get('1'))).toMatchObject({ code: 'internal_error' })
  expect(seen).toHaveLength(1)
})

test('a delete whose answer was lost has worked when the job is gone; one of an unknown job has not', async () => {
  const lost = await serve(cut, problem(404, 'job_not_found'))
  expect(await caught(lost.client().jobs.delete('job_1'))).toBeUndefined()
  const unknown = await serve(problem(404, 'job_not_found'))
  expect(await caught(unknown.client().jobs.delete('job_1'))).toMatchObject({ code: 'job_not_found' })
})

test('a server that is not there is a ConnectionError with the URL and a hint', async () => {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  const url = `http://127.0.0.1:${port}`
  const error = await caught(createClient({ url, maxRetries: 0 }).jobs.get('job_1'))
  expect(error).toBeInstanceOf(ConnectionError)
  expect(error).toMatchObject({
    url: `${url}/api/v1/jobs/job_1`,
    message: `GET ${url}/api/v1/jobs/job_1: connect ECONNREFUSED 127.0.0.1:${port}`,
  })
  expect((error as ConnectionError).hint).toContain(`${url} (GET /readyz`)
})

test('a call without an answer ends at its deadline', async () => {
  const { client } = await serve(() => {})
  const error = await caught(client({ timeoutMs: 50, maxRetries: 0 }).jobs.get('job_1'))
  expect(error).toBeInstanceOf(ConnectionError)
  expect((error as Error).message).toContain('no answer within 0.05 s')
})

test('an injected fetch is used', async () => {
  const urls: string[] = []
  const client = createClient({
    url: 'http://carillon.example',
    fetch: (input) => {
      urls.push(input as string)
      return Promise.resolve(new Response('{"job_id":"1"}'))
    },
  })
  expect(await client.jobs.get('1')).toEqual({ job_id: '1' })
  expect(urls).toEqual(['http://carillon.example/api/v1/jobs/1'])
})

test.each(['', 'localhost:8080', 'ftp://x', '/api'])('the server address %j is refused at once', (url) => {
  expect(() => createClient({ url })).toThrow(/is not a URL of a server.*http:\/\/localhost/)
})

test.each(['', '.', '..'])('the job id %j is refused, as it would address something else', async (id) => {
  const { client, seen } = await serve(json(200, {}))
  expect(await caught(client().jobs.delete(id))).toBeInstanceOf(TypeError)
  expect(seen).toHaveLength(0)
})
