import type { LookupFunction } from 'node:net'
import type { HttpTarget } from '@carillon/contract'
import { Agent, errors } from 'undici'
import { type AddressGuard, BlockedAddressError } from './address-guard.js'
import { cancelledBecause, type Ending, seconds, withinDeadline } from './deadline.js'
import { createGuardedConnector } from './guarded-connector.js'
import { deliveryHeaders } from './headers.js'
import { Answer, judge } from './http-answer.js'
import { capText, storableText } from './storable.js'
import type { Attempt, FailureReason, Outcome, Target } from './target.js'

export interface HttpTargetOptions {
  guard: AddressGuard
  /** Milliseconds since the epoch; a Retry-After date is measured against it. */
  now: () => number
  /** Further attempts at one origin wait for a connection, within their own deadline. */
  connectionsPerOrigin?: number
  connectTimeoutMs?: number
  lookup?: LookupFunction
}

const errorBytes = 4_096
const urlInErrorBytes = 300

/** Delivers runs as HTTP requests. Its client is its own: proxy settings of the environment do not apply. */
export function createHttpTarget(options: HttpTargetOptions): Target<HttpTarget> {
  const connectTimeoutMs = options.connectTimeoutMs ?? 10_000
  const agent = new Agent({
    connect: createGuardedConnector({
      guard: options.guard,
      connectTimeoutMs,
      ...(options.lookup && { lookup: options.lookup }),
    }),
    connections: options.connectionsPerOrigin ?? 128,
    pipelining: 1,
    // The attempt's own deadline covers headers and body together.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
  return {
    type: 'http',
    async deliver(target, attempt, signal) {
      if (!URL.canParse(target.url)) {
        return failed('invalid_target', `The target's url cannot be read: ${target.url}`, false)
      }
      const url = new URL(target.url)
      const call = `${target.method ?? 'POST'} ${shown(url)}`
      const progress: { answer?: Answer } = {}
      const ending = await withinDeadline(
        (inner) => exchange(agent, url, target, attempt, inner, progress),
        attempt.timeoutMs,
        signal,
      )
      return conclude(ending, progress.answer, call, { now: options.now(), attempt, connectTimeoutMs })
    },
    async close() {
      await agent.destroy()
    },
  }
}

async function exchange(
  agent: Agent,
  url: URL,
  target: HttpTarget,
  attempt: Attempt,
  signal: AbortSignal,
  progress: { answer?: Answer },
): Promise<void> {
  const method = target.method ?? 'POST'
  const hasBody = method !== 'GET' && method !== 'DELETE'
  const response = await agent.request({
    origin: url.origin,
    path: `${url.pathname}${url.search}`,
    method,
    headers: deliveryHeaders(attempt, target.headers ?? {}, hasBody),
    body: hasBody ? envelope(attempt) : null,
    signal,
  })
  // Destroying the body on purpose reports an error that nobody else would take.
  response.body.on('error', () => {})
  progress.answer = new Answer(response.statusCode, response.headers)
  await progress.answer.read(response.body as AsyncIterable<Uint8Array>)
}

function envelope(attempt: Attempt): string {
  return JSON.stringify({
    job_id: attempt.jobId,
    job_name: attempt.jobName,
    run_id: attempt.runId,
    scheduled_at: new Date(attempt.scheduledAt).toISOString(),
    attempt: attempt.attempt,
    fencing_token: attempt.token,
    catch_up: attempt.catchUp,
    idempotency_key: attempt.idempotencyKey,
    payload: attempt.payload ?? null,
  })
}

function conclude(
  ending: Ending<void>,
  answer: Answer | undefined,
  call: string,
  at: { now: number; attempt: Attempt; connectTimeoutMs: number },
): Outcome {
  if (ending.kind === 'cancelled')
    return failed('cancelled', `${call}: ${cancelledBecause(ending.cause)}`, true)
  // A refusal stands as soon as its status is known; a success only counts when the answer is complete.
  if (answer !== undefined && (ending.kind === 'finished' || !answer.ok)) return judge(answer, call, at.now)
  const came = answer === undefined ? '' : ` (status ${answer.status} and ${answer.received} bytes came)`
  if (ending.kind === 'timeout') {
    const what = answer === undefined ? 'no answer' : 'no complete answer'
    return failed('timeout', `${call}: ${what} within ${seconds(at.attempt.timeoutMs)}${came}`, true)
  }
  if (ending.kind === 'threw') return failedExchange(ending.error, call, came, at.connectTimeoutMs)
  throw new Error('an exchange finished without an answer')
}

function failedExchange(error: unknown, call: string, came: string, connectTimeoutMs: number): Outcome {
  if (error instanceof BlockedAddressError) {
    return failed('blocked_address', `${call}: ${error.message}`, false)
  }
  if (error instanceof errors.InvalidArgumentError) {
    return failed('invalid_target', `${call} cannot be sent: ${error.message}`, false)
  }
  if (error instanceof errors.ConnectTimeoutError) {
    return failed('connection', `${call}: no connection within ${seconds(connectTimeoutMs)}`, true)
  }
  if (error instanceof errors.SocketError) {
    const when = came === '' ? ' before an answer came' : came
    return failed('connection', `${call}: the connection was closed${when}: ${describe(error)}`, true)
  }
  return failed('connection', `${call}: ${describe(error)}${came}`, true)
}

/** Node reports several failed addresses of one name as an AggregateError without a message. */
function describe(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) {
    return [...new Set(error.errors.map(describe))].join('; ')
  }
  if (!(error instanceof Error)) return String(error)
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name
  return error.message === '' ? code : error.message
}

/** Without query and fragment: they are long, and more often than not hold a secret. */
function shown(url: URL): string {
  return capText(`${url.origin}${url.pathname}`, urlInErrorBytes)
}

function failed(reason: FailureReason, error: string, retryable: boolean): Outcome {
  return { kind: 'failed', reason, error: capText(storableText(error), errorBytes), retryable }
}
