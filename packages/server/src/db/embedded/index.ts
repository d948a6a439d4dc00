import { refuseForeignFolder } from './account.js'
import { Deadline } from './deadline.js'
import { openLayout } from './layout.js'
import { comeUp } from './lifecycle.js'
import { Membership } from './membership.js'
import { pruneLogs } from './server-log.js'
import { acquireStartLock } from './start-lock.js'

export { EmbeddedPostgresError } from './failure.js'

const START_TIMEOUT_MS = 60_000
const PRUNE_LOGS_EVERY_MS = 60_000

export interface EmbeddedPostgres {
  /** Connection string for pg: TCP on 127.0.0.1 with a password, for every process that may read the data dir. */
  readonly url: string
  readonly dataDir: string
  readonly port: number
  /** How it came: 'created' (initdb), 'started' (existing data), 'joined' (was running). */
  readonly how: 'created' | 'started' | 'joined'
  readonly serverVersion: string
  /** Leaves. Stops Postgres (fast) if no other process uses it; returns whether it was stopped. Idempotent. */
  leave(): Promise<{ stopped: boolean }>
}

export interface EmbeddedOptions {
  /** Made if missing. Postgres' own files lie in its subfolder `postgres`. */
  dataDir: string
  log?: (message: string, fields?: Record<string, unknown>) => void
  /** Bounds the whole join, waiting for other starters included. Default 60000. */
  startTimeoutMs?: number
}

/**
 * A real PostgreSQL for those who brought none: made, started or joined, whichever it takes. Processes on one data
 * dir share one Postgres, and the last to leave stops it. It outlives a killed process; the next one joins it.
 */
export async function joinEmbeddedPostgres(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const log = options.log ?? (() => undefined)
  const deadline = new Deadline(options.startTimeoutMs ?? START_TIMEOUT_MS)
  const layout = await openLayout(options.dataDir)
  await refuseForeignFolder(layout.home)
  const lock = await acquireStartLock(layout.startLock, deadline)
  try {
    const arrival = await comeUp(layout, deadline, log)
    const { url, port, how, serverVersion } = arrival
    const membership = new Membership(layout, arrival, log)
    const pruning = setInterval(() => void pruneLogs(layout).catch(() => undefined), PRUNE_LOGS_EVERY_MS)
    pruning.unref()
    log(`${how} the embedded postgres`, { port, serverVersion, folder: layout.pgdata })
    return {
      url,
      dataDir: layout.dataDir,
      port,
      how,
      serverVersion,
      leave() {
        clearInterval(pruning)
        return membership.leave()
      },
    }
  } finally {
    await lock.release()
  }
}
