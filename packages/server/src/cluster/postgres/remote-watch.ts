import type { Logger } from 'pino'
import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import type { Clock } from '../../platform/clock.js'
import { incarnationName } from '../../platform/ids.js'
import type { Metrics } from '../../platform/metrics.js'
import { type PeerTimes, PeerWatch } from './peers.js'

const liveStatement = statement<
  Record<string, never>,
  { incarnation: number; beat: number; beat_at: number; now: number }
>(new URL('./live-workers.sql', import.meta.url))
const lapseStatement = statement<
  { incarnations: number[]; beats: number[]; expired_befores: number[] },
  { incarnation: number; name: string }
>(new URL('./lapse-workers.sql', import.meta.url))

export interface RemoteWatchOptions extends PeerTimes {
  database: Database
  clock: Clock
  log: Logger
  metrics: Metrics
  /** Told when some were found dead: their runs can be taken back. */
  onGone: () => void
}

/**
 * Finds workers over HTTP dead by their silence, on the database's clock and on this process's own: a step of the
 * database's clock kills nobody. Any number of processes may do this at once.
 */
export class RemoteWatch {
  private readonly watch: PeerWatch

  constructor(private readonly options: RemoteWatchOptions) {
    this.watch = new PeerWatch(options.clock, options)
  }

  async runOnce(): Promise<undefined> {
    const { database, log, metrics, onGone } = this.options
    const workers = await database.run(liveStatement, {})
    metrics.remoteWorkers.set(workers.length)
    const { dead: suspects } = this.watch.observe(workers.map(asPeer), nobody)
    if (suspects.length === 0) return
    const gone = await database.run(lapseStatement, {
      incarnations: suspects.map(({ incarnation }) => incarnation),
      beats: suspects.map(({ beat }) => beat),
      expired_befores: suspects.map(({ expiredBefore }) => expiredBefore ?? 0),
    })
    for (const { incarnation, name } of gone) {
      log.warn({ worker: incarnationName(incarnation), name }, 'a worker over HTTP is silent: declared dead')
    }
    if (gone.length > 0) onGone()
  }
}

/** No incarnation has this number: this process is not among those it looks at. */
const nobody = 0

/** As a peer that never had a session lock: only time speaks against it. */
function asPeer(worker: { incarnation: number; beat: number; beat_at: number; now: number }) {
  const unknown = { host: '', pid: 0, roles: [], tasks: [], server_age_ms: 0 }
  return { ...worker, ...unknown, session_lock: false, locked: false }
}
