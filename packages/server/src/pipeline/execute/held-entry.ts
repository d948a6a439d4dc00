import { TaskStoppedError } from '@carillon/sdk'
import { StopSwitch } from '../../targets/stop-switch.js'
import type { LeasedRun, RunDefinition } from '../run.js'
import type { Ending } from './without-target.js'

/** A run that the worker holds, from its lease to its end. */
export interface HeldEntry {
  run: LeasedRun
  definition: RunDefinition | null
  availableAt: number
  /** When the last look began that would have shown a revocation of this run. */
  lookedAt: number
  /** Delivered, or being ended without that: from here on it is neither started nor given back. */
  begun: boolean
  /** Why it was told to stop, if it was: a newer run of its job takes its place, or a person cancelled it. */
  ending: Ending | null
  stop: StopSwitch
}

/** Leased by a statement that was sent then. */
export function heldEntry(run: LeasedRun, sentAt: number): HeldEntry {
  return {
    run,
    definition: run.definition ?? null,
    availableAt: run.availableAt,
    lookedAt: sentAt,
    begun: false,
    ending: null,
    stop: new StopSwitch(),
  }
}

export function leaseLost(): TaskStoppedError {
  return new TaskStoppedError('lost', 'the lease of this run was lost')
}
