import type { Logger } from 'pino'
import type { DatabaseClock } from '../../db/database-clock.js'
import type { Clock } from '../../platform/clock.js'
import type { Metrics } from '../../platform/metrics.js'
import type { RunIdentity } from '../../platform/ids.js'
import type { StopSwitch } from '../../targets/stop-switch.js'
import type { AttemptResult, CloseAnswer, LeasedRun, RunDefinition } from '../run.js'
import type { Begun } from './attempt.js'
import type { Closed, Delivered } from './delivered.js'

export type HeldRun = RunIdentity & { token: number }
/** `replaced`: a newer run of the job waits for its place; `stop_requested`: a person cancelled this very run. */
export type Revoked = HeldRun & { replaced: boolean; stop_requested: boolean }

/** What main.ts hands to the worker: the queue before it, the targets beside it, the record after it. */
export interface WorkerPorts {
  lease(holder: number, most: number): Promise<LeasedRun[]>
  held(holder: number): Promise<HeldRun[]>
  /** Runs that are to be cancelled. Null: this worker was declared dead, and its runs may be anybody's. */
  revoked(holder: number): Promise<readonly Revoked[] | null>
  /** Of these runs, the tokens that this worker still holds. */
  stillHeld(holder: number, runs: readonly HeldRun[]): Promise<Set<number>>
  handBack(holder: number, runs: readonly HeldRun[]): Promise<void>
  definitions(wanted: readonly { job: number; version: number }[]): Promise<Map<string, RunDefinition>>
  deliver(
    run: LeasedRun,
    definition: RunDefinition,
    stop: StopSwitch,
    begun: Begun,
  ): Promise<Delivered | Closed>
  close(result: AttemptResult): Promise<CloseAnswer>
  /** Null, or when the record has caught up with what ended. */
  behind(): Promise<void> | null
  drained(): Promise<void>
}

/** Half of a hand-over: what the worker says. */
export interface WorkerOffer {
  holder: number
  room: number
  accept(runs: LeasedRun[]): void
  doubt(): void
}

export interface WorkerOptions {
  ports: WorkerPorts
  clock: Clock
  databaseClock: DatabaseClock
  log: Logger
  metrics: Metrics
  concurrency: number
  /** How long before the end of a drain a run is told to stop, so that what it started can end in an orderly way. */
  stopAheadMs?: (definition: RunDefinition) => number
  self: () => number
  /** Asks for another leasing pass. */
  wake: () => void
}
