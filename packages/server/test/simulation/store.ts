import { deadlocked, type Locker, type LockMode, Locks } from './locks.js'
import type { Mutant } from './mutants.js'
import type {
  IncarnationRow,
  JobRow,
  Key,
  LedgerRow,
  LetterRow,
  PartitionRow,
  QueueRow,
  TimerRow,
} from './rows.js'

export interface Tables {
  partitions: Map<Key, PartitionRow>
  incarnations: Map<Key, IncarnationRow>
  jobs: Map<Key, JobRow>
  timers: Map<Key, TimerRow>
  queue: Map<Key, QueueRow>
  letters: Map<Key, LetterRow>
}
export type TableName = keyof Tables
type RowOf<Name extends TableName> = Tables[Name] extends Map<Key, infer Row> ? Row : never

/** A row that a statement writes: it replaces the version before it. Null: deleted, or not there before. */
export type Write = {
  [Name in TableName]: {
    table: Name
    key: Key
    before: RowOf<Name> | null
    after: RowOf<Name> | null
  }
}[TableName]

/** All that became visible at once. */
export interface Commit {
  statement: string
  params: Readonly<Record<string, unknown>>
  /** Who sent it. */
  sender: string
  writes: readonly Write[]
  noted: readonly LedgerRow[]
}

/** One statement's way of working: it stops where it has to wait for a lock, and ends with its answer. */
export type Steps = Generator<undefined, object[], undefined>
export type StatementFunction = (run: Execution, params: never) => Steps

/** What Postgres would say. Callers tell errors apart by the code. */
export class StoreError extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly constraint?: string,
  ) {
    super(message)
  }
}

/** As long as no failover happens, the base of epochs and tokens: timeline 1. */
export const timelineBase = 2 ** 40

/**
 * The tables in memory, with what matters of Postgres: statements that see a snapshot and commit as a whole, row locks
 * that others wait for or pass over, rows that are read again after a wait, unique places, a clock that stands still
 * within a statement. Each statement of the services is one function, under the name of its .sql file.
 */
export class Store {
  readonly tables: Tables = {
    partitions: new Map(),
    incarnations: new Map(),
    jobs: new Map(),
    timers: new Map(),
    queue: new Map(),
    letters: new Map(),
  }
  readonly ledger: LedgerRow[] = []
  readonly locks = new Locks()
  /** Advisory locks of sessions, by their key. */
  readonly sessions = new Map<number, object>()
  onCommit: (commit: Commit) => void = () => undefined
  private tokens = 0
  private places = 0
  private executions = 0

  constructor(
    private readonly functions: Readonly<Record<string, StatementFunction>>,
    readonly now: () => number,
    readonly mutants: ReadonlySet<Mutant> = new Set(),
  ) {}

  execution(statement: string, params: object, sender: string): Execution {
    const work = this.functions[statement]
    if (work === undefined) throw new Error(`The simulated store does not know the statement ${statement}.`)
    return new Execution(this, ++this.executions, { statement, params, sender }, work)
  }

  /** From beginning to end, with nobody else at work. */
  run(statement: string, params: object): object[] {
    const execution = this.execution(statement, params, 'alone')
    execution.begin()
    execution.advance()
    if (execution.state === 'waiting') throw new Error(`${statement} waits although nobody else is at work.`)
    execution.commit()
    if (execution.error !== null) throw execution.error
    return execution.answer
  }

  nextToken(): number {
    return timelineBase + ++this.tokens
  }

  nextPlace(): string {
    return `(0,${++this.places})`
  }

  /** Puts a row there as if it had always been. */
  put<Name extends TableName>(table: Name, key: Key, row: Omit<RowOf<Name>, 'place'>): void {
    const rows = this.tables[table] as Map<Key, object>
    rows.set(key, { ...row, place: this.nextPlace() })
  }
}

export type ExecutionState = 'new' | 'begun' | 'waiting' | 'done' | 'ended'

/** One statement on its way through the store. */
export class Execution implements Locker {
  state: ExecutionState = 'new'
  answer: object[] = []
  error: Error | null = null
  waitsFor: readonly Locker[] = []
  readonly now: number
  private steps: Steps | null = null
  private snapshot: Tables | null = null
  private ledgerRows = 0
  private readonly writes: Write[] = []
  private readonly notes: LedgerRow[] = []
  private locked = false
  private later: Write[] = []

  constructor(
    readonly store: Store,
    readonly id: number,
    readonly call: { statement: string; params: object; sender: string },
    private readonly work: StatementFunction,
  ) {
    this.now = store.now()
  }

  /** The snapshot is taken here. `apart`: others may commit before it goes on. */
  begin(apart = false): void {
    this.state = 'begun'
    this.ledgerRows = this.store.ledger.length
    this.steps = this.work(this, this.call.params as never)
    if (apart) this.keepSnapshot()
  }

  /** Goes on until it waits or has done its work. Nothing is visible to others yet. */
  advance(): void {
    try {
      const step = (this.steps as Steps).next()
      this.waitsFor = step.done === true ? nobody : this.waitsFor
      if (step.done === true) {
        this.answer = step.value
        this.state = 'done'
        return
      }
      this.keepSnapshot()
      this.state = 'waiting'
      if (deadlocked(this)) throw new StoreError('40P01', 'deadlock detected')
    } catch (error) {
      this.abort(error)
    }
  }

  /** Waiting, and nobody stands in the way any more. */
  get canGoOn(): boolean {
    return this.state === 'waiting' && this.waitsFor.every((other) => (other as Execution).state === 'ended')
  }

  commit(): void {
    if (this.state !== 'done') return
    const { writes, notes } = this
    try {
      for (const write of writes) if (write.after !== null) check(write)
    } catch (error) {
      this.abort(error)
      return
    }
    const late = this.has('cursor before the run') && this.call.statement.startsWith('fire')
    this.later = late ? writes.filter(({ table }) => table === 'queue') : []
    this.apply(late ? writes.filter(({ table }) => table !== 'queue') : writes, notes)
    this.end()
  }

  /** What a mutant left for a second statement. */
  commitRest(): void {
    if (this.later.length > 0) this.apply(this.later.splice(0), [])
  }

  private apply(writes: readonly Write[], noted: readonly LedgerRow[]): void {
    if (writes.length === 0 && noted.length === 0) return
    const { store, call } = this
    for (const { table, key, after } of writes) {
      const rows = store.tables[table] as Map<Key, object>
      if (after === null) rows.delete(key)
      else rows.set(key, after)
    }
    store.ledger.push(...noted)
    store.onCommit({ ...call, params: call.params as Record<string, unknown>, writes, noted })
  }

  /** Nothing of it happened. */
  abort(error: unknown): void {
    this.error = error === null || error instanceof Error ? error : new Error('a statement threw no error')
    this.end()
  }

  private end(): void {
    this.state = 'ended'
    this.waitsFor = nobody
    if (this.locked) this.store.locks.giveBack(this)
  }

  private keepSnapshot(): void {
    if (this.snapshot !== null) return
    const { partitions, incarnations, jobs, timers, queue, letters } = this.store.tables
    this.snapshot = {
      partitions: new Map(partitions),
      incarnations: new Map(incarnations),
      jobs: new Map(jobs),
      timers: new Map(timers),
      queue: new Map(queue),
      letters: new Map(letters),
    }
  }

  // What statements are written with.

  has(mutant: Mutant): boolean {
    return this.store.mutants.has(mutant)
  }

  /** As the snapshot has it. */
  table<Name extends TableName>(name: Name): Tables[Name] {
    return (this.snapshot ?? this.store.tables)[name]
  }

  ledger(): readonly LedgerRow[] {
    return this.store.ledger.slice(0, this.ledgerRows)
  }

  /** Locks a row and answers it as it is now, which may be another version than the snapshot's; null: gone. */
  *lock<Name extends TableName>(
    table: Name,
    key: Key,
    mode: LockMode,
  ): Generator<undefined, RowOf<Name> | null> {
    yield* this.lockName(`${table} ${key}`, mode)
    return (this.store.tables[table].get(key) as RowOf<Name> | undefined) ?? null
  }

  /** The same, unless somebody has it: then null. */
  lockOrSkip<Name extends TableName>(table: Name, key: Key, mode: LockMode): RowOf<Name> | null {
    this.locked = true
    if (this.store.locks.take(this, `${table} ${key}`, mode).length > 0) return null
    return (this.store.tables[table].get(key) as RowOf<Name> | undefined) ?? null
  }

  /**
   * A place of a job in the queue, which a unique index keeps for one: false where it is taken. Waits for whoever is about to
   * take it or to give it back. Whatever the snapshot says: an index is asked as it is now.
   */
  *claimPlace(job: number, slot: number): Generator<undefined, boolean> {
    const name = `place ${job}/${slot}`
    this.locked = true
    for (;;) {
      const inTheWay = this.store.locks.others(this, name)
      if (inTheWay.length === 0) break
      this.waitsFor = inTheWay
      yield
    }
    if (this.placeTaken(job, slot)) return false
    this.store.locks.take(this, name, 'update')
    return true
  }

  /** Whoever wants the place waits until this has ended. */
  freePlace({ job, slot }: { job: number; slot: number | null }): void {
    this.locked = true
    if (slot !== null) this.store.locks.take(this, `place ${job}/${slot}`, 'update')
  }

  private placeTaken(job: number, slot: number): boolean {
    if (this.has('places not unique')) return false
    for (const row of this.store.tables.queue.values()) if (row.job === job && row.slot === slot) return true
    return false
  }

  /** Shared, as those who look for a sign of life try it. */
  tryAdvisory(key: number): boolean {
    this.locked = true
    return (
      !this.store.sessions.has(key) && this.store.locks.take(this, `advisory ${key}`, 'share').length === 0
    )
  }

  private *lockName(name: string, mode: LockMode): Generator<undefined, void> {
    this.locked = true
    for (;;) {
      const inTheWay = this.store.locks.take(this, name, mode)
      if (inTheWay.length === 0) return
      this.waitsFor = inTheWay
      yield
    }
  }

  write<Name extends TableName>(
    table: Name,
    key: Key,
    before: RowOf<Name> | null,
    after: Omit<RowOf<Name>, 'place'> | null,
  ): RowOf<Name> | null {
    const row = after === null ? null : ({ ...after, place: this.store.nextPlace() } as RowOf<Name>)
    this.writes.push({ table, key, before, after: row } as Write)
    return row
  }

  note(row: Partial<LedgerRow> & Pick<LedgerRow, 'job' | 'due' | 'outcome' | 'final' | 'epoch'>): void {
    this.notes.push({ ...unsaid, ...row, recorded_at: this.now })
  }
}

const unsaid: Omit<LedgerRow, 'job' | 'due' | 'outcome' | 'final' | 'epoch'> = {
  ...{ recorded_at: 0, tenant: 1, origin: 0, seq: 0, round: 0, attempt: 0, max_attempts: null, version: 1 },
  ...{
    next_due: null,
    token: null,
    worker: null,
    due_to: null,
    ticks: 1,
    available_at: null,
    fired_at: null,
  },
  ...{ leased_at: null, started_at: null, finished_at: null, reason: null, error: null, result: null },
  partition: 0,
}

const nobody: readonly Locker[] = []

/** The CHECKs of the schema that the services could run into. */
function check({ table, after }: Write): void {
  if (after === null) return
  const refuse = (name: string) => {
    throw new StoreError('23514', `a row of ${table} violates the check ${name}`, name)
  }
  if (table === 'queue') {
    if ((after.holder === null) !== (after.token === null)) refuse('queue_check1')
    if ((after.holder === null) !== (after.leased_at === null)) refuse('queue_check2')
    if (after.attempt > after.max_attempts) refuse('queue_check4')
  } else if (table === 'timers') {
    if ((after.due === null) !== (after.start_at === null)) refuse('timers_check')
    if (after.due !== null && after.due <= after.accounted_through) refuse('timers_check1')
  }
}
