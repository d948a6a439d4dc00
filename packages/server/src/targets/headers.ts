import { type IsTraced, traceparent } from './signing.js'
import type { Attempt } from './target.js'
import { utcText } from '../time/iso-text.js'

/** Belong to one connection, or are set by the HTTP client: from a job they could desynchronise the two sides. */
const transportHeaders = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  // Answers are kept as they come, so a compressed one would be unreadable.
  'accept-encoding',
])

/** Why a job may not set this header; undefined when it may. */
export function reservedHeader(name: string): string | undefined {
  const lower = name.toLowerCase()
  if (/^(carillon-|webhook-)/.test(lower) || lower === 'idempotency-key' || lower === 'traceparent')
    return 'is set by Carillon for every attempt'
  if (transportHeaders.has(lower)) return 'is set by the HTTP client'
  return undefined
}

export function isHeaderName(name: string): boolean {
  return /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(name)
}

/** Printable ASCII, tab and Latin-1: what HTTP carries. Excludes CR, LF and NUL, so nothing can be injected. */
export function isHeaderValue(value: string): boolean {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(value)
}

/** Of a job's own headers, those that say nothing about who sends: only they are sent to a foreign origin. */
const harmless = new Set(['accept', 'accept-language', 'content-type', 'user-agent'])

export interface DeliveryHeaders {
  attempt: Attempt
  /** The job's own. */
  own: Readonly<Record<string, string>>
  /** What the body is unless the job says otherwise; null for a request without a body. */
  contentType: string | null
  /** Whether a redirect has led to another origin. */
  foreign: boolean
  /** Whether a redirect has made a plain GET of it. */
  bodyDropped: boolean
  signature: readonly (readonly [string, string])[]
  isTraced?: IsTraced
}

/** Flat name, value, … list: a job's own headers over ours, but never over a reserved one. */
export function deliveryHeaders(delivery: DeliveryHeaders): string[] {
  const { attempt, own, contentType, foreign, bodyDropped, signature, isTraced } = delivery
  const headers = ownHeaders(own, foreign, bodyDropped, contentType)
  headers.push('accept-encoding', 'identity')
  headers.push('Carillon-Job-Id', attempt.jobId)
  headers.push('Carillon-Run-Id', attempt.runId)
  headers.push('Carillon-Scheduled-At', utcText(attempt.scheduledAt))
  headers.push('Carillon-Attempt', String(attempt.attempt))
  headers.push('Carillon-Fencing-Token', String(attempt.token))
  headers.push('Carillon-Catch-Up', String(attempt.catchUp))
  headers.push('Idempotency-Key', asciiOnly(attempt.idempotencyKey))
  headers.push('traceparent', traceparent(attempt, isTraced))
  for (const [name, value] of signature) headers.push(name, value)
  return headers
}

/** Those that the job may set, and what stands there where it does not. None of them is reserved: the others are not among them. */
function ownHeaders(
  own: Readonly<Record<string, string>>,
  foreign: boolean,
  bodyDropped: boolean,
  contentType: string | null,
): string[] {
  const headers = new Map([['user-agent', ['user-agent', 'Carillon/0.1']]])
  if (contentType !== null) headers.set('content-type', ['content-type', contentType])
  for (const [name, value] of Object.entries(own)) {
    const lower = name.toLowerCase()
    const aboutNoBody = bodyDropped && lower.startsWith('content-')
    const secret = foreign && !harmless.has(lower)
    if (reservedHeader(name) === undefined && !aboutNoBody && !secret) headers.set(lower, [name, value])
  }
  return [...headers.values()].flat()
}

/** Percent-encodes what a header cannot carry; the body has the key as it is. */
function asciiOnly(text: string): string {
  return text.replace(/[^\x20-\x7e]+/g, (part) =>
    encodeURIComponent(part.replace(/\p{Surrogate}/gu, '\uFFFD')),
  )
}
