import { breakerDefaults } from '@carillon/contract'
import type { Logger } from 'pino'
import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import type { Clock } from '../../platform/clock.js'
import { utcText } from '../../time/iso-text.js'

/** What an attempt said of the host that it called. */
export interface HostOutcome {
  tenant: number
  host: string
  ok: boolean
  /** The one run that an open breaker let through. */
  probe: boolean
  error: string | null
  /** How long the host asked to be left alone. */
  retryAfterMs: number | null
}

interface Tally {
  tenant: number
  host: string
  succeeded: number
  failed: number
  /** Failures since the last success. */
  inRow: number
  probesSucceeded: number
  probesFailed: number
  error: string | null
  retryAfterMs: number | null
  /** On the monotonic clock: successes that are older than a window are not worth telling. */
  since: number
}

type Defaults = typeof breakerDefaults
interface ReportParams extends Record<keyof Defaults, number> {
  tenants: number[]
  hosts: string[]
  succeeded: number[]
  failed: number[]
  in_rows: number[]
  errors: (string | null)[]
  retry_afters: (number | null)[]
  probes_succeeded: number[]
  probes_failed: number[]
  random: number
  watch_ms: number
}
interface ReportRow {
  tenant: number
  host: string
  was: string
  state: string
  retry_at: number | null
  last_error: string | null
}

const watchStatement = statement<{ tenants: number[]; hosts: string[] }, Record<string, never>>(
  new URL('./watch-targets.sql', import.meta.url),
)
const reportStatement = statement<ReportParams, ReportRow>(new URL('./report-targets.sql', import.meta.url))
const watchedStatement = statement<Record<string, never>, { tenant: number; host: string }>(
  new URL('./watched-targets.sql', import.meta.url),
)

/** So long others have to learn that a host is watched, and to report their successes, before it is judged. */
export const watchMs = 1_000
const windowMs = breakerDefaults.window_seconds * 1000
const longestError = 500

export interface HostReportsOptions {
  database: Database
  clock: Clock
  log: Logger
  random?: () => number
}

/**
 * Counts what comes of the calls of this worker, by host, and tells the database: only where something failed, or where
 * the host is watched because something failed elsewhere. A fleet whose hosts are all well tells nothing.
 */
export class HostReports {
  private tallies = new Map<string, Tally>()
  private watched: ReadonlySet<string> = new Set()
  private called = false

  constructor(private readonly options: HostReportsOptions) {}

  note(outcome: HostOutcome): void {
    const key = keyOf(outcome)
    const now = this.options.clock.monotonic()
    let tally = this.tallies.get(key)
    if (tally === undefined || (tally.failed === 0 && now - tally.since > windowMs)) {
      tally = emptyTally(outcome, now)
      this.tallies.set(key, tally)
    }
    this.called = true
    add(tally, outcome)
  }

  /** Tells what there is to tell. What the database does not take is told the next time. */
  async runOnce(): Promise<undefined> {
    if (!this.called) return
    const { database, log } = this.options
    this.watched = new Set((await database.run(watchedStatement, {})).map(keyOf))
    const telling = [...this.tallies.values()].filter(
      (tally) => tally.failed > 0 || this.watched.has(keyOf(tally)),
    )
    for (const tally of telling) this.tallies.delete(keyOf(tally))
    this.forgetOld()
    this.called = false
    if (telling.length === 0) return
    try {
      await this.tell(telling.sort(byKey))
    } catch (error) {
      this.takeBack(telling)
      log.debug({ err: error }, 'what came of calls could not be reported yet')
      throw error
    }
  }

  private async tell(tallies: readonly Tally[]): Promise<void> {
    const { database, log, random = Math.random } = this.options
    const unknown = tallies.filter((tally) => !this.watched.has(keyOf(tally)))
    if (unknown.length > 0) {
      await database.run(watchStatement, {
        tenants: unknown.map(({ tenant }) => tenant),
        hosts: unknown.map(({ host }) => host),
      })
    }
    const rows = await database.run(reportStatement, {
      ...breakerDefaults,
      ...paramsOf(tallies),
      random: random(),
      watch_ms: watchMs,
    })
    for (const { host, was, state, retry_at: retryAt } of rows) {
      if (was === state) continue
      const until = retryAt === null ? {} : { retry_at: utcText(retryAt) }
      log.warn({ host, was, state, ...until }, 'the breaker of a host changed its state')
    }
  }

  /** Hosts that are well and were not called for a while: they would be walked through at every look. */
  private forgetOld(): void {
    const now = this.options.clock.monotonic()
    for (const [key, tally] of this.tallies) if (now - tally.since > windowMs) this.tallies.delete(key)
  }

  private takeBack(tallies: readonly Tally[]): void {
    this.called = true
    for (const old of tallies) {
      const newer = this.tallies.get(keyOf(old))
      this.tallies.set(keyOf(old), newer === undefined ? old : joined(old, newer))
    }
  }
}

function add(tally: Tally, { ok, probe, error, retryAfterMs }: HostOutcome): void {
  if (ok) {
    tally.succeeded += 1
    tally.inRow = 0
    if (probe) tally.probesSucceeded += 1
    return
  }
  tally.failed += 1
  tally.inRow += 1
  if (probe) tally.probesFailed += 1
  tally.error = error === null ? tally.error : error.slice(0, longestError)
  if (retryAfterMs !== null) tally.retryAfterMs = Math.max(tally.retryAfterMs ?? 0, retryAfterMs)
}

function joined(old: Tally, newer: Tally): Tally {
  return {
    ...newer,
    succeeded: old.succeeded + newer.succeeded,
    failed: old.failed + newer.failed,
    inRow: newer.succeeded > 0 ? newer.inRow : old.inRow + newer.inRow,
    probesSucceeded: old.probesSucceeded + newer.probesSucceeded,
    probesFailed: old.probesFailed + newer.probesFailed,
    error: newer.error ?? old.error,
    retryAfterMs:
      old.retryAfterMs === null && newer.retryAfterMs === null
        ? null
        : Math.max(old.retryAfterMs ?? 0, newer.retryAfterMs ?? 0),
    since: old.since,
  }
}

function paramsOf(tallies: readonly Tally[]) {
  return {
    tenants: tallies.map(({ tenant }) => tenant),
    hosts: tallies.map(({ host }) => host),
    succeeded: tallies.map(({ succeeded }) => succeeded),
    failed: tallies.map(({ failed }) => failed),
    in_rows: tallies.map(({ inRow }) => inRow),
    errors: tallies.map(({ error }) => error),
    retry_afters: tallies.map(({ retryAfterMs }) => retryAfterMs),
    probes_succeeded: tallies.map(({ probesSucceeded }) => probesSucceeded),
    probes_failed: tallies.map(({ probesFailed }) => probesFailed),
  }
}

function emptyTally({ tenant, host }: HostOutcome, since: number): Tally {
  return {
    ...{ tenant, host, since },
    ...{
      succeeded: 0,
      failed: 0,
      inRow: 0,
      probesSucceeded: 0,
      probesFailed: 0,
      error: null,
      retryAfterMs: null,
    },
  }
}

function keyOf({ tenant, host }: { tenant: number; host: string }): string {
  return `${tenant} ${host}`
}

function byKey(a: Tally, b: Tally): number {
  return a.tenant - b.tenant || (a.host < b.host ? -1 : 1)
}
