import pg from 'pg'
import { systemClock } from '../platform/clock.js'
import { codeOf } from './errors.js'
import { poolName } from './measured-pool.js'
import { connectionConfig, type DatabaseOptions, type Runner } from './pool.js'
import { type Statement, statement, valuesOf } from './statement.js'

const deadlinesStatement = statement<{ statement_ms: string; pause_ms: string }, object>(
  new URL('./guest-deadlines.sql', import.meta.url),
)

export interface GuestPoolOptions extends DatabaseOptions {
  /** The longest pause between two statements of a guest: a process that was frozen in one keeps its locks no longer. */
  pauseMs: number
}

/**
 * Transactions in which statements run that are not ours. They have connections of their own, a bounded number of them, and
 * wait in line for one: however long they take, heartbeats and leases go on in the pool.
 */
export class GuestPool {
  private readonly pool: pg.Pool
  private readonly line: (() => void)[] = []
  private readonly guests = new Set<Guest>()
  private free: number

  constructor(private readonly options: GuestPoolOptions) {
    this.free = options.poolSize
    this.pool = new pg.Pool({
      ...connectionConfig(options),
      max: options.poolSize,
      idleTimeoutMillis: 30_000,
    })
    // From its first moment on: between its handshake and its guest nobody else listens, and one that breaks then would end the process.
    this.pool.on('connect', (client) => {
      client.on('error', (error) => options.log.debug({ err: error }, 'database connection lost'))
    })
    this.pool.on('error', (error) => options.log.debug({ err: error }, 'idle database connection lost'))
    options.metrics?.watchPool(poolName(options.applicationName), () => ({
      idle: this.pool.idleCount,
      busy: this.pool.totalCount - this.pool.idleCount,
      waiting: this.line.length,
    }))
  }

  /** Begins a transaction, as soon as a connection is free. A statement of it may take `longestMs`. */
  async begin(signal: AbortSignal, longestMs: number): Promise<Guest> {
    await this.takePlace(signal)
    let client: pg.PoolClient
    try {
      client = await this.pool.connect()
    } catch (error) {
      this.givePlace()
      throw error
    }
    const ours = this.options.statementTimeoutMs
    const guest: Guest = new Guest(client, ours, longestMs, this.options.pauseMs, () => {
      this.guests.delete(guest)
      this.givePlace()
    })
    this.guests.add(guest)
    await guest.begin()
    return guest
  }

  /** Those under way are cut off: nothing of them is written. */
  close(): Promise<void> {
    for (const guest of this.guests) guest.discard(new Error('the worker is shutting down'))
    return this.pool.end()
  }

  private takePlace(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (this.free > 0) {
      this.free -= 1
      return Promise.resolve()
    }
    const { metrics, applicationName } = this.options
    const begun = systemClock.monotonic()
    return new Promise((resolve, reject) => {
      const next = () => {
        metrics?.waited(poolName(applicationName), systemClock.monotonic() - begun)
        signal.removeEventListener('abort', leave)
        resolve()
      }
      const leave = () => {
        this.line.splice(this.line.indexOf(next), 1)
        reject(signal.reason as Error)
      }
      signal.addEventListener('abort', leave, { once: true })
      this.line.push(next)
    })
  }

  private givePlace(): void {
    const next = this.line.shift()
    if (next === undefined) this.free += 1
    else next()
  }
}

/** One such transaction. It ends by commit, rollback or discard; afterwards nothing can be asked of it. */
export class Guest implements Runner {
  private broken: Error | undefined
  private ended = false
  private outstanding = 0
  private readonly onError = (error: Error) => {
    this.broken ??= error
  }

  constructor(
    private readonly client: pg.PoolClient,
    private readonly oursMs: number,
    private readonly longestMs: number,
    private readonly pauseMs: number,
    private readonly givePlace: () => void,
  ) {
    // The pool listens only to idle connections: one that breaks in use, without a listener, would end the process.
    client.on('error', this.onError)
  }

  async begin(): Promise<void> {
    try {
      await this.client.query('BEGIN')
      await this.allow(this.longestMs, Math.min(this.longestMs, this.pauseMs))
    } catch (error) {
      this.discard(error)
      throw error
    }
  }

  /** A statement of ours. */
  async run<Params extends object, Row extends object>(
    statement: Statement<Params, Row>,
    params: Params,
  ): Promise<Row[]> {
    // Never under a name: what leaves a guest's session clean forgets prepared statements, and the driver would not know.
    const { rows } = await this.client.query<Row>(statement.text, valuesOf(statement, params))
    return rows
  }

  /** A statement of the guest's: one, because the extended protocol takes no more; rows as the driver's users know them. */
  async query<Row extends object>(
    text: string,
    values: readonly unknown[],
  ): Promise<{ rows: Row[]; rowCount: number }> {
    this.outstanding += 1
    try {
      const { rows, rowCount } = await this.client.query<Row>({
        text,
        values: [...values],
        types: pg.types,
        queryMode: 'extended',
        query_timeout: this.longestMs + 2_000,
      } as pg.QueryConfig)
      return { rows, rowCount: rowCount ?? 0 }
    } finally {
      this.outstanding -= 1
    }
  }

  /** True once a statement has ended the transaction, which is not the guest's to do. */
  get over(): boolean {
    return this.ended || this.client.getTransactionStatus() === 'I'
  }

  /**
   * The guest has done its part, the rest is ours: what its tables check at the end is checked now, before locks of ours
   * are taken; our deadlines hold; what it set for itself does not.
   */
  async takeOver(): Promise<void> {
    await this.client.query(
      'SET CONSTRAINTS ALL IMMEDIATE; SET LOCAL ROLE carillon_fleet; SET LOCAL search_path TO DEFAULT',
    )
    await this.allow(this.oursMs, Math.min(this.oursMs, oursPauseMs))
  }

  /** Statements of ours that may meet others crosswise: whoever has to give way does it again, not all that went before. */
  async again<Result>(work: () => Promise<Result>): Promise<Result> {
    for (let tries = 1; ; tries++) {
      await this.client.query('SAVEPOINT carillon_ours')
      try {
        return await work()
      } catch (error) {
        if (codeOf(error) !== deadlock || tries === mostTries) throw error
        await this.client.query('ROLLBACK TO SAVEPOINT carillon_ours')
      }
    }
  }

  /**
   * `unknown` when the answer did not come: then the transaction is committed, or will be, or never will. Throws when the
   * database refused: then it is rolled back.
   */
  async commit(): Promise<'committed' | 'unknown'> {
    let answer: pg.QueryResult
    try {
      answer = await this.client.query('COMMIT')
    } catch (error) {
      this.discard(error)
      if (isRefusal(error)) throw error
      return 'unknown'
    }
    this.leave()
    // A transaction in which a statement had failed is "committed" by a rollback, without an error.
    if (answer.command !== 'COMMIT') throw new Error(`The database answered COMMIT with ${answer.command}.`)
    return 'committed'
  }

  async rollback(): Promise<void> {
    // A statement that nobody waits for may take long: the connection is not worth waiting for it.
    if (this.outstanding > 0) return this.discard(new Error('a statement was under way'))
    try {
      await this.client.query('ROLLBACK')
      this.leave()
    } catch (error) {
      this.discard(error)
    }
  }

  /** Cuts the connection: whatever was not committed is not written. */
  discard(why: unknown): void {
    this.release(why instanceof Error ? why : new Error(String(why)))
  }

  /** Nothing of this guest shall meet the next one: no setting, no lock, no temporary table. */
  private leave(): void {
    if (this.broken !== undefined) return this.release(this.broken)
    this.client.query('DISCARD ALL').then(
      () => this.release(),
      (error: unknown) => this.discard(error),
    )
  }

  private async allow(statementMs: number, pauseMs: number): Promise<void> {
    const setting = (ms: number) => String(Math.min(Math.max(1, Math.ceil(ms)), longestSettingMs))
    await this.run(deadlinesStatement, { statement_ms: setting(statementMs), pause_ms: setting(pauseMs) })
  }

  private release(why?: Error): void {
    if (this.ended) return
    this.ended = true
    this.client.off('error', this.onError)
    if (why !== undefined) this.client.on('error', () => undefined)
    this.client.release(why ?? this.broken)
    this.givePlace()
  }
}

const longestSettingMs = 2_147_483_647
/** From our close to the commit there is nothing to do, and locks are held that others wait for. */
const oursPauseMs = 1_000
const deadlock = '40P01'
const mostTries = 5

/** An error of the statement, told by a server that goes on: what was to be committed is rolled back. */
function isRefusal(error: unknown): boolean {
  return (error as { severity?: string }).severity === 'ERROR'
}
