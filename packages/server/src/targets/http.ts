import type { LookupFunction } from 'node:net'
import type { HttpTarget } from '@carillon/contract'
import { Agent, errors } from 'undici'
import { type AddressGuard, BlockedAddressError } from './address-guard.js'
import { cancelledBecause, type Ending, seconds, withinDeadline } from './deadline.js'
import { createGuardedConnector } from './guarded-connector.js'
import { judge } from './http-answer.js'
import { type Body, bodyOf, calledOf, exchange, type Progress } from './http-exchange.js'
import { type IsTraced, SigningError } from './signing.js'
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
  /** What to sign a tenant's deliveries with, newest first: several while a secret is being replaced. */
  secretsOf?: (tenant: number) => Promise<readonly Uint8Array[]>
  isTraced?: IsTraced
}

const errorBytes = 4_096

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
    async deliver(target, attempt, stop) {
      const url = urlOf(target.url)
      if (url === null)
        return failed('invalid_target', `The target's url cannot be read: ${target.url}`, false)
      const first = { url, method: target.method ?? 'POST', withBody: true, foreign: false }
      const progress: Progress = { first, hop: first }
      let body: Body | null
      try {
        body = bodyOf(target, attempt)
      } catch (error) {
        return failed('invalid_target', `${calledOf(progress)} cannot be sent: ${describe(error)}`, false)
      }
      const secrets = async () => (await options.secretsOf?.(attempt.tenant)) ?? []
      const { now, isTraced } = options
      const work = { agent, target, attempt, body, now, secrets, progress, ...(isTraced && { isTraced }) }
      const ending = await withinDeadline((inner) => exchange(work, inner), attempt.timeoutMs, stop)
      return conclude(ending, progress, { now: options.now(), attempt, connectTimeoutMs })
    },
    async close() {
      await agent.destroy()
    },
  }
}

function urlOf(text: string): URL | null {
  try {
    return new URL(text)
  } catch {
    return null
  }
}

function conclude(
  ending: Ending<void>,
  progress: Progress,
  at: { now: number; attempt: Attempt; connectTimeoutMs: number },
): Outcome {
  const { answer } = progress
  if (ending.kind === 'cancelled')
    return failed('cancelled', `${calledOf(progress)}: ${cancelledBecause(ending.cause)}`, true)
  // A refusal stands as soon as its status is known; a success only counts when the answer is complete.
  if (answer !== undefined && (ending.kind === 'finished' || !answer.ok))
    return judge(answer, () => calledOf(progress), at.now)
  const call = calledOf(progress)
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
  if (error instanceof SigningError) {
    return failed(
      'signing',
      `${call} was not sent: the secrets to sign it are not to be had: ${error.message}`,
      true,
    )
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

function failed(reason: FailureReason, error: string, retryable: boolean): Outcome {
  return { kind: 'failed', reason, error: capText(storableText(error), errorBytes), retryable }
}
