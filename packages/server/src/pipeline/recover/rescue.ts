import type { Logger } from 'pino'
import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { incarnationName } from '../../platform/ids.js'
import type { Metrics } from '../../platform/metrics.js'
import { parkedUntil } from '../parked.js'

const orphaningStatement = statement<Record<string, never>, { incarnation: number; remote: boolean }>(
  new URL('./orphaning.sql', import.meta.url),
)
const rescueStatement = statement<
  { incarnation: number; remote: boolean; most: number; parked_until: number },
  { rescued: number }
>(new URL('./rescue.sql', import.meta.url))
const rescuedStatement = statement<{ incarnation: number; remote: boolean }, { incarnation: number }>(
  new URL('./rescued.sql', import.meta.url),
)

export interface RescueOptions {
  database: Database
  log: Logger
  metrics: Metrics
  /** Told when runs went back to the queue. */
  onRescued: () => void
}

const mostPerStatement = 1_000

/** Takes the runs of dead processes back, so that others can lease them. Any number of processes may do this at once. */
export class Rescue {
  constructor(private readonly options: RescueOptions) {}

  async runOnce(): Promise<undefined> {
    const { database } = this.options
    for (const dead of await database.run(orphaningStatement, {})) {
      await this.rescue(dead)
      await database.run(rescuedStatement, dead)
    }
  }

  private async rescue({ incarnation, remote }: { incarnation: number; remote: boolean }): Promise<void> {
    const { database, log, metrics, onRescued } = this.options
    let total = 0
    for (;;) {
      const [row] = await database.run(rescueStatement, {
        incarnation,
        remote,
        most: mostPerStatement,
        parked_until: parkedUntil,
      })
      const rescued = row?.rescued ?? 0
      if (rescued === 0) break
      total += rescued
      metrics.batch('recover', rescued)
      onRescued()
    }
    if (total === 0) return
    metrics.rescued.inc(total)
    log.warn(
      { node: incarnationName(incarnation), runs: total },
      'took back the runs of a process that is gone',
    )
  }
}
