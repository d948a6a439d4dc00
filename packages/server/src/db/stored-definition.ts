import type { JobDefinition } from '@carillon/contract'

/**
 * What a field means that a stored definition does not have. Most jobs leave most fields as they are: a definition that says
 * only what differs is a third as long, and Postgres takes a third of the time to read it. Never changed once released: a job
 * keeps what it was registered with. A default that becomes another one is another one in register/definition.ts; from then on
 * it differs from this, and is stored.
 */
const unsaid = {
  description: null,
  tags: [],
  managed_by: null,
  timezone: 'UTC',
  dst_gap: 'run_after',
  dst_overlap: 'first',
  exclude: [],
  on_excluded: 'exclude',
  starts_at: null,
  ends_at: null,
  max_runs: null,
  jitter_seconds: 0,
  fire_window_seconds: 0,
  payload: null,
  idempotency_key_template: '{{job_id}}:{{scheduled_at_unix}}',
  retry_backoff: 'exponential',
  retry: { base_ms: 1_000, factor: 2, cap_ms: 300_000 },
  missed_window: 'RUN_ONCE',
  max_missed: 10,
  misfire_grace_seconds: null,
  max_concurrent: null,
  priority: 5,
} satisfies Partial<JobDefinition>
// One object stands in many definitions: nobody may write into it.
for (const value of [unsaid, ...Object.values(unsaid)]) Object.freeze(value)

/**
 * A definition as it is stored, in JSON. What statements read of it is always said, because to them a missing field is NULL:
 * max_retries, on_lost, overlap_policy, timeout_seconds. The fields stand in the order in which jsonb keeps them, by length and then by
 * letters: Postgres need not sort them.
 */
export function storedText(definition: JobDefinition): string {
  return JSON.stringify({
    name: definition.name,
    tags: unlessOrdinary(definition.tags, unsaid.tags),
    retry: unlessOrdinary(definition.retry, unsaid.retry),
    anchor: definition.anchor,
    target: definition.target,
    dst_gap: unlessOrdinary(definition.dst_gap, unsaid.dst_gap),
    ends_at: unlessOrdinary(definition.ends_at, unsaid.ends_at),
    exclude: unlessOrdinary(definition.exclude, unsaid.exclude),
    on_lost: definition.on_lost,
    payload: unlessOrdinary(definition.payload, unsaid.payload),
    max_runs: unlessOrdinary(definition.max_runs, unsaid.max_runs),
    priority: unlessOrdinary(definition.priority, unsaid.priority),
    schedule: definition.schedule,
    timezone: unlessOrdinary(definition.timezone, unsaid.timezone),
    starts_at: unlessOrdinary(definition.starts_at, unsaid.starts_at),
    managed_by: unlessOrdinary(definition.managed_by, unsaid.managed_by),
    max_missed: unlessOrdinary(definition.max_missed, unsaid.max_missed),
    description: unlessOrdinary(definition.description, unsaid.description),
    dst_overlap: unlessOrdinary(definition.dst_overlap, unsaid.dst_overlap),
    max_retries: definition.max_retries,
    on_excluded: unlessOrdinary(definition.on_excluded, unsaid.on_excluded),
    missed_window: unlessOrdinary(definition.missed_window, unsaid.missed_window),
    retry_backoff: unlessOrdinary(definition.retry_backoff, unsaid.retry_backoff),
    jitter_seconds: unlessOrdinary(definition.jitter_seconds, unsaid.jitter_seconds),
    max_concurrent: unlessOrdinary(definition.max_concurrent, unsaid.max_concurrent),
    overlap_policy: definition.overlap_policy,
    timeout_seconds: definition.timeout_seconds,
    fire_window_seconds: unlessOrdinary(definition.fire_window_seconds, unsaid.fire_window_seconds),
    misfire_grace_seconds: unlessOrdinary(definition.misfire_grace_seconds, unsaid.misfire_grace_seconds),
    idempotency_key_template: unlessOrdinary(
      definition.idempotency_key_template,
      unsaid.idempotency_key_template,
    ),
  } satisfies Record<keyof JobDefinition, unknown>)
}

/** What is undefined is left out of JSON. */
function unlessOrdinary(value: unknown, ordinary: unknown): unknown {
  if (value === ordinary) return undefined
  return typeof ordinary === 'object' && isOrdinary(value, ordinary) ? undefined : value
}

/** The definition that was stored, whole or in part (statements leave out what they have no use for). */
export function wholeDefinition<Stored extends object>(stored: Stored): Stored {
  return { ...unsaid, ...stored }
}

/** Of a list or an object: one that has as many fields, and in each the same. */
function isOrdinary(value: unknown, ordinary: object | null): boolean {
  if (typeof value !== 'object' || value === null || ordinary === null) return false
  if (Array.isArray(value) !== Array.isArray(ordinary)) return false
  let fields = 0
  for (const field in value) {
    fields += 1
    if (value[field as never] !== ordinary[field as never]) return false
  }
  for (const _field in ordinary) fields -= 1
  return fields === 0
}
