import { createHmac, timingSafeEqual } from 'node:crypto'
import type { WebhookEnvelope } from '@carillon/contract'

/** One secret as it is shown (whsec_…), or its bytes. */
export type WebhookSecret = string | Uint8Array

/** The headers of a request: of fetch, of Node, or any other record of them. */
export type WebhookHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>

export interface VerifyWebhookOptions {
  /** How far the sender's clock and ours may be apart. An older message may be a replayed one. Default 300. */
  toleranceSeconds?: number
  /** Milliseconds since the epoch; tests put their own in place. */
  now?: () => number
}

export type WebhookErrorCode =
  | 'missing_header'
  | 'invalid_header'
  | 'timestamp_too_old'
  | 'timestamp_too_new'
  | 'signature_mismatch'
  | 'invalid_body'
  | 'invalid_secret'

/** Why a message is not to be believed. `status` is what to answer: 5xx where the receiver itself is at fault. */
export class WebhookError extends Error {
  override readonly name = 'WebhookError'
  readonly code: WebhookErrorCode

  constructor(code: WebhookErrorCode, message: string) {
    super(message)
    this.code = code
  }

  get status(): 400 | 401 | 500 {
    if (this.code === 'invalid_secret') return 500
    return this.code === 'invalid_body' ? 400 : 401
  }
}

/** What is certain of a message with a good signature. */
export interface VerifiedSignature {
  /** The run's id: the same for every attempt of a run. */
  id: string
  sentAt: Date
}

const defaultToleranceSeconds = 300

/**
 * Checks that a delivery came from your Carillon, unchanged and just now, and returns its envelope. Several secrets:
 * any of them may have signed it, as while one is being replaced. `rawBody` is the body as it came: parsing it and
 * writing it anew changes it. For targets with a body template of their own, use verifySignature.
 */
export function verifyWebhook<Payload = unknown>(
  secrets: WebhookSecret | readonly WebhookSecret[],
  headers: WebhookHeaders,
  rawBody: string | Uint8Array,
  options: VerifyWebhookOptions = {},
): WebhookEnvelope<Payload> {
  const { id } = verifySignature(secrets, headers, rawBody, options)
  const envelope = envelopeIn(rawBody)
  if (envelope.run_id !== id) {
    throw new WebhookError('invalid_body', 'The webhook-id is not the run_id of the body.')
  }
  return envelope as WebhookEnvelope<Payload>
}

/** The signature alone, whatever the body is: also of GET and DELETE, whose body is empty. */
export function verifySignature(
  secrets: WebhookSecret | readonly WebhookSecret[],
  headers: WebhookHeaders,
  rawBody: string | Uint8Array,
  options: VerifyWebhookOptions = {},
): VerifiedSignature {
  const keys = (isList(secrets) ? secrets : [secrets]).map(keyOf)
  if (keys.length === 0) throw new WebhookError('invalid_secret', 'No secret is given to verify with.')
  const body = bytesOf(rawBody)
  const id = headerOf(headers, 'webhook-id')
  const timestamp = headerOf(headers, 'webhook-timestamp')
  const given = headerOf(headers, 'webhook-signature')
  const sentAt = checkTimestamp(timestamp, options)
  const expected = keys.map((key) =>
    createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest(),
  )
  const signatures = signaturesIn(given)
  // Every pair is compared, so that the time it takes says nothing about which one fits.
  const matches = expected.flatMap((mine) => signatures.map((theirs) => equal(mine, theirs)))
  if (!matches.includes(true)) {
    throw new WebhookError(
      'signature_mismatch',
      'No signature fits: the secret is another one, or the body is not the one that was sent. ' +
        'Pass the body as it came, not parsed and written anew.',
    )
  }
  return { id, sentAt: new Date(sentAt * 1000) }
}

function isList(secrets: WebhookSecret | readonly WebhookSecret[]): secrets is readonly WebhookSecret[] {
  return Array.isArray(secrets)
}

function keyOf(secret: WebhookSecret): Uint8Array {
  const key = typeof secret === 'string' ? decodeSecret(secret) : secret
  if (!(key instanceof Uint8Array) || key.length === 0) {
    throw new WebhookError(
      'invalid_secret',
      'The secret cannot be read. It is whsec_ followed by base64, as Carillon shows it; check that it is set.',
    )
  }
  return key
}

function decodeSecret(secret: string): Uint8Array | undefined {
  const text = secret.trim().replace(/^whsec_/, '')
  return /^[A-Za-z0-9+/]+={0,2}$/.test(text) ? Buffer.from(text, 'base64') : undefined
}

function bytesOf(rawBody: unknown): Uint8Array {
  if (typeof rawBody === 'string') return Buffer.from(rawBody)
  if (rawBody instanceof Uint8Array) return rawBody
  throw new WebhookError(
    'invalid_body',
    'The body has to be the text or the bytes that came. A framework that parses JSON has to be told to keep them ' +
      '(Express: express.raw({ type: "*/*" })).',
  )
}

function headerOf(headers: WebhookHeaders, name: string): string {
  const value = lookUp(headers, name)
  if (value !== undefined && value !== '') return value
  throw new WebhookError(
    'missing_header',
    `The header ${name} is missing: the request is not a signed one, or something on the way dropped it.`,
  )
}

function lookUp(headers: WebhookHeaders, name: string): string | undefined {
  if (isFetchHeaders(headers)) return headers.get(name) ?? undefined
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1]
  if (typeof found === 'string') return found
  if (found !== undefined && found.length > 1) {
    throw new WebhookError('invalid_header', `The header ${name} came more than once.`)
  }
  return found?.[0]
}

function isFetchHeaders(headers: WebhookHeaders): headers is { get(name: string): string | null } {
  return typeof headers['get' as keyof WebhookHeaders] === 'function'
}

function checkTimestamp(text: string, { toleranceSeconds, now }: VerifyWebhookOptions): number {
  const sentAt = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
  if (Number.isNaN(sentAt)) {
    throw new WebhookError('invalid_header', 'The header webhook-timestamp is not a number of seconds.')
  }
  const tolerance = toleranceSeconds ?? defaultToleranceSeconds
  const age = Math.floor((now?.() ?? new Date().getTime()) / 1000) - sentAt
  if (Math.abs(age) <= tolerance) return sentAt
  const [code, direction] =
    age > 0 ? (['timestamp_too_old', 'ago'] as const) : (['timestamp_too_new', 'ahead'] as const)
  throw new WebhookError(
    code,
    `The message was sent ${Math.abs(age)} s ${direction}; ${tolerance} s are tolerated. ` +
      'It may be a replayed one; otherwise compare the clocks of both sides.',
  )
}

/** Of the form "v1,BASE64 v1,BASE64"; other versions are for others. */
function signaturesIn(header: string): Buffer[] {
  return header
    .split(' ')
    .filter((part) => part.startsWith('v1,'))
    .map((part) => Buffer.from(part.slice(3), 'base64'))
}

function equal(mine: Uint8Array, theirs: Uint8Array): boolean {
  return mine.length === theirs.length && timingSafeEqual(mine, theirs)
}

function envelopeIn(rawBody: string | Uint8Array): WebhookEnvelope {
  const value = parse(typeof rawBody === 'string' ? rawBody : Buffer.from(rawBody).toString())
  if (isEnvelope(value)) return value
  throw new WebhookError(
    'invalid_body',
    'The signature is good, but the body is not the standard envelope. A target with a body of its own, or with ' +
      'method GET or DELETE, is checked with verifySignature.',
  )
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

function isEnvelope(value: unknown): value is WebhookEnvelope {
  if (typeof value !== 'object' || value === null) return false
  const fields = value as Record<string, unknown>
  const texts = ['job_id', 'job_name', 'run_id', 'scheduled_at', 'idempotency_key']
  return (
    texts.every((name) => typeof fields[name] === 'string') &&
    Number.isInteger(fields['attempt']) &&
    Number.isInteger(fields['fencing_token']) &&
    typeof fields['catch_up'] === 'boolean' &&
    'payload' in fields
  )
}
