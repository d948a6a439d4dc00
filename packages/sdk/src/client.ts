import { type AccountCalls, accountCalls } from './account.js'
import { type AlertCalls, alertCalls } from './alerts.js'
import { type CalendarCalls, calendarCalls } from './calendars.js'
import { type DeadLetterCalls, deadLetterCalls } from './dead-letters.js'
import { type InsightCalls, insightCalls } from './insight.js'
import { type JobCalls, jobCalls } from './jobs.js'
import { type OperationCalls, operationCalls } from './operations.js'
import { type RunCalls, runCalls } from './runs.js'
import { type SigningSecretCalls, signingSecretCalls } from './signing-secrets.js'
import { type SyncJob, type SyncOptions, type SyncPlan, syncJobs } from './sync.js'
import { type TargetCalls, targetCalls } from './targets.js'
import { type TenancyCalls, tenancyCalls } from './tenancy.js'
import { type Call, send, type TransportOptions } from './transport.js'

export interface ClientOptions {
  /** The server's address, e.g. http://localhost:8080. A path in front of /api/v1 is kept. */
  url: string
  /** Sent as a bearer token. */
  apiKey?: string
  fetch?: typeof globalThis.fetch
  /** For one call, from start to last byte. Default 30,000. */
  timeoutMs?: number
  /**
   * How often a call is repeated after a lost answer, a 503 or a 429, if that is safe. Default 3. A PATCH, and a POST that
   * carries no idempotency key, is repeated only after a 429: then the server did nothing.
   */
  maxRetries?: number
  /** Waits between tries; tests put their own in place. */
  sleep?: (ms: number, signal?: AbortSignal) => Promise<void>
  random?: () => number
}

export interface Client
  extends AccountCalls,
    AlertCalls,
    CalendarCalls,
    DeadLetterCalls,
    InsightCalls,
    JobCalls,
    OperationCalls,
    RunCalls,
    SigningSecretCalls,
    TargetCalls,
    TenancyCalls {
  /**
   * Definitions in code: makes the jobs of an owner what the list says, and answers what that took. With `dryRun` it only
   * says what it would do.
   */
  sync(jobs: readonly SyncJob[], options: SyncOptions): Promise<SyncPlan>
}

export function createClient(options: ClientOptions): Client {
  const transport = transportOf(options, 'createClient')
  const exchange = (what: Call) => send(transport, what)
  const call = async <T>(what: Call) => (await exchange(what)).value as T
  const { jobs, backfills } = jobCalls(call, exchange)
  return {
    jobs,
    backfills,
    sync: (wanted, options) => syncJobs(jobs, wanted, options),
    ...accountCalls(call),
    ...alertCalls(call),
    ...calendarCalls(call),
    ...deadLetterCalls(call),
    ...insightCalls(call),
    ...operationCalls(call, transport.sleep),
    ...runCalls(call, transport),
    ...signingSecretCalls(call),
    ...targetCalls(call),
    ...tenancyCalls(call),
  }
}

/** `caller`: who is at fault where the options are. */
export function transportOf(options: ClientOptions, caller: string): TransportOptions {
  if (!URL.canParse(options.url) || !/^https?:$/.test(new URL(options.url).protocol)) {
    throw new TypeError(
      `${caller}: "${options.url}" is not a URL of a server. Give its address, e.g. http://localhost:8080.`,
    )
  }
  return {
    baseUrl: new URL(options.url),
    apiKey: options.apiKey,
    fetch: options.fetch ?? globalThis.fetch,
    timeoutMs: options.timeoutMs ?? 30_000,
    maxRetries: options.maxRetries ?? 3,
    sleep: options.sleep ?? rest,
    random: options.random ?? Math.random,
  }
}

function rest(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve()
    const done = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal?.addEventListener('abort', done)
  })
}
