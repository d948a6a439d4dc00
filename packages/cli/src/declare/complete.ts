import { type JobInput, type RetryFields, retryFieldsOf, retryViewOf } from '@carillon/contract'
import type { Job } from '@carillon/sdk'
import type { DeclaredInput } from './declared.js'

/** The fields of a definition, in the order in which people read them. */
export const definitionFields = [
  'name',
  'description',
  'schedule',
  'timezone',
  'target',
  'payload',
  'tags',
  'managed_by',
  'exclude',
  'on_excluded',
  'dst_gap',
  'dst_overlap',
  'starts_at',
  'ends_at',
  'max_runs',
  'jitter_seconds',
  'fire_window_seconds',
  'overlap_policy',
  'max_concurrent',
  'missed_window',
  'max_missed',
  'misfire_grace_seconds',
  'timeout_seconds',
  'expect',
  'priority',
  'max_retries',
  'retry_backoff',
  'retry',
  'on_lost',
  'idempotency_key_template',
] as const
export type DefinitionField = (typeof definitionFields)[number]
export type Definition = Readonly<Record<DefinitionField, unknown>>

/** What the server stores for an input: every default filled in. */
export function complete(input: DeclaredInput): Definition {
  const retryFields = retryFieldsOf(input)
  const { retry, on_lost } = retryViewOf(retryFields)
  return {
    name: input.name,
    description: input.description ?? null,
    schedule: input.schedule,
    timezone: input.timezone ?? 'UTC',
    target: input.target ?? { type: 'task', task: input.name },
    payload: input.payload ?? null,
    tags: input.tags ?? [],
    managed_by: input.managed_by ?? null,
    exclude: input.exclude ?? [],
    on_excluded: input.on_excluded ?? 'exclude',
    dst_gap: input.dst_gap ?? 'run_after',
    dst_overlap: input.dst_overlap ?? 'first',
    starts_at: input.starts_at ?? null,
    ends_at: input.ends_at ?? null,
    max_runs: input.max_runs ?? null,
    jitter_seconds: input.jitter_seconds ?? 0,
    fire_window_seconds: input.fire_window_seconds ?? 0,
    overlap_policy: input.overlap_policy ?? 'SKIP',
    max_concurrent: input.max_concurrent ?? null,
    missed_window: input.missed_window ?? 'RUN_ONCE',
    max_missed: input.max_missed ?? 10,
    misfire_grace_seconds: input.misfire_grace_seconds ?? null,
    timeout_seconds: input.timeout_seconds ?? 300,
    expect: input.expect ?? null,
    priority: input.priority ?? 5,
    max_retries: retryFields.max_retries,
    retry_backoff: retryFields.retry_backoff,
    retry,
    on_lost,
    idempotency_key_template: input.idempotency_key_template ?? '{{job_id}}:{{scheduled_at_unix}}',
  }
}

/** The definition of a job that there is. Fields that its server does not know are as if left to their default. */
export function definitionOf(job: Job): Definition {
  const present: Readonly<Record<string, unknown>> = { ...job }
  const byDefault = complete({ name: job.name, schedule: job.schedule })
  const view = { ...retryViewOf(job as Parameters<typeof retryViewOf>[0]), ...present }
  return Object.fromEntries(
    definitionFields.map((field) => [
      field,
      (view as Record<string, unknown>)[field] === undefined
        ? byDefault[field]
        : (view as Record<string, unknown>)[field],
    ]),
  ) as unknown as Definition
}

/** A definition in as few words as say it: what is left out is the default. The inverse of `complete`. */
export function concise(definition: Definition): Record<string, unknown> {
  const byDefault = complete({ name: definition.name, schedule: definition.schedule } as JobInput)
  const { max_retries, retry_backoff } = definition as Pick<RetryFields, 'max_retries' | 'retry_backoff'>
  const plainRetry = same(definition.retry, retryViewOf(retryFieldsOf({ max_retries, retry_backoff })).retry)
  const short: Record<string, unknown> = {}
  for (const field of definitionFields) {
    if (field === 'retry' ? plainRetry : !plainRetry && /^(max_retries|retry_backoff)$/.test(field)) continue
    const value = definition[field]
    if (field === 'name' || field === 'schedule' || !same(value, byDefault[field])) short[field] = value
  }
  if (!plainRetry) short['retry'] = withoutNulls(definition.retry as Record<string, unknown>)
  return short
}

function withoutNulls(fields: Record<string, unknown>): Record<string, unknown> {
  // A factor goes only with an exponential backoff.
  const meant = fields['backoff'] === 'exponential' ? fields : { ...fields, factor: null }
  return Object.fromEntries(Object.entries(meant).filter(([, value]) => value !== null))
}

/** Equal as JSON, whatever the order of the names. */
export function same(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const [left, right] = [Object.entries(a), new Map(Object.entries(b))]
  return (
    left.length === right.size &&
    left.every(([name, value]) => right.has(name) && same(value, right.get(name)))
  )
}
