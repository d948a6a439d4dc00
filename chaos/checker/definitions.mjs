// What a job's definition says. It is stored without what has its ordinary value: what a missing field means is written down here
// once more, not asked of the product.

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
}

/** @param {object | null} definition as it is stored */
export function whole(definition) {
  return definition === null ? null : { ...unsaid, ...definition }
}

/** The tables with every definition whole. */
export function wholeTables(tables) {
  const filled = ['jobs', 'segments', 'versions'].map((name) => [
    name,
    tables[name].map((row) => ({ ...row, definition: whole(row.definition) })),
  ])
  return { ...tables, ...Object.fromEntries(filled), incarnations: tables.incarnations.map(withProcess) }
}

/** A worker over HTTP tells its process in its name. */
function withProcess(incarnation) {
  const isRemote = incarnation.tenant != null
  return isRemote
    ? { ...incarnation, isRemote, pid: Number(incarnation.host.split('/').at(-1)) }
    : incarnation
}

/** How many runs of a version may go on at once. */
export function placesOf({ overlap_policy, max_concurrent }) {
  return overlap_policy === 'ALLOW' ? (max_concurrent ?? Number.POSITIVE_INFINITY) : 1
}
