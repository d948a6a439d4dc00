import type { SchemaInput, SchemaOutput, StandardSchema } from './standard-schema.js'
import type { TaskSignal } from './stop.js'
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
  /**
   * W3C trace context of this attempt: pass it on as the header `traceparent`. It is the active context of the handler where OpenTelemetry is
   * set up in its process.
   */
  readonly traceparent: string
  /**
   * Aborts when the time is up or the attempt is no longer wanted: `signal.reason.reason` is timeout, cancelled, replaced,
   * lost or shutdown. Pass it to fetch and the like.
   */
  readonly signal: TaskSignal
  /**
   * Asks whether the run is still this worker's and still wanted. Throws the signal's reason where it is not. The lease is
   * kept without it, as long as the event loop turns; long work calls it at points where it can stop, and right before
   * what cannot be undone. May be called often: the server is asked once a second at most. `progress`, any JSON, is a line
   * in the run's log.
   */
  heartbeat(progress?: unknown): Promise<void>
  readonly log: TaskLog
}

/** `Payload`: what a job gives; `Input`: what the handler gets, as the schema makes it. */
export interface TaskDefinition<Input = unknown, Output = unknown, Payload = Input> {
  /** The name that a job's target gives: { type: 'task', task: id }. */
  readonly id: string
  /** Any Standard Schema (zod, valibot, arktype, …). A payload that does not fit fails its run, and is not tried again. */
  readonly input?: StandardSchema<Payload, Input>
  run(input: Input, ctx: TaskContext): Output | Promise<Output>
}

/** What a job of this task gives as payload. */
export type PayloadOf<Task> =
  Task extends TaskDefinition<infer _Input, infer _Output, infer Payload> ? Payload : unknown

/** Defines a task. `input` is the job's payload; what `run` returns is kept with the run if it is small JSON. */
export function defineTask<Schema extends StandardSchema, Output>(definition: {
  id: string
  input: Schema
  run(input: SchemaOutput<Schema>, ctx: TaskContext): Output | Promise<Output>
}): TaskDefinition<SchemaOutput<Schema>, Output, SchemaInput<Schema>>
export function defineTask<Input = unknown, Output = unknown>(
  definition: TaskDefinition<Input, Output>,
): TaskDefinition<Input, Output>
export function defineTask(definition: TaskDefinition): TaskDefinition {
  // Also for callers without types: a wrong definition is told where it is made, not at the first tick.
  const { id, run, input } = definition as { id?: unknown; run?: unknown; input?: unknown }
  if (typeof id !== 'string' || id === '') {
    throw new TypeError('defineTask: "id" has to be a non-empty string, the name that jobs refer to.')
  }
  if (typeof run !== 'function') {
    throw new TypeError(`defineTask: "run" of the task "${id}" has to be a function (input, ctx).`)
  }
  if (input !== undefined && !isSchema(input)) {
    throw new TypeError(
      `defineTask: "input" of the task "${id}" is no Standard Schema. Give a schema of zod, valibot, arktype or another ` +
        'library that has "~standard", or leave it out.',
    )
  }
  return definition
}

function isSchema(value: unknown): value is StandardSchema {
  // Some libraries' schemas are functions.
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false
  return '~standard' in value && typeof value['~standard'] === 'object' && value['~standard'] !== null
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
