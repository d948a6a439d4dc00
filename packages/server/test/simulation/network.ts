import type { Statement } from '../../src/db/statement.js'
import type { Execution, Store } from './store.js'

export type Stage =
  /** On its way to the server. */
  | 'travelling'
  /** Its snapshot is taken, and others may commit before it goes on. */
  | 'begun'
  | 'waiting'
  /** It has done its work and holds its locks: nothing is visible yet. */
  | 'done'
  /** Committed or failed; the answer is on its way. */
  | 'answering'

/** Who calls: the scheduler asks whether it can hear an answer. */
export interface Caller {
  readonly name: string
  readonly hears: boolean
  readonly isGone: boolean
}

/** One for all: nobody asks where it was made. */
const connectionLost = Object.assign(new Error('connection lost'), { code: 'ECONNRESET' })

/** One statement from the call to its answer. */
export class Call {
  stage: Stage = 'travelling'
  /** Its packets are held up, or its backend is: for now it does not move. */
  stalled = false
  execution: Execution | null = null
  private settled = false

  constructor(
    readonly caller: Caller,
    readonly statement: string,
    readonly params: object,
    private readonly resolve: (rows: object[]) => void,
    private readonly reject: (error: unknown) => void,
  ) {}

  /** Nobody waits for the answer any more. */
  get abandoned(): boolean {
    return this.settled
  }

  /** The connection broke, or the caller waited too long: the statement may have been done all the same, or may be yet. */
  giveUp(): void {
    this.settled = true
    this.reject(connectionLost)
  }

  deliver(): void {
    const { execution } = this
    if (this.settled || execution === null) return
    this.settled = true
    if (execution.error !== null) return this.reject(execution.error)
    execution.commitRest()
    this.resolve(execution.answer)
  }

  forget(): void {
    this.settled = true
  }
}

/** All calls that are under way, in the order in which they were sent. */
export class Network {
  readonly calls: Call[] = []
  /** How many there ever were. */
  sent = 0

  constructor(private readonly store: Store) {}

  /** A database as the services know it: what they call travels through here. */
  databaseOf(caller: Caller): SimulatedDatabase {
    return new SimulatedDatabase((statement, params) => this.send(caller, statement, params), this.store)
  }

  /** Whether it could move now. */
  canMove(call: Call): boolean {
    if (call.stalled) return false
    if (call.stage === 'waiting') return call.execution?.canGoOn === true
    return call.stage !== 'answering' || call.abandoned || call.caller.hears
  }

  /** Moves a call on by one stage. `apart`: it stops between snapshot and work. */
  move(call: Call, apart: boolean): void {
    switch (call.stage) {
      case 'travelling':
        call.execution = this.store.execution(call.statement, call.params, call.caller.name)
        call.execution.begin(apart)
        call.stage = 'begun'
        if (!apart) this.move(call, false)
        return
      case 'begun':
      case 'waiting':
        call.execution?.advance()
        call.stage = stageAfter(call.execution)
        return
      case 'done':
        call.execution?.commit()
        call.stage = 'answering'
        return
      case 'answering':
        this.end(call)
        call.deliver()
        return
    }
  }

  end(call: Call): void {
    this.calls.splice(this.calls.indexOf(call), 1)
  }

  /** The caller is no more: what is under way is done, and nobody hears of it. */
  abandon(caller: Caller): void {
    for (const call of this.calls) if (call.caller === caller) call.forget()
  }

  private send(caller: Caller, statement: string, params: object): Promise<object[]> {
    return new Promise((resolve, reject) => {
      // What was still being computed when the process ended is never sent.
      if (caller.isGone) return
      this.sent += 1
      this.calls.push(new Call(caller, statement, params, resolve, reject))
    })
  }
}

function stageAfter(execution: Execution | null): Stage {
  if (execution?.state === 'waiting') return 'waiting'
  return execution?.state === 'done' ? 'done' : 'answering'
}

const names = new Map<string, string>()

/** The name of the .sql file: the hash behind it changes with the text. */
export function nameOf(statement: { name: string }): string {
  let name = names.get(statement.name)
  if (name === undefined) {
    name = statement.name.replace(/_[0-9a-f]{8}$/, '')
    names.set(statement.name, name)
  }
  return name
}

/** Stands where services expect the pool. */
export class SimulatedDatabase {
  /** The one session that holds an advisory lock. */
  session: Session | null = null

  constructor(
    private readonly send: (statement: string, params: object) => Promise<object[]>,
    private readonly store: Store,
  ) {}

  run<Params extends object, Row extends object>(
    statement: Statement<Params, Row>,
    params: Params,
  ): Promise<Row[]> {
    return this.send(nameOf(statement), params) as Promise<Row[]>
  }

  dedicated(): Session {
    this.session = new Session(this.store)
    return this.session
  }
}

/** A connection of its own, as far as SessionLock uses one. */
export class Session {
  readonly processID = 1
  private key: number | null = null
  private ended: () => void = () => undefined

  constructor(private readonly store: Store) {}

  on(event: string, listener: () => void): void {
    if (event === 'end') this.ended = listener
  }

  connect(): Promise<void> {
    return Promise.resolve()
  }

  query(text: string, values: number[] = []): Promise<{ rows: object[] }> {
    const [key] = values
    if (key === undefined || !text.includes('advisory'))
      return Promise.resolve({ rows: [{ pid: this.processID }] })
    const free =
      !this.store.sessions.has(key) && this.store.locks.others(nobody, `advisory ${key}`).length === 0
    if (free) {
      this.key = key
      this.store.sessions.set(key, this)
    }
    return Promise.resolve({ rows: [{ held: free }] })
  }

  end(): Promise<void> {
    this.drop()
    return Promise.resolve()
  }

  /** The server frees what the session held. */
  drop(): void {
    if (this.key !== null && this.store.sessions.get(this.key) === this) this.store.sessions.delete(this.key)
    this.key = null
  }

  /** The connection breaks while its process lives on. */
  break(): void {
    this.drop()
    this.ended()
  }
}

const nobody = { id: 0, waitsFor: [] }
