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

type Unsaid = keyof typeof unsaid
const fields = Object.keys(unsaid) as Unsaid[]

/**
 * A definition as it is stored, in JSON. What statements read of it is always said, because to them a missing field is NULL:
 * max_retries, on_lost, overlap_policy, timeout_seconds.
 */
export function storedText(definition: JobDefinition): string {
  const { name, schedule, anchor, target, max_retries, on_lost, overlap_policy, timeout_seconds } = definition
  const said: Record<string, unknown> = {
    name,
    schedule,
    anchor,
    target,
    max_retries,
    on_lost,
    overlap_policy,
    timeout_seconds,
  }
  for (const field of fields) {
    const value = definition[field]
    const ordinary = unsaid[field]
    if (value !== ordinary && !(typeof ordinary === 'object' && isOrdinary(value, ordinary)))
      said[field] = value
  }
  return JSON.stringify(said)
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
