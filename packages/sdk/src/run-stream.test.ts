import { expect, test } from 'vitest'
import { ApiError, createClient, type RunEvent } from './index.js'
import { eventsOf, type ServerSentEvent } from './server-sent-events.js'

const bytes = (text: string) => new TextEncoder().encode(text)

async function* chunksOf(text: string, size: number): AsyncGenerator<Uint8Array> {
  const all = bytes(text)
  for (let from = 0; from < all.length; from += size) yield Promise.resolve(all.slice(from, from + size))
}

async function parsed(text: string, size: number): Promise<(ServerSentEvent | null)[]> {
  const events: (ServerSentEvent | null)[] = []
  for await (const event of eventsOf(chunksOf(text, size))) events.push(event)
  return events
}

test.each([1, 2, 3, 7, 1000])('events are read however they are cut, here every %i bytes', async (size) => {
  const text =
    ': hello\n\nevent: run\r\nid: 7\r\ndata: {"ü":1}\r\n\r\ndata:a\rdata: b\r\rid: 8\n\nevent: half\ndata: lost\n'
  expect(await parsed(text, size)).toEqual([
    null,
    { event: 'run', id: '7', data: '{"ü":1}' },
    { event: 'message', id: undefined, data: 'a\nb' },
    { event: 'message', id: '8', data: '' },
  ])
})

type Reply = (lastEventId: string | null) => Response

function stream(...parts: string[]): Response {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const part of parts) controller.enqueue(bytes(part))
      controller.close()
    },
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream; charset=utf-8' } })
}
const run = (id: number) => `id: ${id}\nevent: run\ndata: {"run_id":"run_${id}"}\n\n`

function clientWith(...replies: Reply[]) {
  const asked: { url: string; after: string | null }[] = []
  const waits: number[] = []
  const fetch: typeof globalThis.fetch = (url, init) => {
    const after = new Headers(init?.headers).get('last-event-id')
    asked.push({ url: url instanceof Request ? url.url : String(url), after })
    const reply = replies[Math.min(asked.length, replies.length) - 1]
    return new Promise((resolve) => resolve(reply?.(after) ?? new Response(null, { status: 500 })))
  }
  const sleep = (ms: number) => {
    waits.push(ms)
    return Promise.resolve()
  }
  return {
    client: createClient({ url: 'http://carillon.test', apiKey: 'k', fetch, sleep, random: () => 1 }),
    asked,
    waits,
  }
}

async function take(events: AsyncIterable<RunEvent>, most: number): Promise<string[]> {
  const ids: string[] = []
  for await (const event of events) {
    ids.push(event.run.run_id)
    if (ids.length === most) break
  }
  return ids
}

test('runs come as they change; a stream that breaks goes on after the last one that was seen', async () => {
  const { client, asked, waits } = clientWith(
    () => stream(': heartbeat\n\n', run(1), run(2)),
    () => {
      throw new TypeError('fetch failed')
    },
    () => stream(run(3)),
  )
  const breaks: string[] = []
  const events = client.runs.stream({ jobId: 'job_1', onBreak: (error) => breaks.push(error.name) })
  expect(await take(events, 3)).toEqual(['run_1', 'run_2', 'run_3'])
  expect(asked).toEqual([
    { url: 'http://carillon.test/api/v1/runs/stream?job_id=job_1', after: null },
    { url: 'http://carillon.test/api/v1/runs/stream?job_id=job_1', after: '2' },
    { url: 'http://carillon.test/api/v1/runs/stream?job_id=job_1', after: '2' },
  ])
  expect(breaks).toEqual(['ConnectionError'])
  expect(waits).toEqual([250, 500])
})

test('a stream begins after the event that an earlier process saw last', async () => {
  const { client, asked } = clientWith(() => stream(run(8)))
  expect(await take(client.runs.stream({ after: '7' }), 1)).toEqual(['run_8'])
  expect(asked[0]?.after).toBe('7')
})

test('events of other kinds are passed over', async () => {
  const { client } = clientWith(() => stream('event: later\ndata: ?\n\n', run(1)))
  expect(await take(client.runs.stream(), 1)).toEqual(['run_1'])
})

test('a refusal is thrown and not tried again; a busy server is', async () => {
  const problem = (status: number, code: string) => () =>
    new Response(JSON.stringify({ code, detail: 'd' }), { status })
  const refused = clientWith(problem(401, 'unauthenticated'))
  const error: unknown = await take(refused.client.runs.stream(), 1).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(ApiError)
  expect(error).toMatchObject({ code: 'unauthenticated' })
  expect(refused.asked).toHaveLength(1)

  const busy = clientWith(problem(503, 'database_unavailable'), () => stream(run(1)))
  expect(await take(busy.client.runs.stream(), 1)).toEqual(['run_1'])
  expect(busy.asked).toHaveLength(2)
})

test('leaving the loop closes the connection', async () => {
  let closed: () => void = () => undefined
  const isClosed = new Promise<void>((resolve) => (closed = resolve))
  const { client } = clientWith(
    () =>
      new Response(
        new ReadableStream<Uint8Array>({
          start: (controller) => controller.enqueue(bytes(run(1))),
          cancel: () => closed(),
        }),
        { headers: { 'content-type': 'text/event-stream' } },
      ),
  )
  await take(client.runs.stream(), 1)
  await isClosed
})

test('a stream that is given up ends without an error', async () => {
  const giveUp = new AbortController()
  const { client } = clientWith(() => stream(run(1)))
  const ids: string[] = []
  for await (const event of client.runs.stream({ signal: giveUp.signal })) {
    ids.push(event.run.run_id)
    giveUp.abort()
  }
  expect(ids).toEqual(['run_1'])
})

test('a stream that breaks before any run goes on from where it stood, and a gap is told', async () => {
  const { client, asked } = clientWith(
    () => stream('retry: 1000\n\n', ': alive\nid: 40\n\n'),
    () => stream('event: gap\nid: 50\ndata: {}\n\n'),
    () => stream(run(51)),
  )
  let gaps = 0
  expect(await take(client.runs.stream({ onGap: () => gaps++ }), 1)).toEqual(['run_51'])
  expect(asked.map(({ after }) => after)).toEqual([null, '40', '50'])
  expect(gaps).toBe(1)
})

test('a stream that waits to be opened again ends at once when it is told to', async () => {
  const leaving = new AbortController()
  const fetch = () => Promise.reject(new TypeError('fetch failed'))
  // A wait that only the signal ends.
  const sleep = (_ms: number, signal?: AbortSignal) =>
    new Promise<void>((resolve) => {
      signal?.addEventListener('abort', () => resolve())
      queueMicrotask(() => leaving.abort())
    })
  const client = createClient({ url: 'http://carillon.test', fetch, sleep })
  expect(await take(client.runs.stream({ signal: leaving.signal }), 1)).toEqual([])
})

test('a stream of the numbers hands the pieces of the history on beside them', async () => {
  const { client } = clientWith(() =>
    stream(
      'event: history\ndata: {"through":"a","data":[]}\n\nevent: stats\ndata: {"now":"1"}\n\n',
      'event: history\ndata: {"through":"b","data":[]}\n\nevent: stats\ndata: {"now":"2"}\n\n',
    ),
  )
  const through: string[] = []
  const seen: string[] = []
  for await (const { now } of client.statsStream({ onHistory: (pieces) => through.push(pieces.through) })) {
    seen.push(now)
    if (seen.length === 2) break
  }
  expect(seen).toEqual(['1', '2'])
  expect(through).toEqual(['a', 'b'])
})
