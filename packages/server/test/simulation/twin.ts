import { isDeepStrictEqual } from 'node:util'
import pg from 'pg'
import { connectionConfig } from '../../src/db/pool.js'
import { storedText, wholeDefinition } from '../../src/db/stored-definition.js'
import { type Statement, statement, valuesOf } from '../../src/db/statement.js'
import type { House } from '../kit/use-house.js'
import { type Expected, partitions } from './jobs.js'
import type { Proposal } from './propose.js'
import { runKey } from './rows.js'
import { type StatementName, statements } from './statements/index.js'
import { Store, StoreError } from './store.js'

const folders: Record<string, readonly StatementName[]> = {
  'cluster/postgres': [
    ...(['join', 'heartbeat', 'peers', 'declare-dead', 'disown', 'leave'] as const),
    ...(['take-partitions', 'renew-partitions', 'release-partitions'] as const),
  ],
  'pipeline/fire': ['scan-due', 'load-horizon', 'changed', 'read-timers', 'fire-plain', 'fire'],
  'pipeline/queue': ['lanes', 'lease', 'held', 'revoked', 'still-held', 'hand-back', 'definitions'],
  'pipeline/record': ['close', 'close-plain', 'note-stale'],
  'pipeline/recover': ['orphaning', 'rescue', 'rescued'],
}

/** The real statements, by the same names. */
export const real = new Map<string, Statement<object, object>>(
  Object.entries(folders).flatMap(([folder, names]) =>
    names.map(
      (name) => [name, statement(new URL(`../../src/${folder}/${name}.sql`, import.meta.url))] as const,
    ),
  ),
)

export interface Outcome {
  rows: object[]
  code: string | null
}

/** Columns in which the two may differ: where rows lie, what only one of them has, and who of two equals comes first. */
const beside = new Set([
  ...['place', 'lies', 'run_places', 'timer_places', 'locked', 'server_age_ms', 'report', 'payload'],
  ...['cost_from', 'lanes'],
])

/**
 * The simulated store and a real database, side by side: the same statements, the same answers, the same rows. Tokens and
 * places are other numbers in each; they are translated by the rows that have them.
 */
export class Twin {
  readonly store: Store
  now: number
  private readonly tokens = new Map<number, number>()
  private readonly places = new Map<string, string>()

  constructor(
    readonly house: House,
    now: number,
  ) {
    this.now = now
    this.store = new Store(statements, () => this.now)
  }

  async furnish(jobs: readonly Expected[], epoch: number): Promise<void> {
    const { store, house } = this
    await this.moveTo(this.now)
    await house.query(
      `INSERT INTO carillon.routes (route, tenant, kind, name) VALUES (1, 1, 'task', 'task') ON CONFLICT DO NOTHING`,
    )
    await house.query('UPDATE carillon.partitions SET epoch = 0, owner = NULL, expires_at = 0, taken_at = 0')
    for (const partition of partitions)
      store.put('partitions', partition, { partition, epoch: 0, owner: null, expires_at: 0, taken_at: 0 })
    for (const { job, partition, ticks, definition } of jobs) {
      const uuid = `01900000-0000-7000-8000-00000000000${job}`
      const [due] = ticks as [number]
      store.put('jobs', job, {
        ...{ job, uuid, tenant: 1, partition, state: 'active', version: 1, route: 1, definition },
        ...{ changed_at: epoch, ended_at: null },
      })
      store.put('timers', job, {
        ...{ job, tenant: 1, due, start_at: due, rev: 1, runs: 0, accounted_through: epoch, partition },
      })
      await house.query(
        `INSERT INTO carillon.jobs (job, id, tenant, partition, name, definition, one_off, route, effective_from, zone_data, changed_at)
         VALUES ($1, $2, 1, $3, $4, $5, false, 1, $6, 'x', $6)`,
        [job, uuid, partition, `job-${job}`, storedText(definition), epoch],
      )
      await house.query(
        `INSERT INTO carillon.timers (job, tenant, due, start_at, accounted_through, partition) VALUES ($1, 1, $2, $2, $3, $4)`,
        [job, due, epoch, partition],
      )
    }
    await this.learn()
  }

  async moveTo(now: number): Promise<void> {
    this.now = now
    await this.house.query('UPDATE carillon_test.clock SET now_ms = $1', [now])
  }

  /** Both do it, alone. Answers in which they differ are an error. */
  async run(name: StatementName, params: object): Promise<object[]> {
    const simulated = this.simulated(name, params)
    const database = await this.inDatabase(this.house.database.database, name, params)
    await this.compare(name, simulated, database)
    return simulated.rows
  }

  private simulated(name: StatementName, params: object): Outcome {
    try {
      return { rows: this.store.run(name, params), code: null }
    } catch (error) {
      if (error instanceof StoreError) return { rows: [], code: error.code }
      throw error
    }
  }

  private async inDatabase(
    runner: { run(statement: Statement<object, object>, params: object): Promise<object[]> },
    name: StatementName,
    params: object,
  ): Promise<Outcome> {
    try {
      return { rows: await runner.run(this.realOf(name), this.translate(name, params)), code: null }
    } catch (error) {
      const { code } = error as { code?: string }
      if (code === undefined) throw error
      return { rows: [], code }
    }
  }

  /** Whether the second would wait for the first: then the two are worth a race. */
  meet(first: Proposal, second: Proposal): boolean {
    const [one, other] = [first, second].map(({ name, params }) =>
      this.store.execution(name, params, 'trial'),
    )
    for (const execution of [one, other]) {
      execution?.begin()
      execution?.advance()
    }
    const waits = other?.state === 'waiting'
    one?.abort(null)
    other?.abort(null)
    return waits
  }

  /**
   * One has done its work and not committed when the other begins. Answers whether the second waited, which has to be so in
   * both; then the first commits, or is undone.
   */
  async race(first: Proposal, second: Proposal, commits: boolean): Promise<boolean> {
    const one = this.store.execution(first.name, first.params, 'first')
    one.begin()
    one.advance()
    const other = this.store.execution(second.name, second.params, 'second')
    other.begin()
    other.advance()
    const waits = other.state === 'waiting'
    const [a, b] = [await this.session(), await this.session()]
    try {
      await a.query('BEGIN')
      const failed = await a.query(this.query(first)).then(
        () => null,
        (error: { code?: string }) => error.code ?? 'unknown',
      )
      if ((failed === null) !== (one.state === 'done'))
        throw new Error(
          `${first.name} ${failed ?? 'went well'} in the database, and is ${one.state} in the store`,
        )
      let blocked: boolean | null = null
      const running = b.query<object>(this.query(second)).then(
        ({ rows }) => ({ rows: this.whole(second.name, rows), code: null }),
        (error: { code?: string }) => ({ rows: [], code: error.code ?? 'unknown' }),
      )
      void running.then(() => (blocked ??= false))
      while (blocked === null) if ((await this.house.lockWaiters()) > 0) blocked = true
      await a.query(commits && failed === null ? 'COMMIT' : 'ROLLBACK')
      const database = await running
      if (commits) one.commit()
      else one.abort(null)
      // A short statement gives up by itself after a while, which may be before the first has ended.
      if (waits && database.code === '55P03')
        other.abort(new StoreError('55P03', 'the lock was not to be had'))
      if (other.state === 'waiting') other.advance()
      other.commit()
      if (waits !== blocked)
        throw new Error(
          `${second.name} ${waits ? 'waits' : 'does not wait'} for ${first.name} in the store only`,
        )
      const code = other.error instanceof StoreError ? other.error.code : null
      await this.compare(`${second.name} after ${first.name}`, { rows: other.answer, code }, database)
      return waits
    } finally {
      await Promise.all([a.end(), b.end()])
    }
  }

  private whole(name: StatementName, rows: object[]): object[] {
    if (!this.realOf(name).wholeDefinitions) return rows
    return (rows as { definition: object | null }[]).map((row) => ({
      ...row,
      definition: row.definition && wholeDefinition(row.definition),
    }))
  }

  private query({ name, params }: Proposal): pg.QueryConfig {
    const real = this.realOf(name)
    return { text: real.text, values: valuesOf(real, this.translate(name, params)) }
  }

  private async session(): Promise<pg.Client> {
    const client = new pg.Client(connectionConfig(this.house.database.database.options))
    await client.connect()
    return client
  }

  private realOf(name: StatementName): Statement<object, object> {
    const found = real.get(name)
    if (found === undefined) throw new Error(`There is no statement ${name}.`)
    return found
  }

  /** The same for the database: its own tokens and places, and what the store has no use for. */
  private translate(name: StatementName, params: object): object {
    const translated: Record<string, unknown> = { ...params }
    if (Array.isArray(translated.tokens))
      translated.tokens = (translated.tokens as number[]).map((token) => this.tokens.get(token) ?? token)
    for (const column of ['timer_places', ...(name === 'close-plain' ? ['places'] : [])])
      if (Array.isArray(translated[column]))
        translated[column] = (translated[column] as string[]).map(
          (place) => this.places.get(place) ?? '(9999,1)',
        )
    return translated
  }

  private async compare(what: string, simulated: Outcome, database: Outcome): Promise<void> {
    await this.learn()
    const ours = this.plain(simulated, (token) => this.tokens.get(token) ?? token)
    const theirs = this.plain(database, same, simulated.rows[0])
    if (!isDeepStrictEqual(ours, theirs)) throw differs(`the answers to ${what}`, ours, theirs)
    const [store, tables] = [this.storeRows(), await this.databaseRows()]
    for (const [table, rows] of Object.entries(store))
      if (!isDeepStrictEqual(rows, tables[table]))
        throw differs(`${table} after ${what}`, rows, tables[table])
  }

  /** Whose are which: by the runs and jobs that have them. */
  private async learn(): Promise<void> {
    const { queue, timers } = this.store.tables
    const runs = await this.house.query<Run>(
      'SELECT job, due, origin, seq, token, ctid::text AS place FROM carillon.queue',
    )
    for (const run of runs) {
      const ours = queue.get(runKey(run))
      if (ours === undefined) continue
      this.places.set(ours.place, run.place)
      if (ours.token !== null && run.token !== null) this.tokens.set(ours.token, run.token)
    }
    for (const { job, place } of await this.house.query<{ job: number; place: string }>(
      'SELECT job, ctid::text AS place FROM carillon.timers',
    ))
      this.places.set(timers.get(job)?.place ?? '', place)
  }

  /** Rows without what may differ, in an order of their own. */
  private plain(
    { rows, code }: Outcome,
    tokenOf: (token: number) => number,
    like?: object,
  ): { code: string | null; rows: string[] } {
    const texts = rows.map((row) => {
      const columns = Object.entries(row).filter(
        ([name]) => !beside.has(name) && (like === undefined || name in like),
      )
      return text(
        Object.fromEntries(columns.map(([name, value]) => [name, comparable(name, value, tokenOf)])),
      )
    })
    // Only the first row of a lease has them, whichever that is.
    const lanes = rows.flatMap((row) => ('lanes' in row && row.lanes !== null ? [text(row.lanes)] : []))
    return { code, rows: [...texts.sort(), ...lanes] }
  }

  private storeRows(): Record<string, string[]> {
    const { partitions: owned, incarnations, timers, queue, letters, jobs } = this.store.tables
    const rows = (of: Iterable<object>) =>
      [...of].map((row) => rowText(row, (token) => this.tokens.get(token) ?? token)).sort()
    return {
      partitions: rows(owned.values()),
      incarnations: rows(incarnations.values()),
      jobs: rows([...jobs.values()].map(({ job, state, ended_at }) => ({ job, state, ended_at }))),
      timers: rows(timers.values()),
      queue: rows(queue.values()),
      letters: rows(letters.values()),
      ledger: rows(
        this.store.ledger.map((row) => ({ ...row, result: JSON.parse(row.result ?? 'null') as unknown })),
      ),
    }
  }

  private async databaseRows(): Promise<Record<string, string[]>> {
    const read = async (sql: string) => (await this.house.query(sql)).map((row) => rowText(row, same)).sort()
    return {
      partitions: await read(
        `SELECT partition, epoch, owner, expires_at, taken_at FROM carillon.partitions
         WHERE partition IN (3, 77, 150, 201)`,
      ),
      incarnations: await read(
        `SELECT incarnation, host, pid, roles, tasks, commands, state, beat, beat_at, session_lock, started_at, ended_at,
                rescued_at FROM carillon.incarnations`,
      ),
      jobs: await read('SELECT job, state, ended_at FROM carillon.jobs'),
      timers: await read(
        'SELECT job, tenant, due, start_at, rev, runs, accounted_through, partition FROM carillon.timers',
      ),
      queue: await read(
        `SELECT due, job, origin, seq, tenant, route, version, epoch, next_due, slot, places, attempt, max_attempts, round,
                available_at, fired_at, holder, token, leased_at, catch_up, last_error, partition FROM carillon.queue`,
      ),
      letters: await read(
        'SELECT due, job, attempts, max_attempts, round, reason, error, dead_at FROM carillon.dead_letters',
      ),
      ledger: await read(
        `SELECT recorded_at, tenant, job, due, origin, seq, outcome, final, round, attempt, max_attempts, version, epoch,
                next_due, token, worker, due_to, ticks, available_at, fired_at, leased_at, started_at, finished_at, reason,
                error, result, partition FROM carillon.ledger`,
      ),
    }
  }
}

const same = (token: number) => token

function rowText(row: object, tokenOf: (token: number) => number): string {
  const columns = Object.entries(row).filter(([name]) => name !== 'place')
  return text(Object.fromEntries(columns.map(([name, value]) => [name, comparable(name, value, tokenOf)])))
}

/** Tokens as the database has them; lists whose order says nothing, sorted. */
function comparable(name: string, value: unknown, tokenOf: (token: number) => number): unknown {
  const translated = (token: number | null) => (token === null ? null : tokenOf(token))
  if (name === 'token') return translated(value as number | null)
  if (name === 'tokens') return (value as (number | null)[]).map(translated).sort()
  if (name === 'jobs' || name === 'moved') return [...(value as number[])].sort()
  return value
}

interface Run {
  job: number
  due: number
  origin: number
  seq: number
  token: number | null
  place: string
}

function text(value: unknown): string {
  return JSON.stringify(value, (_name, part: unknown) =>
    part !== null && typeof part === 'object' && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  )
}

function differs(what: string, ours: unknown, theirs: unknown): Error {
  return new Error(
    `${what} differ:\n  store:    ${JSON.stringify(ours, null, 1)}\n  database: ${JSON.stringify(theirs, null, 1)}`,
  )
}
