import type { TaskTarget } from '@carillon/contract'
import {
  effectsUnavailable,
  isNonRetryable,
  runTask,
  type Sql,
  type TaskContext,
  type TaskDefinition,
  type TaskEffects,
  type TaskLog,
} from '@carillon/sdk'
import { cancelledBecause, type Ending, seconds, withinDeadline } from './deadline.js'
import type { StopSwitch } from './stop-switch.js'
import type { Attempt, AttemptEffects, FailureReason, Outcome, Target } from './target.js'
import type { TaskRegistry } from './task-registry.js'
import { describeThrown, keepResult } from './task-result.js'

export interface TaskTargetOptions {
  /** Where a handler's `ctx.log` writes. Without it the lines are dropped. */
  logFor?: (attempt: Attempt) => TaskLog
}

/**
 * Runs tasks inside this process. A handler that ignores its signal is abandoned at the deadline, not stopped:
 * its slot is free again, but its code may go on. Code that blocks the event loop blocks the deadline too.
 */
export function createTaskTarget(
  registry: TaskRegistry,
  options: TaskTargetOptions = {},
): Target<TaskTarget> {
  const logFor = options.logFor ?? (() => silent)
  return {
    type: 'task',
    async deliver(target, attempt, stop) {
      const task = registry.get(target.task)
      if (task === undefined) return unserved(target.task, registry.names())
      const { effects } = attempt
      const ending = await withinDeadline(
        (inner) => {
          const running = runTask(task, attempt.payload, contextFor(attempt, inner, logFor))
          return effects === undefined ? running : untilSettled(running, effects)
        },
        attempt.timeoutMs,
        stop,
      )
      if (effects?.begun === true && (await effects.settled())) {
        if (ending.kind === 'threw')
          logFor(attempt).error(afterClosed, { error: describeThrown(ending.error) })
        return { kind: 'closed' }
      }
      return outcomeOf(ending, task, attempt)
    },
    close: () => Promise.resolve(),
  }
}

/** A transaction that the handler did not wait for is part of its time all the same. */
async function untilSettled<T>(running: Promise<T>, effects: AttemptEffects): Promise<T> {
  try {
    return await running
  } finally {
    if (effects.begun) await effects.settled()
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

/** Properties of its own, so that a handler may copy it; what costs something is made when it is asked for. */
function contextFor(attempt: Attempt, stop: StopSwitch, logFor: (attempt: Attempt) => TaskLog): TaskContext {
  let log: TaskLog | undefined
  return {
    get runId() {
      return attempt.runId
    },
    jobId: attempt.jobId,
    jobName: attempt.jobName,
    get scheduledAt() {
      return new Date(attempt.scheduledAt)
    },
    attempt: attempt.attempt,
    fencingToken: attempt.token,
    get idempotencyKey() {
      return attempt.idempotencyKey
    },
    catchUp: attempt.catchUp,
    get signal() {
      return stop.signal
    },
    async heartbeat(progress) {
      throwIfStopped(stop)
      if (progress !== undefined) (log ??= logFor(attempt)).info('progress', { progress })
      await attempt.confirm?.()
      throwIfStopped(stop)
    },
    get log() {
      log ??= logFor(attempt)
      return log
    },
    ...effectsFor(attempt, stop),
  }
}

function throwIfStopped(stop: StopSwitch): void {
  if (stop.stopped) throw stop.reason
}

function effectsFor({ effects }: Attempt, stop: StopSwitch): TaskEffects {
  if (effects === undefined) return effectsUnavailable
  return {
    once: <Result>(key: string, effect: () => Result | Promise<Result>) =>
      effects.once(key, effect, stop.signal) as Promise<Result>,
    transaction: <Result>(work: (sql: Sql) => Result | Promise<Result>) =>
      effects.transaction(work, stop.signal) as Promise<Result>,
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
