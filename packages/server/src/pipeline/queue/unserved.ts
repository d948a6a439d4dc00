import type { Logger } from 'pino'
import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import type { Clock } from '../../platform/clock.js'
import type { Metrics } from '../../platform/metrics.js'
import { utcText } from '../../time/iso-text.js'

interface Waiting {
  kind: 'task' | 'command'
  /** The task's name; empty for commands. */
  task: string
  runs: number
  since: number
}

const unservedStatement = statement<{ overdue_ms: number }, Waiting>(
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

/** Says which due runs wait for a task, or for commands, that no live worker serves: once when it begins, then once a minute. */
export class UnservedReport {
  private readonly toldAt = new Map<string, number>()

  constructor(private readonly options: UnservedOptions) {}

  async runOnce(): Promise<undefined> {
    const { database, clock, log, metrics } = this.options
    const waiting = await database.run(unservedStatement, { overdue_ms: overdueMs })
    metrics.unserved.set(waiting.reduce((sum, { runs }) => sum + runs, 0))
    const keys = new Set(waiting.map(keyOf))
    for (const key of this.toldAt.keys()) if (!keys.has(key)) this.toldAt.delete(key)
    for (const row of waiting) {
      const told = this.toldAt.get(keyOf(row))
      if (told !== undefined && clock.monotonic() - told < repeatMs) continue
      this.toldAt.set(keyOf(row), clock.monotonic())
      const { kind, task, runs } = row
      const since = utcText(row.since)
      if (kind === 'task') {
        log.warn(
          { task, runs, since },
          'due runs wait: no live worker serves this task (start one with --tasks FILE)',
        )
      } else {
        log.warn(
          { runs, since },
          'due runs wait: no live worker runs commands (start one with --allow-commands)',
        )
      }
    }
  }
}

function keyOf({ kind, task }: Waiting): string {
  return `${kind} ${task}`
}
