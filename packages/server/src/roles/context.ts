import type { Logger } from 'pino'
import type { Coordination } from '../cluster/coordination.js'
import type { Membership } from '../cluster/membership.js'
import type { Config } from '../config.js'
import type { DatabaseClock } from '../db/database-clock.js'
import type { Database } from '../db/pool.js'
import type { Clock } from '../platform/clock.js'
import type { JobSeries } from '../pipeline/monitor/job-series.js'
import type { Metrics } from '../platform/metrics.js'
import { Service, type ServiceOptions } from '../platform/service.js'
import type { Tracing } from '../platform/tracing.js'
import type { RunSpans } from './run-spans.js'

/** What every role stands on. */
export interface Context {
  config: Config
  database: Database
  databaseClock: DatabaseClock
  coordination: Coordination
  membership: Membership
  clock: Clock
  log: Logger
  metrics: Metrics
  jobSeries: JobSeries
  /** Null where nobody traces. */
  traces: Traces | null
}

/** Where spans go, and those of runs. */
export interface Traces {
  tracing: Tracing
  runs: RunSpans
}

/** Hints between the roles of one process. Other processes find the same by polling: nothing depends on a hint. */
export interface Hints {
  jobChanged: () => void
  /** `startsAt`: when the first of them starts; left out, at once. */
  runFired: (startsAt?: number) => void
  runRescued: () => void
  operationStarted: () => void
}

export function loop(
  context: Context,
  name: string,
  intervalMs: number,
  runOnce: (signal: AbortSignal) => Promise<boolean | undefined>,
  more: Pick<ServiceOptions, 'longestBackoffMs'> = {},
): Service {
  const { clock, log, metrics } = context
  return new Service({ name, intervalMs, runOnce, clock, log, metrics, ...more })
}
