import type { Logger } from 'pino'
import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'

const takeBackStatement = statement<{ was: number; now: number }, { pinged_at: number }>(
  new URL('./take-back-ping.sql', import.meta.url),
)

export interface DeadManOptions {
  database: Database
  log: Logger
  everyMs: number
  /** Calls the monitor. Throws where it did not take the call. */
  call: () => Promise<void>
}

/**
 * Tells a monitor outside that the fleet lives: as long as a scheduler is alive, once an interval, whichever process looks. When the calls
 * stop, the monitor says so: no fleet can report its own death.
 */
export class DeadMan {
  constructor(private readonly options: DeadManOptions) {}

  due(now: number, pingedAt: number, schedulers: number): boolean {
    return schedulers > 0 && (now - pingedAt >= this.options.everyMs || pingedAt > now)
  }

  /** One that failed is tried again at the next look. */
  async ping(was: number, now: number): Promise<void> {
    const { database, log, call } = this.options
    try {
      await call()
    } catch (error) {
      log.warn({ err: error }, 'the monitor outside did not take the dead-man ping')
      await database.run(takeBackStatement, { was, now })
    }
  }
}
