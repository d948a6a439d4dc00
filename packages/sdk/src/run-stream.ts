import type { Run } from '@carillon/contract'
import { ApiError, ConnectionError } from './errors.js'
import { eventsOf, type ServerSentEvent } from './server-sent-events.js'
import { readAnswer, requestOf, type TransportOptions, urlOf, whyLost } from './transport.js'

export interface StreamOptions {
  jobId?: string
  /** Begin after this event, e.g. the last one that an earlier process saw. */
  after?: string
  /** Ends the stream. */
  signal?: AbortSignal
  /** Told whenever the stream is open, the first time and after each break. */
  onOpen?: () => void
  /** Told when it broke and is opened again. */
  onBreak?: (error: Error) => void
  /** Told when the server passed over some events, e.g. because they are older than what it keeps. */
  onGap?: () => void
}

export interface RunEvent {
  /** To go on after it: `after` of another stream. */
  id: string | undefined
  run: Run
}

/** The server sends a comment every 15 seconds: this long without one is a dead connection. */
const silenceMs = 45_000
const firstWaitMs = 250
const longestWaitMs = 10_000

/**
 * Every change of a run as it happens. A stream that breaks is opened again after the last event that was seen. It ends
 * when the caller leaves the loop or aborts; a refusal (401, 403, 404, …) is thrown.
 */
export async function* streamRuns(
  transport: TransportOptions,
  options: StreamOptions = {},
): AsyncGenerator<RunEvent, void, undefined> {
  let lastId = options.after
  let failures = 0
  while (options.signal?.aborted !== true) {
    const opened = new AbortController()
    try {
      for await (const event of openOnce(transport, options, lastId, opened)) {
        failures = 0
        if (event === null) continue
        // Also one without a run: a quiet stream stands somewhere, too.
        lastId = event.id ?? lastId
        if (event.kind === 'gap') options.onGap?.()
        if (event.run !== null) yield { id: event.id, run: event.run }
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

function ended({ signal }: StreamOptions): boolean {
  return signal?.aborted === true
}

function isPassing(error: unknown): error is Error {
  return (
    error instanceof ConnectionError ||
    (error instanceof ApiError && [429, 502, 503, 504].includes(error.status))
  )
}

interface Heard {
  kind: string
  id: string | undefined
  run: Run | null
}

/** One connection. `null` is a sign of life. */
async function* openOnce(
  transport: TransportOptions,
  { jobId, signal, onOpen }: StreamOptions,
  lastId: string | undefined,
  opened: AbortController,
): AsyncGenerator<Heard | null, void, undefined> {
  const call = { method: 'GET', path: '/api/v1/runs/stream', query: { job_id: jobId } } as const
  const url = urlOf(transport.baseUrl, call)
  const request = requestOf(transport, call)
  const headers = new Headers(request.headers)
  headers.set('accept', 'text/event-stream, application/problem+json')
  if (lastId !== undefined) headers.set('last-event-id', lastId)
  let silence: NodeJS.Timeout | undefined
  const heard = () => {
    clearTimeout(silence)
    silence = setTimeout(
      () => opened.abort(new DOMException('nothing was heard', 'TimeoutError')),
      silenceMs,
    ).unref()
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
    for await (const event of eventsOf(response.body)) {
      heard()
      yield event === null ? null : heardOf(event)
    }
  } catch (error) {
    if (error instanceof ApiError || error instanceof ConnectionError) throw error
    throw new ConnectionError('GET', url, whyLost(error, silenceMs), error)
  } finally {
    clearTimeout(silence)
  }
}

function heardOf({ event: kind, id, data }: ServerSentEvent): Heard {
  return { kind, id, run: kind === 'run' && data !== '' ? (JSON.parse(data) as Run) : null }
}
