import type { Logger } from 'pino'
import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'

const raiseStatement = statement<
  { tenant: number | null; kind: string; fingerprint: string; subject: string; detail: string },
  { alert: number }
>(new URL('./raise.sql', import.meta.url))
const resolveStatement = statement<{ tenant: number | null; fingerprint: string }, { alert: number }>(
  new URL('./resolve.sql', import.meta.url),
)
const settleStatement = statement<{ stale_ms: number }, { alert: number }>(
  new URL('./settle.sql', import.meta.url),
)

/** A step of a clock is no lasting state: an hour later it is history. */
const staleMs = 3_600_000

/** Something that people should hear of. `tenant` null: it concerns the fleet. */
export interface Event {
  tenant: number | null
  kind: string
  /** Says which event this is: it is open once, however often it is raised. */
  fingerprint: string
  subject: string
  detail: Record<string, unknown>
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

  constructor(private readonly options: { database: Database; log: Logger }) {}

  raise({ detail, ...event }: Event): void {
    const { database } = this.options
    const params = { ...event, detail: JSON.stringify(detail) }
    void this.write(event.tenant, event.fingerprint, () => database.run(raiseStatement, params))
  }

  resolve(fingerprint: string, tenant: number | null = null): void {
    const { database } = this.options
    void this.write(tenant, fingerprint, () => database.run(resolveStatement, { tenant, fingerprint }))
  }

  /** Writes what is left to write, and closes what nobody else can close. */
  async runOnce(): Promise<undefined> {
    for (const [event, write] of [...this.unwritten]) {
      await write()
      if (this.unwritten.get(event) === write) this.unwritten.delete(event)
    }
    await this.options.database.run(settleStatement, { stale_ms: staleMs })
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
