import type { TaskTarget } from '@carillon/contract'
import { beginTask, isNonRetryable, type TaskDefinition, type TaskLog } from '@carillon/sdk'
import { cancelledBecause, type Ending, seconds, withinDeadline } from './deadline.js'
import type { IsTraced } from './signing.js'
import { RunContext } from './run-context.js'
import type { Attempt, AttemptEffects, FailureReason, Outcome, Target } from './target.js'
import type { TaskRegistry } from './task-registry.js'
import { describeThrown, keepResult } from './task-result.js'

export interface TaskTargetOptions {
  /** Where a handler's `ctx.log` writes. Without it the lines are dropped. */
  logFor?: (attempt: Attempt) => TaskLog
  isTraced?: IsTraced
}

/**
 * Runs tasks inside this process. A handler that ignores its signal is abandoned at the deadline, not stopped:
 * its slot is free again, but its code may go on. Code that blocks the event loop blocks the deadline too.
 */
export function createTaskTarget(
  registry: TaskRegistry,
  options: TaskTargetOptions = {},
): Target<TaskTarget> {
  const { logFor = () => silent, isTraced } = options
  return {
    type: 'task',
    deliver(target, attempt, stop) {
      const task = registry.get(target.task)
      if (task === undefined) return Promise.resolve(unserved(target.task, registry.names()))
      const { effects } = attempt
      return withinDeadline(
        (inner) => beginTask(task, attempt.payload, new RunContext(attempt, inner, logFor, isTraced)),
        attempt.timeoutMs,
        stop,
        // A transaction that the handler did not wait for is part of its time all the same.
        () => (effects?.begun === true ? effects.settled() : null),
      ).then((ending) =>
        effects?.begun === true
          ? afterTransaction(effects, ending, task, attempt)
          : outcomeOf(ending, task, attempt),
      )
    },
    close: () => Promise.resolve(),
  }

  async function afterTransaction(
    effects: AttemptEffects,
    ending: Ending<unknown>,
    task: TaskDefinition,
    attempt: Attempt,
  ): Promise<Outcome> {
    if (!(await effects.settled())) return outcomeOf(ending, task, attempt)
    if (ending.kind === 'threw') logFor(attempt).error(afterClosed, { error: describeThrown(ending.error) })
    return { kind: 'closed' }
  }
}

function outcomeOf(ending: Ending<unknown>, task: TaskDefinition, { timeoutMs }: Attempt): Outcome {
  switch (ending.kind) {
    case 'finished':
      return { kind: 'success', result: keepResult(ending.value) }
    case 'timeout':
      return failed('timeout', `task ${task.id}: no result within ${seconds(timeoutMs)}`, true)
    case 'cancelled':
      return failed('cancelled', `task ${task.id}: ${cancelledBecause(ending.cause)}`, true)
    case 'threw':
      return isNonRetryable(ending.error)
        ? failed('task_non_retryable', describeThrown(ending.error), false)
        : failed('task_error', describeThrown(ending.error), true)
  }
}

const afterClosed = 'the handler threw after its transaction had closed the run, which stays succeeded'

const silent: TaskLog = { info: () => {}, warn: () => {}, error: () => {} }

function unserved(name: string, loaded: string[]): Outcome {
  const here = loaded.length === 0 ? 'No task is loaded' : `Loaded here: ${loaded.slice(0, 20).join(', ')}`
  return failed('unserved', `This worker has no task named "${name}". ${here}.`, true)
}

function failed(reason: FailureReason, error: string, retryable: boolean): Outcome {
  return { kind: 'failed', reason, error, retryable }
}
