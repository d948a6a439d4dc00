import type { Target as TargetDefinition } from '@carillon/contract'
import type { StopSwitch } from '../../targets/stop-switch.js'
import type { Outcome, Target } from '../../targets/target.js'
import type { LeasedRun, RunDefinition } from '../run.js'
import { type Begun, type EffectsOf, RunAttempt } from './attempt.js'
import { type Closed, closedByHandler, type Delivered } from './delivered.js'

export type Targets = {
  [Kind in TargetDefinition['type']]: Target<Extract<TargetDefinition, { type: Kind }>>
}

/** Hands one attempt to its target and translates what came of it. */
export function deliver(
  targets: Targets,
  run: LeasedRun,
  definition: RunDefinition,
  stop: StopSwitch,
  begun: Begun,
  effects: EffectsOf | null = null,
): Promise<Delivered | Closed> {
  const { target } = definition.definition
  const kind: Target<TargetDefinition> = targets[target.type]
  const attempt = new RunAttempt(run, definition, begun, effects)
  return kind.deliver(target, attempt, stop).then((outcome) => delivered(outcome, stop))
}

function delivered(outcome: Outcome, stop: StopSwitch): Delivered | Closed {
  if (outcome.kind === 'closed') return closedByHandler
  if (outcome.kind === 'success') {
    return {
      outcome: 'success',
      retryable: false,
      retryAfterMs: null,
      reason: null,
      error: null,
      result: outcome.result,
    }
  }
  // Stopped by this worker, not by a fault of the run's.
  const stopped = stop.stopped && outcome.reason === 'cancelled'
  return {
    outcome: 'failed',
    retryable: outcome.retryable,
    retryAfterMs: outcome.retryAfterMs ?? null,
    reason: stopped ? 'worker_stopped' : outcome.reason,
    error: outcome.error,
    result: outcome.result,
  }
}
