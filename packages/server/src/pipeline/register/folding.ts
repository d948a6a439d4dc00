import { isAboutARow, isDeadlock } from '../../db/errors.js'
import { isKeptMeanwhile } from '../idempotency.js'
import type { Candidate } from './candidate.js'
import type { Stored } from './creating.js'

interface Waiting {
  candidate: Candidate
  settle: (stored: Stored) => void
  fail: (error: unknown) => void
}

export type StoreAll = (tenant: number, candidates: readonly Candidate[]) => Promise<Stored[]>

const mostPerFold = 1_000
/** Definitions of one statement: Postgres takes no more than a quarter of a gigabyte, and holds it several times over. */
export const mostCharactersAtOnce = 8_000_000

/**
 * Folds jobs that are created at the same time into one statement: those that come while one is on its way share the next,
 * so that a busy server pays one commit for many calls and an idle one waits for nothing but the other calls of the same
 * turn of the event loop. One statement at a time per tenant: they would wait for each other anyway, at the tenant's
 * counter.
 *
 * A call is answered when its statement has committed. A job that the tables refuse fails the whole statement: it is found
 * by halving, and the others are stored without it.
 */
export class Folding {
  private readonly waiting = new Map<number, Waiting[]>()

  constructor(private readonly store: StoreAll) {}

  create(tenant: number, candidate: Candidate): Promise<Stored> {
    return new Promise((settle, fail) => {
      const entry = { candidate, settle, fail }
      const waiting = this.waiting.get(tenant)
      if (waiting !== undefined) {
        waiting.push(entry)
        return
      }
      this.waiting.set(tenant, [entry])
      setImmediate(() => void this.storeAll(tenant))
    })
  }

  private async storeAll(tenant: number): Promise<void> {
    for (;;) {
      const waiting = this.waiting.get(tenant) ?? []
      if (waiting.length === 0) break
      const batch = waiting.splice(0, fold(waiting))
      await this.storeBatch(tenant, batch)
    }
    this.waiting.delete(tenant)
  }

  private async storeBatch(tenant: number, batch: Waiting[], tries = 1): Promise<void> {
    const stored = await this.store(
      tenant,
      batch.map(({ candidate }) => candidate),
    )
    const broken: Waiting[] = []
    let error: unknown
    for (const [at, entry] of batch.entries()) {
      const one = stored[at]
      if (one !== undefined && one.status !== 'broken') entry.settle(one)
      else {
        broken.push(entry)
        error = one?.error ?? new Error('A job was neither stored nor refused.')
      }
    }
    if (broken.length > 0) await this.mend(tenant, broken, error, tries)
  }

  private async mend(tenant: number, broken: Waiting[], error: unknown, tries: number): Promise<void> {
    if (tries < 3 && (isKeptMeanwhile(error) || isDeadlock(error)))
      return this.storeBatch(tenant, broken, tries + 1)
    if (!isAboutARow(error) || broken.length === 1) {
      for (const { fail } of broken) fail(error)
      return
    }
    const middle = Math.ceil(broken.length / 2)
    await this.storeBatch(tenant, broken.slice(0, middle))
    await this.storeBatch(tenant, broken.slice(middle))
  }
}

/** How many of those who wait share the next statement: one at least. */
function fold(waiting: readonly Waiting[]): number {
  let characters = 0
  const over = waiting.findIndex(({ candidate }, at) => {
    characters += candidate.text.length
    return at === mostPerFold || (at > 0 && characters > mostCharactersAtOnce)
  })
  return over < 0 ? waiting.length : over
}
