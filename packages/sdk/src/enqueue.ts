import { readInput } from './task-input.js'
import type { PayloadOf, TaskDefinition } from './task.js'

/** A client of node-postgres, a transaction of a query builder, or anything else that takes `$1`, `$2`, … */
export interface SqlClient {
  query(text: string, values: unknown[]): Promise<{ rows: unknown[] }>
}

export interface EnqueueOptions {
  /** At this instant. */
  at?: Date
  /** So many milliseconds from now. */
  delayMs?: number
  /**
   * Several requests with one key within a day are one: the first that commits. The same key with another request is
   * refused; a request that was refused leaves its key free.
   */
  idempotencyKey?: string
  /** The name of the job that is made; one of its own where it is left out. */
  name?: string
  maxRetries?: number
  timeoutSeconds?: number
  priority?: number
}

export interface EnqueuedTask<Task extends TaskDefinition | string> extends EnqueueOptions {
  task: Task
  payload?: Task extends TaskDefinition ? PayloadOf<Task> : unknown
}

export interface EnqueuedTrigger {
  /** The name of a live job: a run of it, beside its schedule. */
  job: string
  idempotencyKey?: string
}

export interface Enqueued {
  /** Of the job that is made, or triggered. A job that is made can be asked for once the transaction has committed. */
  jobId: string
}

/**
 * Asks for a run inside the caller's own transaction: it exists if and only if that transaction commits, and it is
 * registered within a moment of that.
 *
 *     await client.query('BEGIN')
 *     await client.query('INSERT INTO orders …')
 *     await enqueue(client, { task: sendReceipt, payload: { order: 42 } })
 *     await client.query('COMMIT')
 *
 * The client's role needs EXECUTE on carillon.enqueue_task or carillon.enqueue_trigger. A payload that does not fit the
 * task's schema, and whatever the database refuses, is thrown here, before anything is committed.
 */
export async function enqueue<Task extends TaskDefinition | string>(
  client: SqlClient,
  request: EnqueuedTask<Task> | EnqueuedTrigger,
): Promise<Enqueued> {
  if ('job' in request) {
    const { job, idempotencyKey = null } = request
    return jobIdOf(
      await client.query('SELECT carillon.enqueue_trigger($1, $2) AS job_id', [job, idempotencyKey]),
    )
  }
  const { task, payload = null, at, delayMs, idempotencyKey = null } = request
  // What the handler will check, checked where the caller can still do something about it.
  if (typeof task !== 'string') await readInput(task, payload)
  const options = {
    name: request.name,
    max_retries: request.maxRetries,
    timeout_seconds: request.timeoutSeconds,
    priority: request.priority,
  }
  const values = [
    typeof task === 'string' ? task : task.id,
    JSON.stringify(payload),
    at?.toISOString() ?? null,
    delayMs === undefined ? null : `${delayMs} milliseconds`,
    idempotencyKey,
    JSON.stringify(options),
  ]
  return jobIdOf(await client.query(enqueueTask, values))
}

const enqueueTask =
  'SELECT carillon.enqueue_task($1, $2::jsonb, $3::timestamptz, $4::interval, $5, $6::jsonb) AS job_id'

function jobIdOf({ rows }: { rows: unknown[] }): Enqueued {
  const [row] = rows as { job_id: string }[]
  if (row === undefined) throw new Error('enqueue: the database answered without a job.')
  return { jobId: row.job_id }
}
