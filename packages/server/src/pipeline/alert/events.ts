import type { AlertSeverity } from '@carillon/contract'
import { alertKindOf } from '@carillon/contract'
import type { Logger } from 'pino'
import type { Database } from '../../db/pool.js'
import type { Finding } from './finding.js'
import { raise, resolve, resolveDelayMs } from './record.js'

/** Something that people should hear of. `tenant` null: it concerns the fleet. */
export interface Event {
  tenant: number | null
  kind: string
  /** Says which event this is: it is open once, however often it is raised. */
  fingerprint: string
  subject: string
  detail: Record<string, unknown>
  /** The job that it is about. */
  job?: number
}

/** What could not be written is kept for so many events. Nobody raises that many while the database is away. */
const mostUnwritten = 1_000

/**
 * Keeps events on record. Nobody waits for it: a loop that has something to say goes on with its work. What the database
 * would not take is written when it is back, since whoever said it does not say it again.
 */
export class Events {
  /** By event: the last that was said of it and not written. */
  private readonly unwritten = new Map<string, () => Promise<unknown>>()

  constructor(private readonly options: { database: Database; log: Logger; resolveDelayMs?: number }) {}

  raise(event: Event): void {
    const { database } = this.options
    const severity: AlertSeverity = alertKindOf(event.kind)?.severity ?? 'warning'
    const finding = { ...event, severity } as Finding
    void this.write(event.tenant, event.fingerprint, () => raise(database, [finding]))
  }

  resolve(fingerprint: string, tenant: number | null = null): void {
    const { database, resolveDelayMs: delayMs = resolveDelayMs } = this.options
    void this.write(tenant, fingerprint, () => resolve(database, [{ tenant, fingerprint }], delayMs))
  }

  /** Writes what is left to write. */
  async runOnce(): Promise<undefined> {
    for (const [event, write] of [...this.unwritten]) {
      await write()
      if (this.unwritten.get(event) === write) this.unwritten.delete(event)
    }
  }

  private async write(tenant: number | null, event: string, write: () => Promise<unknown>): Promise<void> {
    const key = `${tenant ?? 0} ${event}`
    // Written twice it is the same: one that is just being written may be met by runOnce.
    if (this.unwritten.size < mostUnwritten || this.unwritten.has(key)) this.unwritten.set(key, write)
    try {
      await write()
      if (this.unwritten.get(key) === write) this.unwritten.delete(key)
    } catch (error) {
      this.options.log.warn({ event, err: error }, 'an event could not be put on record yet')
    }
  }
}
