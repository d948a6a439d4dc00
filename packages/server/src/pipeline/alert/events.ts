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

/** Keeps events on record. Nobody waits for it: a loop that has something to say goes on with its work. */
export class Events {
  constructor(private readonly options: { database: Database; log: Logger }) {}

  raise({ detail, ...event }: Event): void {
    this.inBackground(
      this.options.database.run(raiseStatement, { ...event, detail: JSON.stringify(detail) }),
      event.subject,
    )
  }

  resolve(fingerprint: string, tenant: number | null = null): void {
    this.inBackground(this.options.database.run(resolveStatement, { tenant, fingerprint }), fingerprint)
  }

  /** Closes what nobody else can close. */
  async runOnce(): Promise<undefined> {
    await this.options.database.run(settleStatement, { stale_ms: staleMs })
  }

  private inBackground(work: Promise<unknown>, event: string): void {
    work.catch((error: unknown) =>
      this.options.log.warn({ event, err: error }, 'an event could not be kept on record'),
    )
  }
}
