import { TaskStoppedError } from '@carillon/sdk'
import { StopSwitch } from '../../targets/stop-switch.js'
import type { LeasedRun, RunDefinition } from '../run.js'
import type { Begun } from './attempt.js'
import type { Confirmations } from './confirmations.js'
import type { Ending } from './without-target.js'

/** A run that the worker holds, from its lease to its end. */
export class HeldEntry implements Begun {
  definition: RunDefinition | null
  readonly availableAt: number
  /** Delivered, or being ended without that: from here on it is neither started nor given back. */
  begun = false
  startedAt = Number.NaN
  /** Why it was told to stop, if it was: a newer run of its job takes its place, or a person cancelled it. */
  ending: Ending | null = null
  readonly stop = new StopSwitch()

  constructor(
    readonly run: LeasedRun,
    /** When the last look began that would have shown a revocation of this run: its lease, at first. */
    readonly lookedAt: number,
    private readonly confirmations: Confirmations<HeldEntry>,
  ) {
    this.definition = run.definition ?? null
    this.availableAt = run.availableAt
  }

  confirm(): Promise<void> {
    return this.confirmations.ask(this)
  }
}

export function leaseLost(): TaskStoppedError {
  return new TaskStoppedError('lost', 'the lease of this run was lost')
}
