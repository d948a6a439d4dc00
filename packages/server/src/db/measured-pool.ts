import pg from 'pg'
import { systemClock } from '../platform/clock.js'
import type { DatabaseMetrics } from '../platform/metrics.js'

/** The last word of an application's name tells its pools apart: `fleet`, `ticks`, `cluster`, `api`, `effects`, `tasks`. */
export function poolName(applicationName: string): string {
  return /^carillon (\w+)$/.exec(applicationName)?.[1] ?? 'fleet'
}

/** The types of the driver do not tell that its pool waits for what `onConnect` returns. */
type PoolConfig = Omit<pg.PoolConfig, 'onConnect'> & { onConnect?: (client: pg.ClientBase) => Promise<void> }

type Callback = Parameters<pg.Pool['connect']>[0]

/**
 * A pool that tells how long calls waited for one of its connections. Only those that have to wait are timed: a call that finds an idle
 * connection pays two comparisons.
 */
export class MeasuredPool extends pg.Pool {
  private readonly most: number
  private readonly waited: ((durationMs: number) => void) | null

  constructor(
    { metrics, applicationName }: { metrics?: DatabaseMetrics; applicationName: string },
    config: PoolConfig,
  ) {
    super(config)
    this.most = config.max ?? 10
    const name = poolName(applicationName)
    this.waited = metrics === undefined ? null : (durationMs) => metrics.waited(name, durationMs)
    metrics?.watchPool(name, () => ({
      idle: this.idleCount,
      busy: this.totalCount - this.idleCount,
      waiting: this.waitingCount,
    }))
  }

  override connect(): Promise<pg.PoolClient>
  override connect(callback: Callback): void
  override connect(callback?: Callback): Promise<pg.PoolClient> | void {
    const { waited } = this
    const isFree = this.idleCount > 0 || this.totalCount < this.most
    if (waited === null || isFree) return callback === undefined ? super.connect() : super.connect(callback)
    const begun = systemClock.monotonic()
    const over = () => waited(systemClock.monotonic() - begun)
    if (callback !== undefined) {
      super.connect((error, client, done) => {
        over()
        callback(error, client, done)
      })
      return
    }
    const connecting = super.connect()
    connecting.then(over, over)
    return connecting
  }
}
