import pg from 'pg'
import type { Logger } from 'pino'
import { type Statement, valuesOf } from './statement.js'

export interface DatabaseOptions {
  url: string
  poolSize: number
  statementTimeoutMs: number
  applicationName: string
  log: Logger
}

/** Runs named statements. A pool or a transaction: the caller need not know which. */
export interface Runner {
  run<Params extends object, Row extends object>(
    statement: Statement<Params, Row>,
    params: Params,
  ): Promise<Row[]>
}

/**
 * The one way to Postgres. Every call has a deadline on the server (statement_timeout) and a later one here, which
 * discards a connection that does not answer: a half-open socket must not hold a loop for ever.
 */
export class Database implements Runner {
  private readonly pool: pg.Pool
  readonly options: DatabaseOptions

  constructor(options: DatabaseOptions) {
    this.options = options
    this.pool = new pg.Pool({
      ...connectionConfig(options),
      max: options.poolSize,
      idleTimeoutMillis: 30_000,
    })
    // An idle connection that breaks is replaced at the next use; without a listener it would end the process.
    this.pool.on('error', (error) => options.log.debug({ err: error }, 'idle database connection lost'))
  }

  async run<Params extends object, Row extends object>(
    statement: Statement<Params, Row>,
    params: Params,
  ): Promise<Row[]> {
    const result = await this.pool.query<Row>(queryOf(statement, params))
    return result.rows
  }

  transaction<Result>(work: (runner: Runner) => Promise<Result>): Promise<Result> {
    return this.inTransaction('BEGIN', work)
  }

  /** All reads in `work` see one state of the database. Nothing can be written. */
  snapshot<Result>(work: (runner: Runner) => Promise<Result>): Promise<Result> {
    return this.inTransaction('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', work)
  }

  private async inTransaction<Result>(
    begin: 'BEGIN' | 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY',
    work: (runner: Runner) => Promise<Result>,
  ): Promise<Result> {
    const client = await this.pool.connect()
    let broken: Error | undefined
    // The pool listens only to idle connections: one that breaks in use, without a listener, would end the process.
    const onError = (error: Error) => {
      broken = error
    }
    client.on('error', onError)
    try {
      await client.query(begin)
      const result = await work({
        run: async (statement, params) => (await client.query(queryOf(statement, params))).rows as never,
      })
      await client.query('COMMIT')
      return result
    } catch (error) {
      await client.query('ROLLBACK').catch((failure: unknown) => {
        broken = failure instanceof Error ? failure : new Error(String(failure))
      })
      throw error
    } finally {
      client.off('error', onError)
      client.release(broken)
    }
  }

  /** Another pool to the same database: what is done there cannot take the connections from what is done here. */
  sibling(applicationName: string, poolSize: number): Database {
    return new Database({ ...this.options, applicationName, poolSize })
  }

  /** A connection of one's own, outside the pool: for what must live as long as a session. */
  dedicated(applicationName: string): pg.Client {
    const client = new pg.Client(connectionConfig({ ...this.options, applicationName }))
    // Its user learns of a loss by its next query; an error nobody listens to would end the process.
    client.on('error', (error) =>
      this.options.log.debug({ err: error }, `connection lost: ${applicationName}`),
    )
    return client
  }

  /** Requests that wait for a connection. */
  waiting(): number {
    return this.pool.waitingCount
  }

  close(): Promise<void> {
    return this.pool.end()
  }
}

function queryOf<Params extends object, Row extends object>(
  statement: Statement<Params, Row>,
  params: Params,
): pg.QueryConfig {
  const values = valuesOf(statement, params)
  return statement.plannedEachTime
    ? { text: statement.text, values }
    : { name: statement.name, text: statement.text, values }
}

export function connectionConfig(options: DatabaseOptions): pg.ClientConfig {
  return {
    connectionString: options.url,
    application_name: options.applicationName,
    connectionTimeoutMillis: 5_000,
    statement_timeout: options.statementTimeoutMs,
    query_timeout: options.statementTimeoutMs + 2_000,
    // A process that was stopped in the middle of a transaction must not hold its locks for as long as it sleeps.
    idle_in_transaction_session_timeout: options.statementTimeoutMs,
    // Compiling a statement takes longer than any of ours runs.
    options: '-c jit=off',
    keepAlive: true,
    keepAliveInitialDelayMillis: 5_000,
    types: { getTypeParser: typeParser as typeof pg.types.getTypeParser },
  }
}

/** bigint columns hold milliseconds, keys, epochs and tokens: all of them exact in a JavaScript number, or an error. */
const int8 = 20
function typeParser(oid: number, format?: 'text'): (text: string) => unknown {
  if (oid === int8 && format !== ('binary' as string)) return exactNumber
  return pg.types.getTypeParser(oid, format) as (text: string) => unknown
}

function exactNumber(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value))
    throw new Error(`The database sent ${text}, which is no exact number here.`)
  return value
}
