import type { Logger } from 'pino'
import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import type { Clock } from '../../platform/clock.js'
import type { Metrics } from '../../platform/metrics.js'

const unservedStatement = statement<{ overdue_ms: number }, { task: string; runs: number; since: number }>(
  new URL('./unserved.sql', import.meta.url),
)

export interface UnservedOptions {
  database: Database
  clock: Clock
  log: Logger
  metrics: Metrics
}

/** A moment's grace: a worker that is just restarting is not worth a line. */
const overdueMs = 5_000
const repeatMs = 60_000

/** Says which due runs wait for a task that no live worker serves: once when it begins, then once a minute. */
export class UnservedReport {
  private readonly toldAt = new Map<string, number>()

  constructor(private readonly options: UnservedOptions) {}

  async runOnce(): Promise<undefined> {
    const { database, clock, log, metrics } = this.options
    const waiting = await database.run(unservedStatement, { overdue_ms: overdueMs })
    metrics.unserved.set(waiting.reduce((sum, { runs }) => sum + runs, 0))
    const names = new Set(waiting.map(({ task }) => task))
    for (const task of this.toldAt.keys()) if (!names.has(task)) this.toldAt.delete(task)
    for (const { task, runs, since } of waiting) {
      const told = this.toldAt.get(task)
      if (told !== undefined && clock.monotonic() - told < repeatMs) continue
      this.toldAt.set(task, clock.monotonic())
      log.warn(
        { task, runs, since: new Date(since).toISOString() },
        'due runs wait: no live worker serves this task (start one with --tasks FILE)',
      )
    }
  }
}
