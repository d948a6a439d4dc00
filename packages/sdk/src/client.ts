import type { Job, JobInput, JobList, JobPatch, PauseInput, Run, RunStatus, Why } from '@carillon/contract'
import { type AccountCalls, accountCalls } from './account.js'
import { type CalendarCalls, calendarCalls } from './calendars.js'
import { type DeadLetterCalls, deadLetterCalls } from './dead-letters.js'
import { type SigningSecretCalls, signingSecretCalls } from './signing-secrets.js'
import { type TargetCalls, targetCalls } from './targets.js'
import { type Call, send, type TransportOptions } from './transport.js'

export interface ClientOptions {
  /** The server's address, e.g. http://localhost:8080. A path in front of /api/v1 is kept. */
  url: string
  /** Sent as a bearer token. */
  apiKey?: string
  fetch?: typeof globalThis.fetch
  /** For one call, from start to last byte. Default 30,000. */
  timeoutMs?: number
  /** How often a GET, PUT or DELETE is repeated after a lost answer or a 503. Default 3. A POST or PATCH never is. */
  maxRetries?: number
  /** Waits between tries; tests put their own in place. */
  sleep?: (ms: number) => Promise<void>
  random?: () => number
}

export interface RunQuery {
  limit?: number
  /** Only runs that are so now. */
  status?: RunStatus
  /** Only ticks from this instant on. */
  after?: string
  /** Only ticks before this instant. */
  before?: string
}

export interface Client
  extends AccountCalls,
    CalendarCalls,
    DeadLetterCalls,
    SigningSecretCalls,
    TargetCalls {
  readonly jobs: {
    create(input: JobInput): Promise<Job>
    /** One page; pass its `next_cursor` for the next one. */
    list(page?: { limit?: number; cursor?: string }): Promise<JobList>
    /** All jobs, page by page as they are asked for. */
    iterate(options?: { limit?: number }): AsyncGenerator<Job, void, undefined>
    get(id: string): Promise<Job>
    delete(id: string): Promise<void>
    /** Changes the given fields, each as a whole; null: back to its default. `version`: only if it is the present one. */
    edit(id: string, patch: JobPatch): Promise<Job>
    /** Nothing of it starts any more, until it is resumed or `until` has come. */
    pause(id: string, pause?: PauseInput): Promise<Job>
    resume(id: string): Promise<Job>
    /** A run now, beside the schedule; `status` is skipped where the job's overlap policy passes over it. */
    trigger(id: string): Promise<Run>
    /** What became of the job's ticks, in the server's order. */
    runs(id: string, query?: RunQuery): Promise<Run[]>
    /** What became of one tick, and why: an instant, or a reading of the clocks in the job's zone. */
    why(id: string, at: string): Promise<Why>
  }
}

export function createClient(options: ClientOptions): Client {
  const transport = transportOf(options, 'createClient')
  const call = async <T>(what: Call) => (await send(transport, what)).value as T
  const list: Client['jobs']['list'] = (page = {}) =>
    call<JobList>({ method: 'GET', path: jobsPath, query: page })
  return {
    jobs: {
      create: (input) => call<Job>({ method: 'POST', path: jobsPath, body: input }),
      list,
      async *iterate(page = {}) {
        let cursor: string | null | undefined
        do {
          const { data, next_cursor } = await list(cursor ? { ...page, cursor } : page)
          yield* data
          cursor = next_cursor
        } while (cursor)
      },
      get: async (id) => await call<Job>({ method: 'GET', path: jobPath(id) }),
      async delete(id) {
        await call({ method: 'DELETE', path: jobPath(id) })
      },
      edit: async (id, patch) => await call<Job>({ method: 'PATCH', path: jobPath(id), body: patch }),
      pause: async (id, pause = {}) =>
        await call<Job>({ method: 'POST', path: `${jobPath(id)}/pause`, body: pause }),
      resume: async (id) => await call<Job>({ method: 'POST', path: `${jobPath(id)}/resume`, body: {} }),
      trigger: async (id) => await call<Run>({ method: 'POST', path: `${jobPath(id)}/trigger`, body: {} }),
      runs: async (id, query = {}) =>
        await call<Run[]>({ method: 'GET', path: `${jobPath(id)}/runs`, query: { ...query } }),
      why: async (id, at) => await call<Why>({ method: 'GET', path: `${jobPath(id)}/why`, query: { at } }),
    },
    ...accountCalls(call),
    ...calendarCalls(call),
    ...deadLetterCalls(call),
    ...signingSecretCalls(call),
    ...targetCalls(call),
  }
}

const jobsPath = '/api/v1/jobs'

function jobPath(id: string): string {
  // As a path segment an empty id, "." or ".." would address something else than a job.
  if (/^\.{0,2}$/.test(id))
    throw new TypeError(`"${id}" is not a job id. Ids look like job_… and are given by the server.`)
  return `${jobsPath}/${encodeURIComponent(id)}`
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
    sleep: options.sleep ?? ((ms) => new Promise((resolve) => setTimeout(resolve, ms))),
    random: options.random ?? Math.random,
  }
}
