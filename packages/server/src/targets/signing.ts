import { createHmac, randomBytes } from 'node:crypto'
import { attemptSpanId, runTraceId } from '../platform/trace-ids.js'
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

/** Whether spans of this trace are kept: what follows from a delivery had better not be kept without it. */
export type IsTraced = (traceId: string) => boolean

/** W3C trace context: one trace per run, one parent per attempt. Where nobody traces here, the target may begin to. */
export function traceparent(
  { jobId, runId, token }: Pick<Attempt, 'jobId' | 'runId' | 'token'>,
  isTraced: IsTraced = () => true,
): string {
  const trace = runTraceId(jobId, runId)
  return `00-${trace}-${attemptSpanId(jobId, runId, token)}-${isTraced(trace) ? '01' : '00'}`
}
