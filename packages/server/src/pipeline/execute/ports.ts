import type { RunIdentity } from '../../platform/ids.js'
import type { StopSwitch } from '../../targets/stop-switch.js'
import type { AttemptResult, CloseAnswer, LeasedRun, RunDefinition } from '../run.js'
import type { Begun } from './attempt.js'
import type { Closed, Delivered } from './delivered.js'

export type HeldRun = RunIdentity & { token: number }

/** What main.ts hands to the worker: the queue before it, the targets beside it, the record after it. */
export interface WorkerPorts {
  lease(holder: number, most: number): Promise<LeasedRun[]>
  held(holder: number): Promise<HeldRun[]>
  /**
   * Runs that are to be cancelled; `replaced`: because a newer run of the job waits for the place; `stop_requested`:
   * because a person cancelled this very run.
   */
  revoked(holder: number): Promise<(HeldRun & { replaced: boolean; stop_requested: boolean })[]>
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
