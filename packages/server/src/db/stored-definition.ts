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
  max_retries: 3,
  retry_backoff: 'exponential',
  retry: { base_ms: 1_000, factor: 2, cap_ms: 300_000 },
  on_lost: 'retry',
  missed_window: 'RUN_ONCE',
  max_missed: 10,
  misfire_grace_seconds: null,
  overlap_policy: 'SKIP',
  max_concurrent: null,
  priority: 5,
  timeout_seconds: 300,
  expect: null,
} satisfies Partial<JobDefinition>
// One object stands in many definitions: nobody may write into it.
for (const value of [unsaid, ...Object.values(unsaid)]) Object.freeze(value)

/**
 * A definition as it is stored, in JSON. Statements that read a field of it say what a missing one means. The fields stand in the
 * order in which jsonb keeps them, by length and then by letters: Postgres need not sort them.
 */
export function storedText(definition: JobDefinition): string {
  return JSON.stringify({
    name: definition.name,
    tags: unlessOrdinary(definition.tags, unsaid.tags),
    retry: unlessOrdinary(definition.retry, unsaid.retry),
    anchor: definition.anchor,
    expect: unlessOrdinary(definition.expect, unsaid.expect),
    target: definition.target,
    dst_gap: unlessOrdinary(definition.dst_gap, unsaid.dst_gap),
    ends_at: unlessOrdinary(definition.ends_at, unsaid.ends_at),
    exclude: unlessOrdinary(definition.exclude, unsaid.exclude),
    on_lost: unlessOrdinary(definition.on_lost, unsaid.on_lost),
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
    max_retries: unlessOrdinary(definition.max_retries, unsaid.max_retries),
    on_excluded: unlessOrdinary(definition.on_excluded, unsaid.on_excluded),
    missed_window: unlessOrdinary(definition.missed_window, unsaid.missed_window),
    retry_backoff: unlessOrdinary(definition.retry_backoff, unsaid.retry_backoff),
    jitter_seconds: unlessOrdinary(definition.jitter_seconds, unsaid.jitter_seconds),
    max_concurrent: unlessOrdinary(definition.max_concurrent, unsaid.max_concurrent),
    overlap_policy: unlessOrdinary(definition.overlap_policy, unsaid.overlap_policy),
    timeout_seconds: unlessOrdinary(definition.timeout_seconds, unsaid.timeout_seconds),
    fire_window_seconds: unlessOrdinary(definition.fire_window_seconds, unsaid.fire_window_seconds),
    misfire_grace_seconds: unlessOrdinary(definition.misfire_grace_seconds, unsaid.misfire_grace_seconds),
    idempotency_key_template: unlessOrdinary(
      definition.idempotency_key_template,
      unsaid.idempotency_key_template,
    ),
  } satisfies Record<keyof JobDefinition, unknown>)
}

/** The JSON of a definition as it is stored, but for its name and its payload: what jobs that are alike have in common. */
export interface StoredParts {
  /** Between the name and the payload. */
  readonly middle: string
  /** After the payload. */
  readonly end: string
}

const noName = '{"name":""'
/** No text that is stored has a NUL in it, and within a text a quote is escaped: this stands nowhere else. */
const somePayload = '\0'
const sayingIt = `,"payload":${JSON.stringify(somePayload)}`

export function storedParts(definition: JobDefinition): StoredParts {
  const text = storedText({ ...definition, name: '', payload: somePayload })
  const at = text.indexOf(sayingIt)
  return { middle: text.slice(noName.length, at), end: text.slice(at + sayingIt.length) }
}

/** As storedText, of a job that has so much in common with others. */
export function textOf({ name, payload }: Named, { middle, end }: StoredParts): string {
  const said = payload === null || payload === undefined ? '' : `,"payload":${JSON.stringify(payload)}`
  return `{"name":${JSON.stringify(name)}${middle}${said}${end}`
}

interface Named {
  name: string
  payload?: unknown
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
