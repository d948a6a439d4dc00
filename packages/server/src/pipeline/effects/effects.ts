import type { JobDefinition } from '@carillon/contract'
import type { Sql } from '@carillon/sdk'
import type { DatabaseClock } from '../../db/database-clock.js'
import type { GuestPool } from '../../db/guest-pool.js'
import type { Database } from '../../db/pool.js'
import type { Clock } from '../../platform/clock.js'
import type { LeasedRun } from '../run.js'
import { HandlerTransaction, type TransactionPorts } from './handler-transaction.js'
import { Once } from './once.js'

export interface EffectsOptions {
  /** For what is remembered: connections of its own. */
  database: Database
  /** For the transactions of handlers. */
  guests: GuestPool
  clock: Clock
  databaseClock: DatabaseClock
  ports: TransactionPorts
  keepResult: (result: unknown) => unknown
}

/** An attempt that has begun. */
export interface BegunAttempt {
  run: LeasedRun
  definition: JobDefinition
  startedAt: number
  idempotencyKey: string
}

/** What handlers in this process may do in the database beside their runs. */
export class Effects {
  constructor(private readonly options: EffectsOptions) {}

  of({ run, definition, startedAt, idempotencyKey }: BegunAttempt) {
    const { database, guests, clock, databaseClock, ports, keepResult } = this.options
    const once = new Once({ database, clock, run, idempotencyKey })
    const transaction = new HandlerTransaction({
      guests,
      ports,
      run,
      keepResult,
      timeoutMs: definition.timeout_seconds * 1000,
      success: (result) => ({
        run,
        definition,
        outcome: 'success',
        startedAt,
        finishedAt: Math.max(databaseClock.atLeast(), startedAt),
        retryable: false,
        retryAfterMs: null,
        reason: null,
        error: null,
        result,
      }),
    })
    return {
      once: (key: string, effect: () => unknown, signal: AbortSignal) => once.do(key, effect, signal),
      transaction: (work: (sql: Sql) => unknown, signal: AbortSignal) => transaction.run(work, signal),
      settled: () => transaction.settled(),
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.options.guests.close(), this.options.database.close()])
  }
}
