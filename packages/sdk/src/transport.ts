import type { FieldProblem } from '@carillon/contract'
import { ApiError, ConnectionError } from './errors.js'

export interface TransportOptions {
  baseUrl: URL
  apiKey: string | undefined
  fetch: typeof globalThis.fetch
  timeoutMs: number
  maxRetries: number
  /** Ends early when the signal says so. */
  sleep: (ms: number, signal?: AbortSignal) => Promise<void>
  random: () => number
}

type QueryValue = string | number | boolean | undefined

export interface Call {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Below the base URL, already encoded. */
  path: string
  /** A list is given as the same name several times. */
  query?: Record<string, QueryValue | readonly string[]>
  body?: unknown
  /** The server does a call with this key once, however often it comes: so it may be repeated. */
  idempotencyKey?: string
  /** Only if this is the version that is there. */
  ifMatch?: number
  /** In place of the client's, for a call that waits on purpose. */
  timeoutMs?: number
  /** Gives the call up. */
  signal?: AbortSignal
}

export interface Answer {
  /** Undefined for an answer without a body. */
  value: unknown
  headers: Headers
  /** Whether an earlier try was lost on the way, so that the server may have seen the call twice. */
  repeated: boolean
}

const firstBackoffMs = 200
const longestBackoffMs = 5_000

/** A server that asks for more than this is not waited for: the error says how long it asked for. */
const longestAskedMs = 60_000

/**
 * Makes one API call. Repeated, a bounded number of times, is only what is safe to: after a lost answer or a 503 a call
 * that changes nothing when it comes twice, and after a 429 any, since the server did nothing.
 */
export async function send(options: TransportOptions, call: Call): Promise<Answer> {
  let repeated = false
  for (let tries = 0; ; tries++) {
    let waitMs: number
    try {
      return { ...(await sendOnce(options, call)), repeated }
    } catch (error) {
      if (error instanceof ApiError && repeated && isGone(call, error)) return { ...gone, repeated }
      if (tries >= options.maxRetries || !worthRepeating(call, error, repeated)) throw error
      const asked = error instanceof ApiError ? error.retryAfterSeconds : undefined
      if (asked !== undefined && asked * 1000 > longestAskedMs) throw error
      repeated ||= error instanceof ConnectionError
      waitMs = Math.max((asked ?? 0) * 1000, backoffMs(tries, options.random()))
    }
    await options.sleep(waitMs, call.signal)
  }
}

const gone = { value: undefined, headers: new Headers() }

/** A lost DELETE may have worked: not finding the job on the second try is what was asked for. */
function isGone(call: Call, error: ApiError): boolean {
  return call.method === 'DELETE' && error.status === 404
}

function worthRepeating(call: Call, error: unknown, repeated: boolean): boolean {
  if (call.signal?.aborted === true) return false
  if (error instanceof ApiError && error.status === 429) return true
  const harmless = (call.method !== 'POST' && call.method !== 'PATCH') || call.idempotencyKey !== undefined
  if (!harmless) return false
  // Our own call before this one, whose answer was lost, is still under way.
  if (error instanceof ApiError && error.code === 'idempotency_key_in_use') return repeated
  return error instanceof ConnectionError || (error instanceof ApiError && error.status === 503)
}

function backoffMs(tries: number, random: number): number {
  return Math.min(firstBackoffMs * 2 ** tries, longestBackoffMs) * (0.5 + random / 2)
}

async function sendOnce(
  options: TransportOptions,
  call: Call,
): Promise<{ value: unknown; headers: Headers }> {
  const url = urlOf(options.baseUrl, call)
  const request = requestOf(options, call)
  const timeoutMs = call.timeoutMs ?? options.timeoutMs
  let response: Response
  let text: string
  try {
    const signals = [AbortSignal.timeout(timeoutMs), ...(call.signal === undefined ? [] : [call.signal])]
    response = await options.fetch(url, { ...request, signal: AbortSignal.any(signals) })
    text = await response.text()
  } catch (error) {
    throw new ConnectionError(call.method, url, whyLost(error, timeoutMs), error)
  }
  return { value: readAnswer(response, text, `${call.method} ${url}`), headers: response.headers }
}

export function requestOf({ apiKey }: Pick<TransportOptions, 'apiKey'>, call: Call): RequestInit {
  const headers: Record<string, string> = { accept: 'application/json, application/problem+json' }
  if (apiKey !== undefined) headers['authorization'] = `Bearer ${apiKey}`
  if (call.body !== undefined) headers['content-type'] = 'application/json'
  if (call.idempotencyKey !== undefined) headers['idempotency-key'] = call.idempotencyKey
  if (call.ifMatch !== undefined) headers['if-match'] = `"${call.ifMatch}"`
  return {
    method: call.method,
    headers,
    // Otherwise a redirect could carry the API key, and turn a POST into a GET.
    redirect: 'manual',
    ...(call.body !== undefined && { body: JSON.stringify(call.body) }),
  }
}

export function urlOf(base: URL, call: Pick<Call, 'path' | 'query'>): string {
  const url = new URL(base)
  url.pathname = `${base.pathname.replace(/\/+$/, '')}${call.path}`
  for (const [name, value] of Object.entries(call.query ?? {})) {
    if (value === undefined) continue
    for (const one of Array.isArray(value) ? value : [value]) url.searchParams.append(name, String(one))
  }
  return url.href
}

/** fetch hides the reason ("fetch failed") behind `cause`. */
export function whyLost(error: unknown, timeoutMs: number): string {
  if (error instanceof Error && error.name === 'TimeoutError') return `no answer within ${timeoutMs / 1000} s`
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
  if (cause instanceof AggregateError && cause.errors.length > 0) return cause.errors.map(String).join('; ')
  if (!(cause instanceof Error)) return String(cause)
  return cause.message === '' ? cause.name : cause.message
}

export function readAnswer(response: Response, text: string, call: string): unknown {
  const value = text === '' ? undefined : parse(text)
  if (response.ok && value !== notJson) return value
  if (!response.ok && isRecord(value) && typeof value['code'] === 'string')
    throw problem(response, value, value['code'])
  const kind = response.headers.get('content-type') ?? 'no content type'
  throw new ApiError({
    status: response.status,
    code: 'unexpected_answer',
    detail: `${call} was answered with ${kind}, which is not an answer of Carillon`,
    hint: "Check the client's url: it is the server's address, without /api/v1, and no login page or proxy answers for it.",
    errors: [],
    requestId: undefined,
    retryAfterSeconds: retryAfterOf(response),
  })
}

const notJson = Symbol('not JSON')

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return notJson
  }
}

function problem(response: Response, body: Record<string, unknown>, code: string): ApiError {
  const text = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined)
  return new ApiError({
    status: response.status,
    code,
    detail: text(body['detail']) ?? text(body['title']) ?? code,
    hint: text(body['hint']) ?? '',
    errors: Array.isArray(body['errors']) ? body['errors'].filter(isFieldProblem) : [],
    requestId: text(body['request_id']),
    retryAfterSeconds: retryAfterOf(response),
    body,
  })
}

/** Carillon gives seconds. A date, which a proxy may give, would be read by a clock that nobody vouches for. */
function retryAfterOf(response: Response): number | undefined {
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
  return Number.isFinite(seconds) && seconds >= 0 ? seconds : undefined
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function isFieldProblem(value: unknown): value is FieldProblem {
  return isRecord(value) && typeof value['pointer'] === 'string' && typeof value['message'] === 'string'
}
