import type { TaskEffects } from './task-effects.js'

/** Lines written here carry the run's id. */
export interface TaskLog {
  info(message: string, fields?: Record<string, unknown>): void
  warn(message: string, fields?: Record<string, unknown>): void
  error(message: string, fields?: Record<string, unknown>): void
}

/** What a handler knows about the attempt it serves. */
export interface TaskContext extends TaskEffects {
  readonly runId: string
  readonly jobId: string
  readonly jobName: string
  /** The tick, not the present time: the same for every attempt of a run. */
  readonly scheduledAt: Date
  /** 1 for the first attempt. */
  readonly attempt: number
  /** Grows with every attempt. A store that remembers the highest one can refuse a late writer. */
  readonly fencingToken: number
  /** The same for every attempt of a run: pass it on to what must happen once. */
  readonly idempotencyKey: string
  /** True when the tick had been missed and is run late. */
  readonly catchUp: boolean
  /** Aborts when the time is up or the attempt is no longer wanted. Pass it to fetch and the like. */
  readonly signal: AbortSignal
  readonly log: TaskLog
}

export interface TaskDefinition<Input = unknown, Output = unknown> {
  /** The name that a job's target gives: { type: 'task', task: id }. */
  readonly id: string
  run(input: Input, ctx: TaskContext): Output | Promise<Output>
}

/** Defines a task. `input` is the job's payload; what `run` returns is kept with the run if it is small JSON. */
export function defineTask<Input = unknown, Output = unknown>(
  definition: TaskDefinition<Input, Output>,
): TaskDefinition<Input, Output> {
  // Also for callers without types: a wrong definition is told where it is made, not at the first tick.
  const { id, run } = definition as { id?: unknown; run?: unknown }
  if (typeof id !== 'string' || id === '') {
    throw new TypeError('defineTask: "id" has to be a non-empty string, the name that jobs refer to.')
  }
  if (typeof run !== 'function') {
    throw new TypeError(`defineTask: "run" of the task "${id}" has to be a function (input, ctx).`)
  }
  return definition
}

/** A registered symbol is shared by every copy of this package in a process, where instanceof is not. */
const nonRetryable = Symbol.for('carillon.non-retryable')

/** Thrown by a handler: further attempts would fail the same way, so none is made. */
export class NonRetryableError extends Error {
  override readonly name = 'NonRetryableError'
  readonly [nonRetryable] = true
}

export function isNonRetryable(error: unknown): boolean {
  return typeof error === 'object' && error !== null && nonRetryable in error
}
