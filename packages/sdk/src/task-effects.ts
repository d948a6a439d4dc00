/** What a handler does once: effects that are remembered, and writes that commit together with the run. */

export interface SqlResult<Row> {
  readonly rows: Row[]
  /** Rows that the statement touched; 0 for statements that touch none. */
  readonly rowCount: number
}

/**
 * Statements of a run's transaction, one at a time. As a template every value becomes a parameter, never text:
 *
 *     await sql`UPDATE accounts SET balance = balance + ${amount} WHERE id = ${id}`
 *
 * Values come as node-postgres gives them: a bigint is a string.
 */
export interface Sql {
  <Row extends object = Record<string, unknown>>(
    text: TemplateStringsArray,
    ...values: readonly unknown[]
  ): Promise<Row[]>
  /** The same with `$1`, `$2`, … in the text. */
  query<Row extends object = Record<string, unknown>>(
    text: string,
    params?: readonly unknown[],
  ): Promise<SqlResult<Row>>
}

export interface TaskEffects {
  /**
   * Does an effect once and remembers its result: a later call with the same `key`, in this attempt, in a later one or in
   * another run of the job with the same idempotency key, answers what was remembered and does not call `effect`.
   *
   * What it answers is what JSON makes of the result, the first time too. At most 64 KiB of it are remembered. An effect that
   * throws is not remembered. Between the effect and its record a worker may die: then the effect is done again. Pass
   * `ctx.idempotencyKey` on to whatever can use it.
   */
  once<Result>(key: string, effect: () => Result | Promise<Result>): Promise<Result>
  /**
   * Commits the handler's writes and the run's completion in one transaction, or neither: exactly once, whatever is
   * killed when. What `work` returns is the run's result. Once it has returned the run is closed as succeeded, and nothing
   * that the handler does later changes that. One transaction to an attempt.
   *
   * The tables have to be in the database that Carillon works in. If the lease is lost, the time is up or the run is
   * cancelled before the commit, nothing is written.
   */
  transaction<Result>(work: (sql: Sql) => Result | Promise<Result>): Promise<Result>
}

// Registered symbols are shared by every copy of this package in a process, where instanceof is not.
const leaseLost = Symbol.for('carillon.lease-lost')
const nonRetryable = Symbol.for('carillon.non-retryable')

/** This attempt is no longer the one that counts: its run went to another, or is closed. Nothing was written by the call. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError'
  readonly [leaseLost] = true
}

export function isLeaseLost(error: unknown): boolean {
  return typeof error === 'object' && error !== null && leaseLost in error
}

/** The transaction was not committed because its connection broke. Nothing was written. Another attempt may succeed. */
export class TransactionLostError extends Error {
  override readonly name = 'TransactionLostError'
}

/** The worker that runs this task has no database to offer: it has its runs over HTTP. */
export class EffectsUnavailableError extends Error {
  override readonly name = 'EffectsUnavailableError'
  readonly [nonRetryable] = true
}

/** ctx.once or ctx.transaction was called in a way that cannot work. Trying again would not help. */
export class EffectsUsageError extends Error {
  override readonly name = 'EffectsUsageError'
  readonly [nonRetryable] = true
}

/** For a worker without a database: both say so when they are called. */
export const effectsUnavailable: TaskEffects = {
  once: () => Promise.reject(unavailable('ctx.once')),
  transaction: () => Promise.reject(unavailable('ctx.transaction')),
}

function unavailable(what: string): EffectsUnavailableError {
  return new EffectsUnavailableError(
    `${what} works only in a worker that is connected to Carillon's database (carillon up --role worker --tasks FILE). ` +
      'Here, pass ctx.idempotencyKey on to what must happen once.',
  )
}
