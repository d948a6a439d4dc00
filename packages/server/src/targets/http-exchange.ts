import type { HttpTarget, WebhookEnvelope } from '@carillon/contract'
import type { Agent } from 'undici'
import { parseBody } from './body-template.js'
import { deliveryHeaders } from './headers.js'
import { Answer } from './http-answer.js'
import { type Hop, isRedirect, nextHop } from './redirects.js'
import { type IsTraced, SigningError, signatureHeaders } from './signing.js'
import { capText } from './storable.js'
import { isSuccess } from './success-codes.js'
import type { Attempt } from './target.js'
import { utcText } from '../time/iso-text.js'

const urlInErrorBytes = 300
const noBytes = new Uint8Array()

/** One attempt at an HTTP target, and how far it has come: a deadline or an error can tell from it. */
export interface Exchange {
  agent: Agent
  target: HttpTarget
  attempt: Attempt
  body: Body | null
  now: () => number
  secrets: () => Promise<readonly Uint8Array[]>
  progress: { call: string; answer?: Answer }
  isTraced?: IsTraced
}

export interface Body {
  bytes: Buffer
  contentType: string
}

export function hasBody({ method = 'POST' }: HttpTarget): boolean {
  return method !== 'GET' && method !== 'DELETE'
}

/** Throws a BodyTemplateError or a BodyTooLargeError. */
export function bodyOf(target: HttpTarget, attempt: Attempt): Body | null {
  if (!hasBody(target)) return null
  if (target.body === undefined) {
    return { bytes: Buffer.from(JSON.stringify(envelopeOf(attempt))), contentType: 'application/json' }
  }
  const template = parseBody(target.body)
  return { bytes: template.render(attempt), contentType: template.contentType }
}

function envelopeOf(attempt: Attempt): WebhookEnvelope {
  return {
    job_id: attempt.jobId,
    job_name: attempt.jobName,
    run_id: attempt.runId,
    scheduled_at: utcText(attempt.scheduledAt),
    attempt: attempt.attempt,
    fencing_token: attempt.token,
    catch_up: attempt.catchUp,
    idempotency_key: attempt.idempotencyKey,
    payload: attempt.payload ?? null,
  }
}

/** Sends the request, follows redirects as far as the job wants, and reads the answer into `progress`. */
export async function exchange(work: Exchange, first: Hop, signal: AbortSignal): Promise<void> {
  const { target, progress } = work
  const secrets = await work.secrets().catch((error: unknown) => {
    throw new SigningError(error instanceof Error ? error.message : String(error))
  })
  const most = target.follow_redirects ?? 0
  let hop = first
  for (let followed = 0; ; followed++) {
    const response = await request(work, hop, secrets, signal)
    const { statusCode: status, headers } = response
    const ok = isSuccess(target.success_codes, status)
    if (ok || most === 0 || !isRedirect(status)) {
      progress.answer = new Answer(status, headers, ok)
    } else {
      const { location } = headers
      const next =
        followed < most
          ? nextHop(hop, status, Array.isArray(location) ? location[0] : location)
          : { refusal: `there were more than ${most} redirects (follow_redirects)` }
      if ('url' in next) {
        // Not read to its end: a hop whose body never ends would eat up the time of the next one.
        response.body.destroy()
        hop = next
        progress.call = `${callOf(hop)} (redirected from ${callOf(first)})`
        continue
      }
      progress.answer = new Answer(status, headers, ok, next.refusal)
    }
    await progress.answer.read(response.body as AsyncIterable<Uint8Array>)
    return
  }
}

async function request(
  { agent, target, attempt, body, now, isTraced }: Exchange,
  { url, method, withBody, foreign }: Hop,
  secrets: readonly Uint8Array[],
  signal: AbortSignal,
) {
  const sent = withBody ? body : null
  const message = { id: attempt.runId, sentAt: now(), body: sent?.bytes ?? noBytes }
  const response = await agent.request({
    origin: url.origin,
    path: `${url.pathname}${url.search}`,
    method,
    headers: deliveryHeaders({
      attempt,
      own: target.headers ?? {},
      contentType: sent?.contentType ?? null,
      foreign,
      bodyDropped: body !== null && sent === null,
      signature: signatureHeaders(message, secrets),
      ...(isTraced && { isTraced }),
    }),
    body: sent?.bytes ?? null,
    signal,
  })
  // Destroying the body on purpose reports an error that nobody else would take.
  response.body.on('error', () => {})
  return response
}

/** "POST http://…", without query and fragment: they are long, and more often than not hold a secret. */
export function callOf({ method, url }: Pick<Hop, 'method' | 'url'>): string {
  return `${method} ${capText(`${url.origin}${url.pathname}`, urlInErrorBytes)}`
}
