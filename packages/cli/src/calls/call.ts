import { ApiError, ConnectionError, type FieldProblem } from '@carillon/sdk'
import type { Command } from 'commander'
import { serverOf } from '../client.js'

export interface Request {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Below /api/v1, already encoded. */
  path: string
  query?: Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>
  body?: unknown
  headers?: Readonly<Record<string, string>>
  /** Long work has longer than a person's patience. */
  timeoutMs?: number
}

export interface Answered<Value> {
  value: Value
  status: number
}

/** One server, asked for what the SDK's client has no method for yet. */
export interface Caller {
  readonly origin: string
  call<Value>(request: Request): Promise<Value>
  answer<Value>(request: Request): Promise<Answered<Value>>
  /** A response whose body is read as it comes. */
  open(path: string, options: { headers?: Record<string, string>; signal?: AbortSignal }): Promise<Response>
}

const usualTimeoutMs = 30_000

export function callerOf(command: Command): Caller {
  const { url, apiKey } = serverOf(command)
  const headersOf = (more: Readonly<Record<string, string>> = {}) => ({
    accept: 'application/json, application/problem+json',
    ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
    ...more,
  })
  const answer = async <Value>(request: Request): Promise<Answered<Value>> => {
    const target = urlOf(url, request)
    const response = await sent(request.method, target, {
      headers: headersOf({
        ...(request.body !== undefined && { 'content-type': 'application/json' }),
        ...request.headers,
      }),
      ...(request.body !== undefined && { body: JSON.stringify(request.body) }),
      signal: AbortSignal.timeout(request.timeoutMs ?? usualTimeoutMs),
    })
    return { value: (await read(response, `${request.method} ${target}`)) as Value, status: response.status }
  }
  return {
    origin: new URL(url).origin,
    answer,
    call: async <Value>(request: Request) => (await answer<Value>(request)).value,
    async open(path, { headers = {}, signal }) {
      const target = urlOf(url, { method: 'GET', path })
      const response = await sent('GET', target, {
        headers: headersOf(headers),
        ...(signal !== undefined && { signal }),
      })
      if (!response.ok) await read(response, `GET ${target}`)
      return response
    },
  }
}

async function sent(method: string, url: string, init: RequestInit): Promise<Response> {
  try {
    // A redirect could carry the API key elsewhere, and turn a POST into a GET.
    return await fetch(url, { ...init, method, redirect: 'manual' })
  } catch (error) {
    if (error instanceof Error && error.name === 'AbortError') throw error
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
    const why = cause instanceof Error && cause.message !== '' ? cause.message : String(cause)
    throw new ConnectionError(method, url, why, error)
  }
}

function urlOf(base: string, { path, query = {} }: Pick<Request, 'path' | 'query' | 'method'>): string {
  const url = new URL(base)
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/api/v1${path}`
  for (const [name, value] of Object.entries(query)) {
    const values = Array.isArray(value) ? (value as readonly string[]) : value === undefined ? [] : [value]
    for (const one of values) url.searchParams.append(name, String(one))
  }
  return url.href
}

async function read(response: Response, call: string): Promise<unknown> {
  const text = await response.text()
  const value = text === '' ? undefined : parsed(text)
  if (response.ok && value !== notJson) return value
  const body = typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  const word = (name: string, otherwise: string) => {
    const given = body[name]
    return typeof given === 'string' && given !== '' ? given : otherwise
  }
  if (typeof body['code'] !== 'string') {
    throw new ApiError({
      status: response.status,
      code: 'unexpected_answer',
      detail: `${call} was answered with ${response.headers.get('content-type') ?? 'no content type'}, which is not an answer of Carillon`,
      hint: "Check the url: it is the server's address, without /api/v1, and no login page or proxy answers for it.",
      errors: [],
      requestId: undefined,
    })
  }
  throw Object.assign(
    new ApiError({
      status: response.status,
      code: body['code'],
      detail: word('detail', word('title', body['code'])),
      hint: word('hint', ''),
      errors: Array.isArray(body['errors']) ? (body['errors'] as FieldProblem[]) : [],
      requestId: typeof body['request_id'] === 'string' ? body['request_id'] : undefined,
    }),
    { body },
  )
}

const notJson = Symbol('not JSON')

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return notJson
  }
}

/** A word of a person as one segment of a path: an empty one, "." or ".." would address something else. */
export function segment(text: string): string {
  if (/^\.{0,2}$/.test(text)) throw new TypeError(`"${text}" cannot be a name here.`)
  return encodeURIComponent(text)
}
