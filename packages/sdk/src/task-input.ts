import type { FieldProblem } from '@carillon/contract'
import type { SchemaIssue, StandardSchema } from './standard-schema.js'
import type { TaskContext, TaskDefinition } from './task.js'
import { inTrace, isTracing } from './trace-context.js'

const nonRetryable = Symbol.for('carillon.non-retryable')
const mostNamed = 10

/** A payload that does not fit the task's schema. It would not fit at the next attempt either, so none is made. */
export class InvalidInputError extends Error {
  override readonly name = 'InvalidInputError'
  readonly [nonRetryable] = true
  /** The fields at fault, each by JSON pointer; '' is the payload itself. */
  readonly errors: readonly FieldProblem[]

  constructor(task: string, errors: readonly FieldProblem[]) {
    const named = errors
      .slice(0, mostNamed)
      .map(({ pointer, message }) => `${pointer === '' ? 'the payload' : pointer}: ${message}`)
    const more = errors.length > mostNamed ? ` (and ${errors.length - mostNamed} more)` : ''
    super(`The payload does not fit the task "${task}": ${named.join('; ')}${more}`)
    this.errors = errors
  }
}

/** A payload as the schema makes it, e.g. with defaults filled in. Throws InvalidInputError where it does not fit. */
export async function readInput<Output>(
  { id, input }: { id: string; input?: StandardSchema<unknown, Output> | undefined },
  payload: unknown,
): Promise<Output> {
  if (input === undefined) return payload as Output
  const result = await input['~standard'].validate(payload)
  if (result.issues === undefined) return result.value
  throw new InvalidInputError(id, result.issues.map(problemOf))
}

/** Runs a task for a payload that came over the wire. */
export async function runTask(task: TaskDefinition, payload: unknown, ctx: TaskContext): Promise<unknown> {
  return await beginTask(task, payload, ctx)
}

/**
 * The same for whoever takes an answer, a promise or a throw as they come. Without a schema nothing is waited for: the handler
 * begins at once, and nobody can have stopped it yet.
 */
export function beginTask(task: TaskDefinition, payload: unknown, ctx: TaskContext): unknown {
  return isTracing() ? inTrace(ctx, () => begin(task, payload, ctx)) : begin(task, payload, ctx)
}

function begin(task: TaskDefinition, payload: unknown, ctx: TaskContext): unknown {
  return task.input === undefined ? task.run(payload, ctx) : runChecked(task, payload, ctx)
}

async function runChecked(task: TaskDefinition, payload: unknown, ctx: TaskContext): Promise<unknown> {
  const input = await readInput(task, payload)
  // A check that took long must not start what nobody waits for any more.
  ctx.signal.throwIfAborted()
  return task.run(input, ctx)
}

function problemOf({ message, path = [] }: SchemaIssue): FieldProblem {
  const pointer = path
    .map((part) => String(typeof part === 'object' ? part.key : part))
    .map((key) => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`)
  return { pointer: pointer.join(''), message }
}
