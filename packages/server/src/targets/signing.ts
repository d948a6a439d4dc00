import { createHash, createHmac, randomBytes } from 'node:crypto'
import type { Attempt } from './target.js'

/** Standard Webhooks (https://www.standardwebhooks.com), version 1, symmetric. */

const secretPrefix = 'whsec_'
/** Within the 24 to 64 bytes that the convention asks for. */
const secretBytes = 32

/** There is nothing to sign with, although there should be. */
export class SigningError extends Error {
  override readonly name = 'SigningError'
}

export interface Message {
  /** The same for every attempt of a run, so that a receiver can tell a repetition. */
  id: string
  /** Milliseconds since the epoch, of this very request. */
  sentAt: number
  body: Uint8Array
}

/** The headers of a signed message. Several secrets, newest first, make several signatures: a receiver needs one. */
export function signatureHeaders(
  message: Message,
  secrets: readonly Uint8Array[],
): readonly (readonly [string, string])[] {
  const timestamp = String(Math.floor(message.sentAt / 1000))
  const stamped = [
    ['webhook-id', message.id],
    ['webhook-timestamp', timestamp],
  ] as const
  if (secrets.length === 0) return stamped
  const signatures = secrets.map((secret) => {
    // HMAC takes an empty key, and everybody has that one.
    if (secret.length === 0) throw new SigningError('a signing secret is empty')
    const hmac = createHmac('sha256', secret).update(`${message.id}.${timestamp}.`).update(message.body)
    return `v1,${hmac.digest('base64')}`
  })
  return [...stamped, ['webhook-signature', signatures.join(' ')] as const]
}

export function newSecret(): Buffer {
  return randomBytes(secretBytes)
}

/** As receivers are given it: whsec_ and base64. */
export function secretText(secret: Uint8Array): string {
  return `${secretPrefix}${Buffer.from(secret).toString('base64')}`
}

/**
 * W3C trace context: one trace per run, one parent per attempt. Derived, not drawn, so that attempts in different
 * processes share their trace. The job's id, a UUID, keeps traces of two installations apart.
 */
export function traceparent({ jobId, runId, token }: Pick<Attempt, 'jobId' | 'runId' | 'token'>): string {
  const trace = createHash('sha256').update(`trace ${jobId} ${runId}`).digest('hex').slice(0, 32)
  const parent = createHash('sha256').update(`attempt ${jobId} ${runId} ${token}`).digest('hex').slice(0, 16)
  return `00-${trace}-${parent}-01`
}
