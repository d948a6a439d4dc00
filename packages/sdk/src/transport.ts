import type { FieldProblem } from '@carillon/contract'
import { ApiError, ConnectionError } from './errors.js'

export interface TransportOptions {
  baseUrl: URL
  apiKey: string | undefined
  fetch: typeof globalThis.fetch
  timeoutMs: number
  maxRetries: number
  sleep: (ms: number) => Promise<void>
  random: () => number
}

export interface Call {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Below the base URL, already encoded. */
  path: string
  query?: Record<string, string | number | undefined>
  body?: unknown
  /** In place of the client's, for a call that waits on purpose. */
  timeoutMs?: number
  /** Gives the call up. */
  signal?: AbortSignal
}

export interface Answer {
  /** Undefined for an answer without a body. */
  value: unknown
  /** Whether an earlier try was lost on the way, so that the server may have seen the call twice. */
  repeated: boolean
}

const firstBackoffMs = 200
const longestBackoffMs = 5_000

/** Makes one API call. Only calls that are safe to repeat are: after a lost answer or a 503, a bounded number of times. */
export async function send(options: TransportOptions, call: Call): Promise<Answer> {
  const retries = call.method === 'POST' || call.method === 'PATCH' ? 0 : options.maxRetries
  let repeated = false
  for (let tries = 0; ; tries++) {
    try {
      return { value: await sendOnce(options, call), repeated }
    } catch (error) {
      if (error instanceof ApiError && repeated && isGone(call, error)) return { value: undefined, repeated }
      if (tries >= retries || !worthRepeating(error)) throw error
      repeated ||= error instanceof ConnectionError
    }
    await options.sleep(backoffMs(tries, options.random()))
  }
}

/** A lost DELETE may have worked: not finding the job on the second try is what was asked for. */
function isGone(call: Call, error: ApiError): boolean {
  return call.method === 'DELETE' && error.status === 404
}

function worthRepeating(error: unknown): boolean {
  return error instanceof ConnectionError || (error instanceof ApiError && error.status === 503)
}

function backoffMs(tries: number, random: number): number {
  return Math.min(firstBackoffMs * 2 ** tries, longestBackoffMs) * (0.5 + random / 2)
}

async function sendOnce(options: TransportOptions, call: Call): Promise<unknown> {
  const url = urlOf(options.baseUrl, call)
  const headers: Record<string, string> = { accept: 'application/json, application/problem+json' }
  if (options.apiKey !== undefined) headers['authorization'] = `Bearer ${options.apiKey}`
  if (call.body !== undefined) headers['content-type'] = 'application/json'
  const request = {
    method: call.method,
    headers,
    // Otherwise a redirect could carry the API key, and turn a POST into a GET.
    redirect: 'manual' as const,
    ...(call.body !== undefined && { body: JSON.stringify(call.body) }),
  }
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
  return read(response, text, `${call.method} ${url}`)
}

function urlOf(base: URL, call: Call): string {
  const url = new URL(base)
  url.pathname = `${base.pathname.replace(/\/+$/, '')}${call.path}`
  for (const [name, value] of Object.entries(call.query ?? {})) {
    if (value !== undefined) url.searchParams.set(name, String(value))
  }
  return url.href
}

/** fetch hides the reason ("fetch failed") behind `cause`. */
function whyLost(error: unknown, timeoutMs: number): string {
  if (error instanceof Error && error.name === 'TimeoutError') return `no answer within ${timeoutMs / 1000} s`
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
  if (cause instanceof AggregateError && cause.errors.length > 0) return cause.errors.map(String).join('; ')
  if (!(cause instanceof Error)) return String(cause)
  return cause.message === '' ? cause.name : cause.message
}

function read(response: Response, text: string, call: string): unknown {
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
  })
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function isFieldProblem(value: unknown): value is FieldProblem {
  return isRecord(value) && typeof value['pointer'] === 'string' && typeof value['message'] === 'string'
}
