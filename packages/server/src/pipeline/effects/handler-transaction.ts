import { EffectsUsageError, LeaseLostError, type Sql, TransactionLostError } from '@carillon/sdk'
import { codeOf } from '../../db/errors.js'
import type { Guest, GuestPool } from '../../db/guest-pool.js'
import type { Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import type { AttemptResult, CloseAnswer, LeasedRun } from '../run.js'
import { handlerSql } from './handler-sql.js'
import { type LeaseParams, leaseParams } from './lease-params.js'

const fenceStatement = statement<LeaseParams, { token: number }>(new URL('./fence.sql', import.meta.url))

/** What the record does for it; main.ts hands it over. */
export interface TransactionPorts {
  /** Closes the attempt inside the transaction; false where its lease is gone. */
  closeWithin(runner: Runner, result: AttemptResult): Promise<boolean>
  /** Closes it by itself, and waits for a commit that may still be under way. */
  close(result: AttemptResult): Promise<CloseAnswer>
  closed(run: LeasedRun): void
}

export interface TransactionOptions {
  guests: GuestPool
  ports: TransactionPorts
  run: LeasedRun
  timeoutMs: number
  /** A handler's return value as it is stored with the run. */
  keepResult: (result: unknown) => unknown
  /** The attempt as it ends now, in success. */
  success: (result: unknown) => AttemptResult
}

/**
 * The one transaction of an attempt: the handler's writes and the close of its run, or neither.
 *
 *     begin, fence ── the handler's statements ── take over, close ── commit
 *
 * The fence saves a stale attempt the work. What makes it impossible for one to commit is the close: it deletes the run by
 * its token, in the same transaction as the writes. Up to the commit every failure rolls back, and so does the signal. From there on
 * the run is closed, whatever comes: should the answer be lost, the close of a failure is sent, which waits for the
 * commit, finds its token in the ledger, or else is the truth.
 */
export class HandlerTransaction {
  private going: Promise<unknown> | null = null
  private closed = false

  constructor(private readonly options: TransactionOptions) {}

  run(work: (sql: Sql) => unknown, signal: AbortSignal): Promise<unknown> {
    if (typeof work !== 'function')
      return Promise.reject(new EffectsUsageError('ctx.transaction(work): work has to be a function of sql.'))
    if (this.going !== null)
      return Promise.reject(
        new EffectsUsageError(
          'ctx.transaction was called twice in one attempt. One transaction closes the run: do all in it.',
        ),
      )
    this.going = this.commit(work, signal)
    return this.going
  }

  /** True when the run was closed by it. */
  async settled(): Promise<boolean> {
    await this.going?.catch(() => undefined)
    return this.closed
  }

  private async commit(work: (sql: Sql) => unknown, signal: AbortSignal): Promise<unknown> {
    const { guests, timeoutMs, ports, run } = this.options
    const guest = await guests.begin(signal, timeoutMs)
    const { value, success } = await this.upToCommit(guest, work, signal)
    const answer = await guest.commit()
    this.closed = true
    ports.closed(run)
    if (answer === 'unknown') await this.findOut(success)
    return value
  }

  private async upToCommit(guest: Guest, work: (sql: Sql) => unknown, signal: AbortSignal) {
    const { ports, run, keepResult, success } = this.options
    const { sql, revoke } = handlerSql(guest)
    try {
      signal.throwIfAborted()
      if ((await guest.run(fenceStatement, leaseParams(run))).length === 0) throw lost()
      const value = await unlessAborted(work, sql, signal)
      revoke()
      const result = success(keepResult(value))
      await takeOver(guest)
      if (!(await guest.again(() => ports.closeWithin(guest, result)))) throw lost()
      signal.throwIfAborted()
      return { value, success: result }
    } catch (error) {
      revoke()
      if (!signal.aborted) {
        await guest.rollback()
        throw error
      }
      guest.discard(signal.reason)
      throw signal.reason
    }
  }

  /** The commit's answer was lost. */
  private async findOut(success: AttemptResult): Promise<void> {
    const answer = await this.options.ports.close({
      ...success,
      outcome: 'failed',
      retryable: true,
      reason: 'commit_lost',
      error: 'the connection broke before the transaction was committed: nothing was written',
      result: undefined,
    })
    if (answer === 'already') return
    if (answer === 'stale') throw lost()
    throw new TransactionLostError(
      'ctx.transaction: the connection broke before the transaction was committed. Nothing was written.',
    )
  }
}

/** While the handler works nobody waits for the database, and the signal has to be heard all the same. */
function unlessAborted(work: (sql: Sql) => unknown, sql: Sql, signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
    // Inside a then, so that a synchronous throw is a rejection too.
    void Promise.resolve(sql).then(work).then(resolve, reject)
  })
}

async function takeOver(guest: Guest): Promise<void> {
  if (guest.over)
    throw new EffectsUsageError('ctx.transaction: a statement of the handler ended the transaction.')
  try {
    await guest.takeOver()
  } catch (error) {
    if (codeOf(error) !== failedBefore) throw error
    throw new Error(
      'ctx.transaction: a statement failed and its error was not passed on. After that nothing can be committed: let the ' +
        'error through, or put a SAVEPOINT before the statement and ROLLBACK TO it.',
      { cause: error },
    )
  }
}

const failedBefore = '25P02'

function lost(): LeaseLostError {
  return new LeaseLostError(
    'ctx.transaction: this run went to another attempt, or is closed already. Nothing was written.',
  )
}
