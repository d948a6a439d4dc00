import pg from 'pg'
import type { Logger } from 'pino'
import { placeElements, plainElements } from './array-text.js'
import { codeOf, isDatabaseUnavailable } from './errors.js'
import { systemClock } from '../platform/clock.js'
import type { DatabaseMetrics } from '../platform/metrics.js'
import { MeasuredPool } from './measured-pool.js'
import { type Statement, valuesOf } from './statement.js'
import { wholeDefinition } from './stored-definition.js'

export interface DatabaseOptions {
  url: string
  poolSize: number
  statementTimeoutMs: number
  applicationName: string
  log: Logger
  /** Told of every statement, and of every wait for a connection. */
  metrics?: DatabaseMetrics
  /**
   * Given, its connections work as the role that row-level security confines to one tenant, and this says to which: null,
   * and they see nothing. Left out, they work as the role of the fleet, which sees every tenant.
   */
  confinedTo?: () => number | null
  /** Its connections keep the plans of what is planned once. */
  keepsPlans?: true
}

/** Runs named statements. A pool or a transaction: the caller need not know which. */
export interface Runner {
  run<Params extends object, Row extends object>(
    statement: Statement<Params, Row>,
    params: Params,
  ): Promise<Row[]>
  /** Inside a transaction: what fails in here is undone alone, and the rest goes on. */
  apart?<Result>(work: () => Promise<Result>): Promise<Result>
}

/** Reads of one state of the database. */
export interface Snapshot extends Runner {
  apart<Result>(work: () => Promise<Result>): Promise<Result>
}

/**
 * The one way to Postgres. Every call has a deadline on the server (statement_timeout) and a later one here, which
 * discards a connection that does not answer: a half-open socket must not hold a loop for ever.
 */
export class Database implements Runner {
  private readonly pool: pg.Pool
  /** Which tenant a connection is confined to. */
  private readonly tenants = new WeakMap<pg.PoolClient, number | null>()
  /** Where statements go that are planned once, from the first of them on. */
  private keeping: Database | null = null
  private closed = false
  readonly options: DatabaseOptions

  constructor(options: DatabaseOptions) {
    this.options = options
    this.pool = new MeasuredPool(options, {
      ...connectionConfig(options),
      max: options.poolSize,
      idleTimeoutMillis: 30_000,
      // A connection that cannot take its role is not handed out. Not in `verify`: after that, the pool hands a connection even to a
      // caller that gave up waiting meanwhile, and nobody ever gives it back.
      onConnect: (client) => takeRole(client, options),
    })
    // From its first moment on: the pool listens to idle connections only, and one that breaks before its user listens would end the
    // process. Whoever uses it learns of it by his query.
    this.pool.on('connect', (client) => {
      client.on('error', (error) => options.log.debug({ err: error }, 'database connection lost'))
    })
    // An idle connection that breaks is replaced at the next use; without a listener it would end the process.
    this.pool.on('error', (error) => options.log.debug({ err: error }, 'idle database connection lost'))
  }

  async run<Params extends object, Row extends object>(
    statement: Statement<Params, Row>,
    params: Params,
  ): Promise<Row[]> {
    if (statement.planned === 'once' && this.mayKeepPlans()) return this.keeper().run(statement, params)
    return this.timed(statement.stage, () => this.ask(statement, params))
  }

  /** A statement carries many runs: what is timed is not each of them. */
  private async timed<Result>(stage: string, work: () => Promise<Result>): Promise<Result> {
    const { metrics } = this.options
    if (metrics === undefined) return work()
    const begun = systemClock.monotonic()
    try {
      return await work()
    } finally {
      metrics.ran(stage, systemClock.monotonic() - begun)
    }
  }

  private async ask<Params extends object, Row extends object>(
    statement: Statement<Params, Row>,
    params: Params,
  ): Promise<Row[]> {
    if (this.options.confinedTo === undefined) {
      return rowsOf(statement, await this.pool.query<Row>(queryOf(statement, params, this.options)))
    }
    const client = await this.connect()
    let failure: Error | undefined
    const onError = (error: Error) => {
      failure = error
    }
    client.on('error', onError)
    try {
      return rowsOf(statement, await client.query<Row>(queryOf(statement, params)))
    } catch (error) {
      // What the server says about a statement leaves the connection as it was. Anything else may have broken it.
      if (!(error instanceof pg.DatabaseError) || isDatabaseUnavailable(error))
        failure ??= error instanceof Error ? error : new Error(String(error))
      throw error
    } finally {
      client.off('error', onError)
      client.release(failure)
    }
  }

  transaction<Result>(work: (runner: Runner) => Promise<Result>): Promise<Result> {
    return this.inTransaction('BEGIN', work)
  }

  /** All reads in `work` see one state of the database. Nothing can be written. */
  snapshot<Result>(work: (runner: Snapshot) => Promise<Result>): Promise<Result> {
    return this.inTransaction('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', work)
  }

  private async inTransaction<Result>(
    begin: 'BEGIN' | 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY',
    work: (runner: Snapshot) => Promise<Result>,
  ): Promise<Result> {
    const client = await this.connect()
    let broken: Error | undefined
    // The pool listens only to idle connections: one that breaks in use, without a listener, would end the process.
    const onError = (error: Error) => {
      broken = error
    }
    client.on('error', onError)
    try {
      await client.query(begin)
      const result = await work({
        run: (statement, params) =>
          this.timed(statement.stage, async () =>
            rowsOf(statement, await client.query(queryOf(statement, params))),
          ),
        apart: (part) => apart(client, part),
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

  /** A connection that is confined to the tenant of now, where this pool confines. It is told only when that changes. */
  private async connect(): Promise<pg.PoolClient> {
    const { confinedTo } = this.options
    const tenant = confinedTo?.() ?? null
    const client = await this.pool.connect()
    if (confinedTo === undefined || (this.tenants.get(client) ?? null) === tenant) return client
    try {
      this.tenants.delete(client)
      await client.query("SELECT set_config('carillon.tenant', $1, false)", [
        tenant === null ? '' : `${tenant}`,
      ])
      this.tenants.set(client, tenant)
      return client
    } catch (error) {
      client.release(error instanceof Error ? error : new Error(String(error)))
      throw error
    }
  }

  /**
   * Another pool to the same database, whose statements see one tenant only: the second wall. `tenant` is asked at each
   * call, and has to come from who is calling, not from what the statement is given.
   */
  confined(applicationName: string, poolSize: number, tenant: () => number | null): Database {
    return new Database({ ...this.options, applicationName, poolSize, confinedTo: tenant })
  }

  /** Another pool to the same database: what is done there cannot take the connections from what is done here. */
  sibling(applicationName: string, poolSize: number): Database {
    return new Database({ ...this.options, applicationName, poolSize })
  }

  private mayKeepPlans(): boolean {
    return this.options.keepsPlans !== true && this.options.confinedTo === undefined && !this.closed
  }

  private keeper(): Database {
    const poolSize = Math.min(this.options.poolSize, keptConnections)
    this.keeping ??= new Database({
      ...this.options,
      applicationName: 'carillon ticks',
      poolSize,
      keepsPlans: true,
    })
    return this.keeping
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

  async close(): Promise<void> {
    this.closed = true
    await Promise.all([this.pool.end(), this.keeping?.close()])
  }
}

async function apart<Result>(client: pg.PoolClient, part: () => Promise<Result>): Promise<Result> {
  await client.query('SAVEPOINT apart')
  try {
    const result = await part()
    await client.query('RELEASE SAVEPOINT apart')
    return result
  } catch (error) {
    await client.query('ROLLBACK TO SAVEPOINT apart')
    throw error
  }
}

/** Two that fire and two that close for the worker of the process. Others that close, for workers over HTTP, wait for one of these. */
const keptConnections = 4

/** For a handshake, for a role, and for a free connection. */
const connectMs = 5_000

/**
 * A process that was killed leaves statements behind that hold its partitions, and whoever takes those over waits for them.
 * So Postgres looks, while it works at a statement of ours, whether whoever asked is still there. It can on Linux only, and
 * refuses the setting anywhere else.
 */
const roles = {
  fleet: `
    SELECT CASE WHEN version() LIKE '%linux%' THEN set_config('client_connection_check_interval', '100ms', false) END,
           (SELECT set_config('role', rolname, false) FROM pg_roles WHERE rolname = 'carillon_fleet')`,
  api: `
    SELECT CASE WHEN version() LIKE '%linux%' THEN set_config('client_connection_check_interval', '100ms', false) END,
           set_config('role', 'carillon_api', false)`,
}

/** A plan that was made while the queue was empty must serve the full one: it finds rows by place and by index, or not at all. */
const keepPlans = `
  SELECT set_config('plan_cache_mode', 'force_generic_plan', false), set_config('enable_seqscan', 'off', false)`

/**
 * From its first statement on, a connection is no superuser's and not its login's: row-level security holds for it. The
 * fleet's role may be missing, in a database that was never migrated and has nothing to see; the other never.
 */
async function takeRole(client: pg.ClientBase, { confinedTo, keepsPlans }: DatabaseOptions): Promise<void> {
  const role = confinedTo === undefined ? 'fleet' : 'api'
  try {
    await client.query({ text: roles[role], query_timeout: connectMs } as pg.QueryConfig)
    if (keepsPlans === true)
      await client.query({ text: keepPlans, query_timeout: connectMs } as pg.QueryConfig)
  } catch (error) {
    if (codeOf(error) !== '42501') throw error
    throw new Error(
      `The login of DATABASE_URL may not work as the role carillon_${role}. Run as an administrator of that Postgres: ` +
        'GRANT carillon_fleet, carillon_api TO the login.',
      { cause: error },
    )
  }
}

/** What is planned once is so only where that is safe; elsewhere, as in somebody's transaction, for each call. */
function queryOf<Params extends object, Row extends object>(
  statement: Statement<Params, Row>,
  params: Params,
  { keepsPlans = false }: { keepsPlans?: boolean } = {},
): pg.QueryConfig {
  const { name, text, planned } = statement
  const values = valuesOf(statement, params)
  return planned === 'usually' || (planned === 'once' && keepsPlans)
    ? { name, text, values }
    : { text, values }
}

function rowsOf<Row extends object>(
  { wholeDefinitions }: Statement<never, Row>,
  { rows }: { rows: Row[] },
): Row[] {
  if (!wholeDefinitions) return rows
  for (const row of rows as { definition?: object | null }[]) {
    if (row.definition != null) row.definition = wholeDefinition(row.definition)
  }
  return rows
}

export function connectionConfig(options: DatabaseOptions): pg.ClientConfig {
  return {
    connectionString: options.url,
    application_name: options.applicationName,
    connectionTimeoutMillis: connectMs,
    statement_timeout: options.statementTimeoutMs,
    query_timeout: options.statementTimeoutMs + 2_000,
    // A process that was stopped in the middle of a transaction must not hold its locks for as long as it sleeps.
    idle_in_transaction_session_timeout: options.statementTimeoutMs,
    // Compiling a statement takes longer than any of ours runs; processes that share one take cores from firing.
    options: '-c jit=off -c max_parallel_workers_per_gather=0',
    keepAlive: true,
    keepAliveInitialDelayMillis: 5_000,
    types: { getTypeParser: typeParser as typeof pg.types.getTypeParser },
  }
}

/** bigint columns hold milliseconds, keys, epochs and tokens: all of them exact in a JavaScript number, or an error. */
const parsers = new Map<number, (text: string) => unknown>([
  [20, exactNumber],
  [1016, exactNumbers],
  // Places of rows, one and many.
  [27, (text: string) => text],
  [1010, placeElements],
])
function typeParser(oid: number, format?: 'text'): (text: string) => unknown {
  const ours = format === ('binary' as string) ? undefined : parsers.get(oid)
  return ours ?? (pg.types.getTypeParser(oid, format) as (text: string) => unknown)
}

function exactNumbers(text: string): (number | null)[] {
  return plainElements(text).map((element) => (element === 'NULL' ? null : exactNumber(element)))
}

function exactNumber(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value))
    throw new Error(`The database sent ${text}, which is no exact number here.`)
  return value
}
