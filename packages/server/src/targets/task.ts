import type { TaskTarget } from '@carillon/contract'
import {
  effectsUnavailable,
  isNonRetryable,
  runTask,
  type Sql,
  type TaskContext,
  type TaskEffects,
  type TaskLog,
} from '@carillon/sdk'
import { cancelledBecause, seconds, withinDeadline } from './deadline.js'
import type { Attempt, FailureReason, Outcome, Target } from './target.js'
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
    async deliver(target, attempt, signal) {
      const task = registry.get(target.task)
      if (task === undefined) return unserved(target.task, registry.names())
      const log = logFor(attempt)
      const ending = await withinDeadline(
        async (inner) => {
          try {
            return await runTask(task, attempt.payload, contextFor(attempt, inner, log))
          } finally {
            // One that the handler did not wait for is part of its time all the same.
            await attempt.effects?.settled()
          }
        },
        attempt.timeoutMs,
        signal,
      )
      if ((await attempt.effects?.settled()) === true) {
        if (ending.kind === 'threw') log.error(afterClosed, { error: describeThrown(ending.error) })
        return { kind: 'closed' }
      }
      switch (ending.kind) {
        case 'finished':
          return { kind: 'success', result: keepResult(ending.value) }
        case 'timeout':
          return failed('timeout', `task ${task.id}: no result within ${seconds(attempt.timeoutMs)}`, true)
        case 'cancelled':
          return failed('cancelled', `task ${task.id}: ${cancelledBecause(ending.cause)}`, true)
        case 'threw':
          return isNonRetryable(ending.error)
            ? failed('task_non_retryable', describeThrown(ending.error), false)
            : failed('task_error', describeThrown(ending.error), true)
      }
    },
    close: () => Promise.resolve(),
  }
}

function contextFor(attempt: Attempt, signal: AbortSignal, log: TaskLog): TaskContext {
  return {
    runId: attempt.runId,
    jobId: attempt.jobId,
    jobName: attempt.jobName,
    scheduledAt: new Date(attempt.scheduledAt),
    attempt: attempt.attempt,
    fencingToken: attempt.token,
    idempotencyKey: attempt.idempotencyKey,
    catchUp: attempt.catchUp,
    signal: signal,
    async heartbeat(progress) {
      signal.throwIfAborted()
      if (progress !== undefined) log.info('progress', { progress })
      await attempt.confirm?.()
      signal.throwIfAborted()
    },
    log,
    ...effectsFor(attempt, signal),
  }
}

function effectsFor({ effects }: Attempt, signal: AbortSignal): TaskEffects {
  if (effects === undefined) return effectsUnavailable
  return {
    once: <Result>(key: string, effect: () => Result | Promise<Result>) =>
      effects.once(key, effect, signal) as Promise<Result>,
    transaction: <Result>(work: (sql: Sql) => Result | Promise<Result>) =>
      effects.transaction(work, signal) as Promise<Result>,
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
