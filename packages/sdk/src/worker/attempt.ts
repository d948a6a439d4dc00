import type { AttemptReport, Lease } from '@carillon/contract'
import { stopReasonOf, TaskStoppedError } from '../stop.js'
import { effectsUnavailable } from '../task-effects.js'
import { runTask } from '../task-input.js'
import { isNonRetryable, type TaskContext, type TaskDefinition, type TaskLog } from '../task.js'

/** What is known of an attempt while it goes on. */
export interface Held {
  readonly lease: Lease
  /** The life of the worker that it was leased to: a result is always told in its name. */
  readonly workerId: string
  readonly stop: AbortController
  /** Asks the server whether it is still held and wanted. What it says aborts `stop`. */
  readonly confirm: () => Promise<void>
}

type Ending = Omit<AttemptReport, 'run_id' | 'fencing_token' | 'started_at'>

/** setTimeout counts in 32 bits: a longer delay would fire at once. */
const longestTimeout = 2 ** 31 - 1

/**
 * Runs a task's handler for one attempt. At the end of its time, or when it is told to stop, its signal aborts and the
 * attempt is over, whether the handler obeys or not: one that never returns holds no slot.
 */
export async function runAttempt(task: TaskDefinition, held: Held, log: TaskLog): Promise<AttemptReport> {
  const { lease, stop } = held
  const startedAt = new Date().toISOString()
  const timer = setTimeout(
    () => stop.abort(new TaskStoppedError('timeout', `not done within ${lease.timeout_seconds} s`)),
    Math.min(lease.timeout_seconds * 1000, longestTimeout),
  )
  const aborted = new Promise<Ending>((resolve) => {
    stop.signal.addEventListener('abort', () => resolve(failure(stop.signal.reason)), { once: true })
  })
  const finished = (async (): Promise<Ending> => {
    try {
      const result = await runTask(task, lease.payload, contextOf(held, log))
      return { outcome: 'success', result: storable(result) }
    } catch (error) {
      return failure(error)
    }
  })()
  const ending = await Promise.race([finished, aborted])
  clearTimeout(timer)
  return { run_id: lease.run_id, fencing_token: lease.fencing_token, started_at: startedAt, ...ending }
}

function contextOf({ lease, stop, confirm }: Held, log: TaskLog): TaskContext {
  return {
    runId: lease.run_id,
    jobId: lease.job_id,
    jobName: lease.job_name,
    scheduledAt: new Date(lease.scheduled_at),
    attempt: lease.attempt,
    fencingToken: lease.fencing_token,
    idempotencyKey: lease.idempotency_key,
    catchUp: lease.catch_up,
    traceparent: lease.traceparent,
    signal: stop.signal,
    async heartbeat(progress) {
      stop.signal.throwIfAborted()
      if (progress !== undefined) log.info('progress', { progress })
      await confirm()
      stop.signal.throwIfAborted()
    },
    log,
    ...effectsUnavailable,
  }
}

function failure(error: unknown): Ending {
  // Cut short by this worker's own shutdown: that is no failure of the run's, and uses up no attempt.
  if (stopReasonOf(error) === 'shutdown') return { outcome: 'interrupted', error: textOf(error) }
  return { outcome: 'failed', error: textOf(error), retryable: !isNonRetryable(error) }
}

const longestError = 8_192

/** Anything can be thrown, and looking at it runs code of the task: that code may throw again. */
function textOf(error: unknown): string {
  try {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
    return text.slice(0, longestError)
  } catch {
    return 'an error that cannot be read'
  }
}

/** The server keeps 4 KiB. What is far beyond that is not sent at all: results of many runs share one call. */
const longestResult = 65_536

function storable(result: unknown): unknown {
  try {
    // Undefined for a function or a symbol, although the types do not say so.
    const text = JSON.stringify(result ?? null) as string | undefined
    if (text === undefined) return { note: `The result is a ${typeof result}, which JSON has no form for.` }
    if (text.length <= longestResult) return JSON.parse(text) as unknown
    const excerpt = text.slice(0, 1_000)
    return { note: `The result is ${text.length} characters of JSON: this is its start.`, excerpt }
  } catch (error) {
    return { note: `The result cannot be written as JSON: ${textOf(error)}` }
  }
}
