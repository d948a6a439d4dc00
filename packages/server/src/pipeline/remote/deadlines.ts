import type { Logger } from 'pino'
import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { DefinitionCache } from '../definition-cache.js'
import type { AttemptResult, CloseAnswer, LeasedRun, RunDefinition } from '../run.js'
import { leasedRunOf } from '../leased-run.js'
import type { HeldRow } from './rows.js'

const overdueStatement = statement<
  { grace_ms: number; most: number },
  HeldRow & { token: number; holder: number }
>(new URL('./overdue.sql', import.meta.url))

export interface DeadlinesOptions {
  database: Database
  log: Logger
  definitions(wanted: readonly { job: number; version: number }[]): Promise<Map<string, RunDefinition>>
  close(result: AttemptResult): Promise<CloseAnswer>
}

/** A worker that keeps the time itself gets its word in: its result may be on the way. */
const graceMs = 2_000
const mostPerPass = 500

/**
 * Ends attempts of workers over HTTP that go over the time of their job: no process of the fleet watches over them. The
 * retry policy decides what follows, and what the worker says later is stale. Any number of processes may do this at once.
 */
export class Deadlines {
  private readonly definitions: DefinitionCache

  constructor(private readonly options: DeadlinesOptions) {
    this.definitions = new DefinitionCache((wanted) => options.definitions(wanted))
  }

  async runOnce(): Promise<boolean> {
    const { database, log } = this.options
    const rows = await database.run(overdueStatement, { grace_ms: graceMs, most: mostPerPass })
    const runs = rows.map((row) => leasedRunOf(row, row.holder, row.token))
    for (const run of runs) await this.definitions.get(run, runs)
    const answers = await Promise.all(rows.map((row, at) => this.end(row, runs[at] as LeasedRun, runs)))
    const ended = answers.filter((answer) => answer !== 'already').length
    if (ended > 0) log.warn({ runs: ended }, 'ended runs of workers over HTTP that went over their time')
    return rows.length === mostPerPass
  }

  private async end(row: HeldRow, run: LeasedRun, batch: readonly LeasedRun[]): Promise<CloseAnswer> {
    const definition = (await this.definitions.get(run, batch))?.definition ?? null
    return this.options.close({
      run,
      definition,
      outcome: 'failed',
      startedAt: row.leased_at,
      finishedAt: row.now,
      retryable: true,
      retryAfterMs: null,
      reason: 'timeout',
      error: `no result within ${definition?.timeout_seconds ?? 0} s from the worker that had it`,
      result: undefined,
      unheard: true,
    })
  }
}
