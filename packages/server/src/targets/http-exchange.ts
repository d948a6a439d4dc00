import type { HttpTarget, WebhookEnvelope } from '@carillon/contract'
import type { Agent, Dispatcher } from 'undici'
import { parseBody } from './body-template.js'
import { deliveryHeaders } from './headers.js'
import { Answer } from './http-answer.js'
import { send } from './http-request.js'
import { type Hop, isRedirect, nextHop } from './redirects.js'
import { type IsTraced, SigningError, signatureHeaders } from './signing.js'
import type { StopSwitch } from './stop-switch.js'
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
  progress: Progress
  isTraced?: IsTraced
}

export interface Progress {
  readonly first: Hop
  /** Where it is now. */
  hop: Hop
  answer?: Answer
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
export async function exchange(work: Exchange, stop: StopSwitch): Promise<void> {
  const { progress } = work
  const secrets = await work.secrets().catch((error: unknown) => {
    throw new SigningError(error instanceof Error ? error.message : String(error))
  })
  for (let followed = 0; progress.answer === undefined; followed++) {
    if (stop.stopped) throw stop.reason
    const { hop } = progress
    await send(work.agent, requestOf(work, hop, secrets), stop, (status, headers) => {
      const ok = isSuccess(work.target.success_codes, status)
      const next = ok ? null : wayOn(work, { hop, followed, status, location: headers['location'] })
      if (next !== null && 'url' in next) {
        // Not read to its end: a hop whose body never ends would eat up the time of the next one.
        progress.hop = next
        return null
      }
      progress.answer = new Answer(status, headers, ok, next?.refusal)
      return progress.answer
    })
  }
}

/** Where a redirect leads, or why it is not followed; null where it is none, or none is wanted. */
function wayOn(
  { target: { follow_redirects: most = 0 } }: Exchange,
  {
    hop,
    followed,
    status,
    location,
  }: { hop: Hop; followed: number; status: number; location: string | string[] | undefined },
): Hop | { refusal: string } | null {
  if (most === 0 || !isRedirect(status)) return null
  if (followed >= most) return { refusal: `there were more than ${most} redirects (follow_redirects)` }
  return nextHop(hop, status, Array.isArray(location) ? location[0] : location)
}

function requestOf(
  { target, attempt, body, now, isTraced }: Exchange,
  { url, method, withBody, foreign }: Hop,
  secrets: readonly Uint8Array[],
): Dispatcher.DispatchOptions {
  const sent = withBody ? body : null
  const message = { id: attempt.runId, sentAt: now(), body: sent?.bytes ?? noBytes }
  return {
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
  }
}

/** What is called, for people. */
export function calledOf({ first, hop }: Progress): string {
  return hop === first ? callOf(hop) : `${callOf(hop)} (redirected from ${callOf(first)})`
}

/** "POST http://…", without query and fragment: they are long, and more often than not hold a secret. */
function callOf({ method, url }: Pick<Hop, 'method' | 'url'>): string {
  return `${method} ${capText(`${url.origin}${url.pathname}`, urlInErrorBytes)}`
}
