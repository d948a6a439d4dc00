import {
  type BreakerState,
  CarillonError,
  limits,
  type TargetHost,
  type TargetLimits,
  type TargetLimitsInput,
} from '@carillon/contract'
import { codeOf } from '../../db/errors.js'
import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { type Clock, pause } from '../../platform/clock.js'
import { audit } from '../audit.js'
import { hostOfUrl } from '../host.js'
import { utcText } from '../../time/iso-text.js'

interface TargetRow extends TargetLimits {
  host: string
  jobs: number
  in_flight: number
  waiting: number
  waiting_since: number | null
  now: number
  state: BreakerState
  since: number | null
  retry_at: number | null
  openings: number
  attempts: number
  failures: number
  failures_in_row: number
  last_error: string | null
  last_failed_at: number | null
}
interface HostName {
  tenant: number
  host: string
}

const listStatement = statement<
  { tenant: number; host: string | null; after: string; most: number; most_waiting: number },
  TargetRow
>(new URL('./list-targets.sql', import.meta.url))
const lockQueueStatement = statement<Record<string, never>, Record<string, never>>(
  new URL('./lock-queue.sql', import.meta.url),
)
const putStatement = statement<HostName & { changes: string; count: boolean }, Record<string, never>>(
  new URL('./put-limits.sql', import.meta.url),
)
const dropStatement = statement<HostName, { host: string }>(new URL('./drop-limits.sql', import.meta.url))
const resetStatement = statement<HostName, { host: string }>(new URL('./reset-breaker.sql', import.meta.url))

const lockNotAvailable = '55P03'
const mostTries = 20
const betweenTriesMs = 200

export interface TargetsOptions {
  database: Database
  clock: Clock
  /** Told when runs may start that could not before. */
  onOpened: () => void
}

/** The hosts that a tenant's jobs call: what people set for them, and how they are. */
export class Targets {
  constructor(private readonly options: TargetsOptions) {}

  async list(
    tenant: number,
    { limit, cursor }: { limit: number; cursor: string | null },
  ): Promise<{ data: TargetHost[]; next_cursor: string | null }> {
    const after = cursor === null ? '' : decodeHost(cursor)
    const rows = await this.rows({ tenant, host: null, after, most: limit + 1 })
    const page = rows.slice(0, limit)
    const last = page.at(-1)
    const more = rows.length > limit && last !== undefined
    return { data: page.map(view), next_cursor: more ? encodeHost(last.host) : null }
  }

  async get(tenant: number, name: string): Promise<TargetHost> {
    return await this.read(tenant, requireHost(name))
  }

  /** Sets the limits that are given. They hold from the next lease on, in the whole fleet. */
  async put(tenant: number, name: string, input: TargetLimitsInput): Promise<TargetHost> {
    const host = requireHost(name)
    const count = typeof input.max_concurrent === 'number'
    await this.unhurried(() =>
      this.options.database.transaction(async (runner) => {
        if (count) await runner.run(lockQueueStatement, {})
        await runner.run(putStatement, { tenant, host, changes: JSON.stringify(input), count })
        await audit(runner, { tenant, subject: host, detail: { ...input } })
      }),
    )
    this.options.onOpened()
    return this.read(tenant, host)
  }

  /** Whoever waits for the queue makes all others wait behind it: so it waits shortly, and comes again. */
  private async unhurried(work: () => Promise<void>): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return await work()
      } catch (error) {
        if (codeOf(error) !== lockNotAvailable || tries === mostTries) throw error
        await pause(this.options.clock, betweenTriesMs)
      }
    }
  }

  async deleteLimits(tenant: number, name: string): Promise<void> {
    const host = requireHost(name)
    const row = await this.audited(tenant, host, dropStatement)
    if (row === undefined) await this.read(tenant, host)
    this.options.onOpened()
  }

  /** A person says that the host is well: what is parked leaves at the pace of a drain. */
  async reset(tenant: number, name: string): Promise<TargetHost> {
    const host = requireHost(name)
    await this.audited(tenant, host, resetStatement)
    this.options.onOpened()
    return this.read(tenant, host)
  }

  private audited(tenant: number, host: string, change: typeof dropStatement) {
    return this.options.database.transaction(async (runner) => {
      const [row] = await runner.run(change, { tenant, host })
      if (row !== undefined) await audit(runner, { tenant, subject: host })
      return row
    })
  }

  private async read(tenant: number, host: string): Promise<TargetHost> {
    const [row] = await this.rows({ tenant, host, after: '', most: 1 })
    if (row !== undefined) return view(row)
    throw new CarillonError('target_not_found', {
      detail: `No job calls ${JSON.stringify(host.slice(0, 64))}, and it has no limits.`,
    })
  }

  private rows(query: { tenant: number; host: string | null; after: string; most: number }) {
    return this.options.database.run(listStatement, { ...query, most_waiting: limits.countedWaiting })
  }
}

/** As a person writes it: in capitals, as a whole URL, with the usual port of https. */
function requireHost(name: string): string {
  const host = /^https?:\/\//i.test(name) ? hostOfUrl(name) : plainHost(name)
  if (host !== null && name.length <= limits.url) return host
  throw new CarillonError('validation_failed', {
    detail: `${JSON.stringify(name.slice(0, 64))} is not a host.`,
    errors: [
      {
        pointer: 'path:host',
        message: 'is not a host',
        hint: 'Write it as in the URL of the job: api.example.com, or localhost:8080.',
      },
    ],
  })
}

function plainHost(name: string): string | null {
  if (/[/?#@\\\s]/.test(name)) return null
  // Either scheme drops its own port only: what is left is the host as routes name it.
  const host = hostOfUrl(`http://${name}`)
  return host === null ? null : hostOfUrl(`https://${host}`)
}

function view(row: TargetRow): TargetHost {
  const { host, jobs, in_flight, waiting, state, openings, attempts, failures, failures_in_row, last_error } =
    row
  return {
    host,
    jobs,
    in_flight,
    waiting,
    waiting_since: isoOrNull(row.waiting_since),
    limits: limitsOf(row),
    breaker: {
      ...{
        state,
        since: isoOrNull(row.since),
        retry_at: isoOrNull(row.retry_at),
        openings,
        attempts,
        failures,
      },
      ...{ failures_in_row, last_error, last_failed_at: isoOrNull(row.last_failed_at) },
    },
  }
}

function limitsOf(row: TargetRow): TargetLimits {
  return {
    rate_per_second: row.rate_per_second,
    burst: row.burst,
    max_concurrent: row.max_concurrent,
    timeout_seconds: row.timeout_seconds,
    drain_per_second: row.drain_per_second,
    breaker_enabled: row.breaker_enabled,
    breaker_attempts: row.breaker_attempts,
    breaker_window_seconds: row.breaker_window_seconds,
    breaker_failure_ratio: row.breaker_failure_ratio,
    breaker_failures_in_row: row.breaker_failures_in_row,
    breaker_open_seconds: row.breaker_open_seconds,
    breaker_max_open_seconds: row.breaker_max_open_seconds,
  }
}

function encodeHost(host: string): string {
  return Buffer.from(JSON.stringify([host])).toString('base64url')
}

function decodeHost(cursor: string): string {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'))
    const [host] = Array.isArray(parts) && parts.length === 1 ? (parts as unknown[]) : []
    // The database takes no NUL in a text.
    if (typeof host === 'string' && !host.includes('\0')) return host
  } catch {
    // Not JSON: answered below like any other text that is no cursor.
  }
  throw new CarillonError('invalid_cursor', {
    errors: [{ pointer: 'query:cursor', message: 'is no cursor of this list' }],
  })
}

function isoOrNull(ms: number | null): string | null {
  return ms === null ? null : utcText(ms)
}
