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
  /** Made when it is asked for. */
  readonly idempotencyKey: string
}

/** What handlers in this process may do in the database beside their runs. */
export class Effects {
  constructor(private readonly options: EffectsOptions) {}

  of(begun: BegunAttempt): EffectsOfAttempt {
    return new EffectsOfAttempt(this.options, begun)
  }

  async close(): Promise<void> {
    await Promise.all([this.options.guests.close(), this.options.database.close()])
  }
}

/** Those of one attempt. Most attempts have none: nothing is made before it is needed. */
class EffectsOfAttempt {
  private remembered: Once | null = null
  private inTransaction: HandlerTransaction | null = null

  constructor(
    private readonly options: EffectsOptions,
    private readonly it: BegunAttempt,
  ) {}

  get begun(): boolean {
    return this.inTransaction !== null
  }

  once(key: string, effect: () => unknown, signal: AbortSignal): Promise<unknown> {
    const { database, clock } = this.options
    const { it } = this
    this.remembered ??= new Once({ database, clock, run: it.run, idempotencyKey: it.idempotencyKey })
    return this.remembered.do(key, effect, signal)
  }

  transaction(work: (sql: Sql) => unknown, signal: AbortSignal): Promise<unknown> {
    this.inTransaction ??= this.newTransaction()
    return this.inTransaction.run(work, signal)
  }

  settled(): Promise<boolean> {
    return this.inTransaction?.settled() ?? Promise.resolve(false)
  }

  private newTransaction(): HandlerTransaction {
    const { guests, databaseClock, ports, keepResult } = this.options
    const { run, definition, startedAt } = this.it
    return new HandlerTransaction({
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
  }
}
