import type { Job, JobInput } from './job.js'
import { type RetryFields, retryFieldsOf, retryViewOf } from './retry.js'

/**
 * What a job shows of its definition when it was given this input: the defaults filled in as the server does it (a test
 * there compares both), so that a client can say in advance what a definition would change.
 */
export function fieldsOfInput(input: JobInput): Record<string, unknown> {
  const { max_retries, retry_backoff, ...retry } = retryFieldsOf(input)
  return {
    description: input.description ?? null,
    tags: [...new Set(input.tags ?? [])].sort(),
    managed_by: input.managed_by ?? null,
    schedule: input.schedule,
    timezone: input.timezone ?? 'UTC',
    dst_gap: input.dst_gap ?? 'run_after',
    dst_overlap: input.dst_overlap ?? 'first',
    exclude: input.exclude ?? [],
    on_excluded: input.on_excluded ?? 'exclude',
    starts_at: input.starts_at ?? null,
    ends_at: input.ends_at ?? null,
    max_runs: input.max_runs ?? null,
    jitter_seconds: input.jitter_seconds ?? 0,
    fire_window_seconds: input.fire_window_seconds ?? 0,
    target: input.target ?? { type: 'task', task: input.name },
    payload: input.payload ?? null,
    idempotency_key_template: input.idempotency_key_template ?? '{{job_id}}:{{scheduled_at_unix}}',
    ...retryViewOf({ max_retries, retry_backoff, ...retry }),
    missed_window: input.missed_window ?? 'RUN_ONCE',
    max_missed: input.max_missed ?? 10,
    misfire_grace_seconds: input.misfire_grace_seconds ?? null,
    overlap_policy: input.overlap_policy ?? 'SKIP',
    max_concurrent: input.max_concurrent ?? null,
    priority: input.priority ?? 5,
    timeout_seconds: input.timeout_seconds ?? 300,
    expect: input.expect ?? null,
  }
}

/** The same of a job as the server shows it. */
export function fieldsOfJob(job: Job & { tags?: string[] }): Record<string, unknown> {
  const wanted = Object.keys(fieldsOfInput({ name: job.name, schedule: job.schedule }))
  const shown = Object.fromEntries(
    wanted.map((field) => [field, (job as Record<string, unknown>)[field] ?? null]),
  )
  const { max_retries, retry_backoff, retry, on_lost } = job
  const { max_elapsed_seconds: elapsed, ...waits } = retry ?? {}
  const fields: RetryFields = {
    max_retries,
    retry_backoff,
    retry: { ...waits, ...(elapsed != null && { max_elapsed_seconds: elapsed }) },
    ...(on_lost !== undefined && { on_lost }),
  }
  return { ...shown, tags: [...(job.tags ?? [])].sort(), ...retryViewOf(fields) }
}

/** The names of the fields in which two definitions differ. */
export function differingFields(before: Record<string, unknown>, after: Record<string, unknown>): string[] {
  return Object.keys(after).filter((field) => !sameJson(before[field], after[field]))
}

function sameJson(one: unknown, other: unknown): boolean {
  return JSON.stringify(ordered(one)) === JSON.stringify(ordered(other))
}

/** With the keys of every object in one order: they have none in JSON. */
function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([, part]) => part !== undefined)
  return entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, part]) => [key, ordered(part)])
}
