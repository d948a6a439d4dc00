import { CarillonError } from '@carillon/contract'
import { despiteDeadlocks } from '../db/deadlock.js'
import { isUniqueViolation } from '../db/errors.js'
import type { Database, Runner } from '../db/pool.js'
import { statement } from '../db/statement.js'

/** An answer as it was sent: kept under a caller's key and given again, to the letter. */
export interface Answer {
  status: number
  body: string
  location: string | null
}

/** A call that the caller may repeat. */
export interface KeyedCall {
  key: string
  /** A hash of method, path and body: the same key with another request is a mistake. */
  request: Buffer
}

export interface Replayable {
  answer: Answer
  replayed: boolean
}

interface KnownRow {
  free: boolean | null
  request: Buffer | null
  status: number
  body: string
  location: string | null
}

const claimStatement = statement<{ tenant: number; key: string }, KnownRow>(
  new URL('./claim-answer.sql', import.meta.url),
)
const keepStatement = statement<
  { tenant: number; key: string; request: Buffer; status: number; body: string; location: string | null },
  { key: string }
>(new URL('./keep-answer.sql', import.meta.url))

const primaryKey = 'idempotency_keys_pkey'

/**
 * Calls that have their effect once, however often they are sent. The key, the effect and the answer are committed
 * together or not at all: a process that dies in between leaves nothing behind, and one that dies after it has the answer
 * kept. A key is one tenant's.
 */
export class Idempotency {
  /** Keys at work in this process. Those of others are seen by their locks. */
  private readonly atWork = new Set<string>()

  constructor(private readonly database: Database) {}

  /**
   * Does the work inside a transaction and keeps its answer, or gives the answer that is kept. Work that throws is undone
   * and keeps nothing. `work` may be done a second time when the first was undone.
   */
  once(tenant: number, call: KeyedCall, work: (inside: Runner) => Promise<Answer>): Promise<Replayable> {
    return this.alone(tenant, call, async () => {
      try {
        return await despiteDeadlocks(() => this.attempt(tenant, call, work))
      } catch (error) {
        // Another process kept its answer between our look and our insert. What we did is undone.
        if (isKeptMeanwhile(error)) return this.attempt(tenant, call, work)
        // Or between our look and our work, which was refused because of what the first call did.
        const known = error instanceof CarillonError ? await this.recall(tenant, call) : null
        if (known === null) throw error
        return known
      }
    })
  }

  /** Keeps the answer of a call that changed nothing, unless there is one. */
  async keep(tenant: number, call: KeyedCall, answer: Answer): Promise<void> {
    try {
      await this.database.run(keepStatement, { tenant, ...call, ...answer })
    } catch (error) {
      if (!isKeptMeanwhile(error)) throw error
    }
  }

  /** The answer that is kept, if there is one. */
  async recall(tenant: number, call: KeyedCall): Promise<Replayable | null> {
    const [row] = await this.database.run(claimStatement, { tenant, key: call.key })
    return row?.request == null ? null : replay(call, { ...row, request: row.request })
  }

  /** Refuses a second call under a key that is at work in this process. */
  async alone<Result>(tenant: number, { key }: KeyedCall, work: () => Promise<Result>): Promise<Result> {
    const name = `${tenant} ${key}`
    if (this.atWork.has(name)) throw keyInUse(key)
    this.atWork.add(name)
    try {
      return await work()
    } finally {
      this.atWork.delete(name)
    }
  }

  private attempt(
    tenant: number,
    call: KeyedCall,
    work: (inside: Runner) => Promise<Answer>,
  ): Promise<Replayable> {
    return this.database.transaction(async (inside) => {
      const [row] = await inside.run(claimStatement, { tenant, key: call.key })
      if (row?.request != null) return replay(call, { ...row, request: row.request })
      if (row?.free !== true) throw keyInUse(call.key)
      const answer = await work(inside)
      await inside.run(keepStatement, { tenant, ...call, ...answer })
      return { answer, replayed: false }
    })
  }
}

export function isKeptMeanwhile(error: unknown): boolean {
  return isUniqueViolation(error, primaryKey)
}

/** The kept answer, if it was to this very request. */
export function replay(call: KeyedCall, known: Answer & { request: Buffer }): Replayable {
  if (!known.request.equals(call.request)) throw keyReused(call.key)
  const { status, body, location } = known
  return { answer: { status, body, location }, replayed: true }
}

export function keyInUse(key: string): CarillonError {
  return new CarillonError('idempotency_key_in_use', {
    detail: `A call with the Idempotency-Key ${JSON.stringify(key)} is being worked on.`,
    retryAfterSeconds: 1,
  })
}

function keyReused(key: string): CarillonError {
  return new CarillonError('idempotency_key_reused', {
    detail: `The Idempotency-Key ${JSON.stringify(key)} was sent with another request before.`,
  })
}
