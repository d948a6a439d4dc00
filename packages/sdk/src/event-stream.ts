import { ApiError, ConnectionError } from './errors.js'
import { eventsOf, type ServerSentEvent } from './server-sent-events.js'
import { type Call, readAnswer, requestOf, type TransportOptions, urlOf, whyLost } from './transport.js'

export interface EventStreamOptions {
  /** Begin after this event, e.g. the last one that an earlier process saw. */
  after?: string
  /** Ends the stream. */
  signal?: AbortSignal
  /** Told whenever the stream is open, the first time and after each break. */
  onOpen?: () => void
  /** Told when it broke and is opened again. */
  onBreak?: (error: Error) => void
}

type StreamCall = Pick<Call, 'path' | 'query'>

/** The server sends a comment every 15 seconds: this long without one is a dead connection. */
const silenceMs = 45_000
const firstWaitMs = 250
const longestWaitMs = 10_000

/**
 * The events of a stream. One that breaks is opened again after the last event that was seen. It ends when the caller leaves
 * the loop or aborts; a refusal (401, 403, 404, …) is thrown.
 */
export async function* streamEvents(
  transport: TransportOptions,
  call: StreamCall,
  options: EventStreamOptions,
): AsyncGenerator<ServerSentEvent, void, undefined> {
  let lastId = options.after
  let failures = 0
  while (options.signal?.aborted !== true) {
    const opened = new AbortController()
    try {
      for await (const event of openOnce(transport, call, { ...options, lastId, opened })) {
        failures = 0
        if (event === null) continue
        // Also one without data: a quiet stream stands somewhere, too.
        lastId = event.id ?? lastId
        yield event
      }
    } catch (error) {
      if (ended(options)) return
      if (!isPassing(error)) throw error
      options.onBreak?.(error)
    } finally {
      opened.abort()
    }
    if (ended(options)) return
    const wait = Math.min(firstWaitMs * 2 ** Math.min(failures++, 10), longestWaitMs)
    await transport.sleep(wait * (0.5 + transport.random() / 2), options.signal)
  }
}

function ended({ signal }: EventStreamOptions): boolean {
  return signal?.aborted === true
}

function isPassing(error: unknown): error is Error {
  return (
    error instanceof ConnectionError ||
    (error instanceof ApiError && [429, 502, 503, 504].includes(error.status))
  )
}

/** One connection. `null` is a sign of life. */
async function* openOnce(
  transport: TransportOptions,
  streamCall: StreamCall,
  {
    signal,
    onOpen,
    lastId,
    opened,
  }: EventStreamOptions & { lastId: string | undefined; opened: AbortController },
): AsyncGenerator<ServerSentEvent | null, void, undefined> {
  const call = { method: 'GET', ...streamCall } as const
  const url = urlOf(transport.baseUrl, call)
  const request = requestOf(transport, call)
  const headers = new Headers(request.headers)
  headers.set('accept', 'text/event-stream, application/problem+json')
  if (lastId !== undefined) headers.set('last-event-id', lastId)
  let silence: ReturnType<typeof setTimeout> | undefined
  const heard = () => {
    clearTimeout(silence)
    silence = setTimeout(() => opened.abort(new DOMException('nothing was heard', 'TimeoutError')), silenceMs)
    // In a browser it is a number, and keeps nothing alive.
    if (typeof silence === 'object') silence.unref()
  }
  try {
    heard()
    const signals = [opened.signal, ...(signal === undefined ? [] : [signal])]
    const response = await transport.fetch(url, { ...request, headers, signal: AbortSignal.any(signals) })
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
    if (!response.ok || !isStream || response.body === null) {
      readAnswer(response, await response.text(), `GET ${url}`)
      throw new ConnectionError('GET', url, 'the answer is no stream of events', undefined)
    }
    heard()
    onOpen?.()
    for await (const event of eventsOf(chunksOf(response.body))) {
      heard()
      yield event
    }
  } catch (error) {
    if (error instanceof ApiError || error instanceof ConnectionError) throw error
    throw new ConnectionError('GET', url, whyLost(error, silenceMs), error)
  } finally {
    clearTimeout(silence)
  }
}

/** Not every browser iterates over a body by itself. */
async function* chunksOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = body.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield value
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}
