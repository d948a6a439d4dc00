import type { Logger } from 'pino'
import { hadToGiveWay, isAboutARow } from '../../db/errors.js'
import type { Database, Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { type Clock, pause } from '../../platform/clock.js'
import type { Metrics } from '../../platform/metrics.js'
import { parkedUntil } from '../parked.js'
import type { AttemptResult, CloseAnswer, LeasedRun } from '../run.js'
import { closePlainStatement, jsonOf, plainEnds, plainParams } from './close-plain.js'
import { judge, type Verdict } from './retry.js'

interface ResultParams {
  holder: number
  dues: number[]
  jobs: number[]
  origins: number[]
  seqs: number[]
  partitions: number[]
  tokens: number[]
  started_ats: (number | null)[]
  finished_ats: (number | null)[]
  errors: (string | null)[]
  results: (string | null)[]
}

interface CloseParams extends ResultParams {
  parked_until: number
  outcomes: string[]
  retry_ats: (number | null)[]
  reasons: (string | null)[]
}

interface StaleParams extends ResultParams {
  tenants: number[]
  versions: number[]
  epochs: number[]
  rounds: number[]
  attempts: number[]
}

interface Answer {
  token: number
  answer: CloseAnswer
}

const closeStatement = statement<CloseParams, Answer>(new URL('./close.sql', import.meta.url))
const noteStaleStatement = statement<StaleParams, Answer>(new URL('./note-stale.sql', import.meta.url))

export interface CloserOptions {
  database: Database
  clock: Clock
  log: Logger
  metrics: Metrics
  batchMs: number
  random?: () => number
  /** Told of each run that was written, whatever the answer. */
  written?: (run: LeasedRun) => void
}

interface Judged {
  result: AttemptResult
  verdict: Verdict
}

interface Waiting extends Judged {
  /** Without what the target said, because the database cannot store it. */
  bare: boolean
  settle: (answer: CloseAnswer) => void
  fail: (error: unknown) => void
}

export const mostPerBatch = 2_000
/** So many need no more company. */
const worthABatch = 100
/** So many may wait: one batch is being made while the one before is written. */
const mostWaiting = 2 * mostPerBatch

/**
 * Closes one attempt inside a transaction that somebody else commits: the very statement of the batches, so that nothing
 * about an end depends on who wrote it. False where the lease is gone; then the transaction must not be committed.
 */
export async function closeWithin(runner: Runner, result: AttemptResult): Promise<boolean> {
  const answers = await runner.run(closeStatement, closeParams([{ result, verdict: judge(result, 0) }]))
  return answers.some(({ token }) => token === result.run.token)
}

/**
 * Writes results in batches: those that finish while a batch is on its way share the next one, so that a busy worker
 * pays one commit for many runs and an idle one waits a few milliseconds at most.
 *
 * One batch at a time, and a second one only of a crowd. A close whose answer was lost is sent again, unchanged: the statement recognises a token that is
 * in the ledger already. While the database takes nothing the results wait here, because nobody else has them; the leases
 * they belong to may lapse meanwhile, and then the statement says `stale`.
 */
export class Closer {
  private waiting: Waiting[] = []
  private writing: Promise<void> | null = null
  private helping: Promise<void> | null = null
  private given = false
  private relief: (() => void)[] = []

  constructor(private readonly options: CloserOptions) {}

  close(result: AttemptResult): Promise<CloseAnswer> {
    return new Promise((settle, fail) => {
      const verdict = judge(result, (this.options.random ?? Math.random)())
      this.waiting.push({ result, verdict, bare: false, settle, fail })
      this.writing ??= this.writeAll()
      if (this.waiting.length >= mostPerBatch) this.helping ??= this.writeFull()
    })
  }

  /** Waits until everything handed in is written. */
  async drained(): Promise<void> {
    while (this.writing !== null || this.helping !== null) await Promise.all([this.writing, this.helping])
  }

  /**
   * Null, or when fewer wait. Whoever starts a crowd asks between its parts: starting on and on while results wait gets
   * nothing done sooner, and a crash would repeat all that is not written.
   */
  behind(): Promise<void> | null {
    if (this.waiting.length <= mostWaiting || this.given) return null
    return new Promise((resolve) => this.relief.push(resolve))
  }

  /** Stops trying while the database is away. What is unwritten is left to the rescue of this process's leases. */
  giveUp(): void {
    this.given = true
    this.relieve()
  }

  private async writeAll(): Promise<void> {
    const { clock, batchMs } = this.options
    while (this.waiting.length > 0) {
      // Each time, not only at first: while one batch is written a few results come in, and would be a batch of a few.
      if (this.waiting.length < worthABatch) await pause(clock, batchMs)
      await this.writeSome()
    }
    this.writing = null
  }

  /** In a crowd the next full batch is on its way while the one before is written. */
  private async writeFull(): Promise<void> {
    while (this.waiting.length >= mostPerBatch) await this.writeSome()
    this.helping = null
  }

  private async writeSome(): Promise<void> {
    const batch = this.waiting.splice(0, mostPerBatch)
    if (this.waiting.length <= mostWaiting) this.relieve()
    for (const group of groupByHolder(batch)) await this.write(group)
  }

  private relieve(): void {
    const { relief } = this
    this.relief = []
    for (const resolve of relief) resolve()
  }

  private async write(batch: Waiting[]): Promise<void> {
    const { clock, log, metrics, written } = this.options
    for (let tries = 1; ; tries++) {
      try {
        const answers = await this.send(batch)
        const counts = new Map<string, number>()
        let retries = 0
        for (const { result, verdict, settle } of batch) {
          const answer = answers.get(result.run.token) ?? 'stale'
          const outcome = answer === 'stale' ? 'stale' : verdict.outcome
          counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
          if (answer === 'retrying') retries += 1
          if (result.startedAt !== null)
            metrics.runDuration.observe((result.finishedAt - result.startedAt) / 1000)
          written?.(result.run)
          settle(answer)
        }
        for (const [outcome, count] of counts) metrics.attempts.inc({ outcome }, count)
        metrics.batch('record', batch.length)
        if (retries > 0) metrics.retries.inc(retries)
        return
      } catch (error) {
        if (isAboutARow(error)) return this.writeApart(batch, error)
        if (this.given) {
          for (const { fail } of batch) fail(error)
          return
        }
        if (tries === 1)
          log.warn({ runs: batch.length, err: error }, 'results wait: the database does not take them')
        await pause(clock, Math.min(2_000, 50 * 2 ** tries))
      }
    }
  }

  /** The close, and for results whose lease was gone what became of them. Both may be sent again, unchanged. */
  private async send(batch: Waiting[]): Promise<Map<number, CloseAnswer>> {
    const { database } = this.options
    const answers = await this.sendPlain(batch)
    const rest = batch.filter(({ result }) => !answers.has(result.run.token))
    if (rest.length === 0) return answers
    for (const { token, answer } of await database.run(closeStatement, closeParams(rest))) {
      answers.set(token, answer)
    }
    const unheld = rest.filter(({ result }) => !answers.has(result.run.token))
    // Somebody else was faster: there is no result to be kept.
    for (const { result } of unheld) if (result.unheard) answers.set(result.run.token, 'already')
    const late = unheld.filter(({ result }) => !result.unheard)
    if (late.length === 0) return answers
    for (const { token, answer } of await database.run(noteStaleStatement, staleParams(late))) {
      answers.set(token, answer)
    }
    return answers
  }

  /** Plain ends by the short statement. It does not say why it left some: the one that decides does. */
  private async sendPlain(batch: Waiting[]): Promise<Map<number, CloseAnswer>> {
    const plain = plainEnds(batch)
    if (plain.length === 0) return new Map()
    try {
      const [answer] = await this.options.database.run(closePlainStatement, plainParams(plain))
      return new Map(answer?.tokens.map((token) => [token, 'closed']))
    } catch (error) {
      if (hadToGiveWay(error)) return new Map()
      throw error
    }
  }

  /** One result that the tables refuse fails the whole statement: it is found by halving, and kept without its text. */
  private async writeApart(batch: Waiting[], error: unknown): Promise<void> {
    const [first] = batch
    if (first !== undefined && batch.length === 1) {
      if (first.bare) first.fail(error)
      else await this.write([bared(first, error)])
      return
    }
    const middle = Math.ceil(batch.length / 2)
    await this.write(batch.slice(0, middle))
    await this.write(batch.slice(middle))
  }
}

function bared(entry: Waiting, error: unknown): Waiting {
  const why = error instanceof Error ? error.message : String(error)
  const note = `What the target said could not be stored: ${why}`
  return { ...entry, bare: true, result: { ...entry.result, error: note, result: undefined } }
}

/** A process that was declared dead comes back under a new id: results of both lives may meet in one batch. */
function groupByHolder(batch: Waiting[]): Waiting[][] {
  const groups = new Map<number, Waiting[]>()
  for (const entry of batch) {
    const group = groups.get(entry.result.run.holder)
    if (group === undefined) groups.set(entry.result.run.holder, [entry])
    else group.push(entry)
  }
  return [...groups.values()]
}

function resultParams(batch: Judged[]): ResultParams {
  const runs = batch.map(({ result }) => result.run)
  return {
    holder: runs[0]?.holder ?? 0,
    dues: runs.map((run) => run.due),
    jobs: runs.map((run) => run.job),
    origins: runs.map((run) => run.origin),
    seqs: runs.map((run) => run.seq),
    partitions: runs.map((run) => run.partition),
    tokens: runs.map((run) => run.token),
    started_ats: batch.map(({ result }) => result.startedAt),
    finished_ats: batch.map(({ result }) => (result.unheard ? null : result.finishedAt)),
    errors: batch.map(({ result }) => result.error),
    results: batch.map(({ result }) => jsonOf(result.result)),
  }
}

function closeParams(batch: Judged[]): CloseParams {
  return {
    ...resultParams(batch),
    parked_until: parkedUntil,
    outcomes: batch.map(({ verdict }) => verdict.outcome),
    retry_ats: batch.map(({ verdict }) => verdict.retryAt),
    reasons: batch.map(({ result }) => result.reason),
  }
}

function staleParams(batch: Waiting[]): StaleParams {
  const runs = batch.map(({ result }) => result.run)
  return {
    ...resultParams(batch),
    tenants: runs.map((run) => run.tenant),
    versions: runs.map((run) => run.version),
    epochs: runs.map((run) => run.epoch),
    rounds: runs.map((run) => run.round),
    attempts: runs.map((run) => run.attempt),
  }
}
