import { type TaskDefinition, TaskStoppedError } from '@carillon/sdk'
import { keepResult, describeThrown } from '../targets/task-result.js'
import type { AttemptResult } from '../pipeline/run.js'
import type { TestJob } from './job.js'

/** What became of one tick, or of a trigger. */
export interface TestRun {
  readonly job: string
  /** The tick. */
  readonly scheduledAt: Date
  status: 'pending' | 'running' | 'success' | 'dead' | 'skipped' | 'cancelled'
  /** The attempt that is ahead, under way, or was the last; 0 where nothing was tried. */
  attempt: number
  startedAt: Date | null
  finishedAt: Date | null
  result: unknown
  /** Of the last attempt that failed. */
  error: string | null
  /** Why it did not run, or ended as it did. */
  reason: string | null
  readonly catchUp: boolean
  /** For one that stands for several ticks: how many. */
  readonly ticks: number
}

/** A run in flight, with its place among the runs of its job. */
export interface Flight {
  readonly run: TestRun
  readonly job: TestJob
  readonly due: number
  readonly origin: number
  readonly seq: number
  readonly firedAt: number
  slot: number | null
  readonly places: number | null
  availableAt: number
  /** Set while an attempt goes on. */
  going: Going | null
}

export interface Going {
  readonly startedAt: number
  readonly deadline: number
  readonly stop: AbortController
  /** How many sleeps of the test clock it is in: then nothing more happens before the clock is turned. */
  sleeping: number
}

type Ending = Pick<AttemptResult, 'outcome' | 'retryable' | 'reason' | 'error' | 'result'>

/** Calls the handler; an abort ends the attempt, whether the handler obeys or not. */
export async function attempt(
  task: TaskDefinition | undefined,
  { stop }: Going,
  call: (task: TaskDefinition) => Promise<unknown>,
  isFinal: (error: unknown) => boolean,
): Promise<Ending> {
  if (task === undefined) return failed('unserved', 'The test environment has no task of this name.', true)
  const aborted = new Promise<Ending>((resolve) =>
    stop.signal.addEventListener('abort', () => resolve(stopped(stop.signal.reason)), { once: true }),
  )
  const finished = call(task).then(
    (value): Ending => ({
      outcome: 'success',
      retryable: false,
      reason: null,
      error: null,
      result: keepResult(value),
    }),
    (error: unknown) =>
      isFinal(error)
        ? failed('task_non_retryable', describeThrown(error), false)
        : failed('task_error', describeThrown(error), true),
  )
  return Promise.race([finished, aborted])
}

function stopped(reason: unknown): Ending {
  if (reason instanceof TaskStoppedError && reason.reason === 'replaced')
    return { outcome: 'cancelled', retryable: false, reason: 'replaced', error: reason.message, result: null }
  return failed('timeout', describeThrown(reason), true)
}

function failed(reason: string, error: string, retryable: boolean): Ending {
  return { outcome: 'failed', reason, error, retryable, result: null }
}
