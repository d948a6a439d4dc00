/**
 * Shapes that the SDK speaks and whose schemas belong to other files of this package. As soon as an area has its own file
 * with the same name in it, the entry here goes.
 */
import type { Job, JobInput, JobState } from './job.js'
import type { Problem } from './problem.js'
import type { Run, RunStatus } from './run.js'

export interface Page<Item> {
  data: Item[]
  next_cursor: string | null
}

/** Fields of a job beside its schedule, its target and its policies. */
export interface JobLabels {
  description?: string
  tags?: string[]
  /** Who owns the definition: a sync changes and prunes only its own. */
  managed_by?: string
}

export interface JobQuery {
  search?: string
  tag?: string | readonly string[]
  state?: JobState | 'cancelled'
  /** `http`, `task`, `command`, `http:HOST` or `task:NAME`. */
  target?: string
  managed_by?: string
  order?: 'newest' | 'next_run' | 'name'
  limit?: number
}

export interface JobVersion {
  version: number
  created_at: string
  current: boolean
  changed: string[]
  definition: Record<string, unknown>
}

export interface PreviewInput
  extends Partial<
    Pick<
      JobInput,
      | 'timezone'
      | 'dst_gap'
      | 'dst_overlap'
      | 'exclude'
      | 'on_excluded'
      | 'starts_at'
      | 'ends_at'
      | 'max_runs'
      | 'jitter_seconds'
    >
  > {
  schedule: JobInput['schedule']
  count?: number
  from?: string
}

export interface SchedulePreview {
  ticks: { at: string; local: string; note: string | null }[]
  warnings: string[]
}

export interface ScheduleExplanation {
  description: string
  warnings: string[]
}

export interface BulkInput {
  jobs: (JobInput & JobLabels)[]
  atomic?: boolean
  on_conflict?: 'fail' | 'skip'
}

export interface BulkResult {
  index: number
  status: 'created' | 'failed' | 'skipped'
  job_id?: string
  name: string
  next_run_at?: string | null
  error?: Problem
}

export interface BulkAnswer {
  created: number
  failed: number
  skipped: number
  results: BulkResult[]
}

export interface PlannedTick {
  due: string
  start_at: string
  due_local: string
  state: 'planned' | 'skipped' | 'moved' | 'staged'
  note?: string
}

export interface BackfillInput {
  from: string
  to: string
  per_minute?: number
  /** Default true: not those that already succeeded. */
  only_missing?: boolean
  reason?: string
}

export interface BackfillCount {
  ticks: number
  first: string | null
  last: string | null
  excluded_done: number
  estimated_seconds: number
}

export interface Backfill {
  backfill_id: string
  job_id: string
  from: string
  to: string
  state: 'running' | 'paused' | 'done' | 'cancelled'
  total: number
  done: number
  failed: number
  per_minute: number
  created_at: string
  eta_seconds: number | null
}

export interface ForecastQuery {
  by?: 'minute' | 'hour'
  from?: string
  tag?: string
  target?: string
}

export interface LoadForecast {
  by: 'minute' | 'hour'
  from: string
  to: string
  jobs: number
  buckets: { at: string; firings: number }[]
  hottest: { at: string; firings: number; sample: { job_id: string; name: string }[] }[]
  sampled: boolean
}

export type LoadSuggestion = Record<string, unknown>

export interface OperationFilter {
  search?: string
  tags?: string[]
  state?: JobState | 'cancelled'
  target?: string
  managed_by?: string
  job_ids?: string[]
}

export interface OperationInput {
  action: 'pause' | 'resume' | 'cancel' | 'delete' | 'trigger' | 'tag' | 'untag'
  filter: OperationFilter
  /** An empty filter needs this: all jobs are meant. */
  all?: boolean
  reason?: string
  until?: string
  tags?: string[]
}

export interface OperationCount {
  matched: number
  sample: { job_id: string; name: string }[]
}

export interface Operation {
  operation_id: string
  action: OperationInput['action']
  filter: OperationFilter
  state: 'running' | 'done' | 'cancelled' | 'failed'
  total: number
  done: number
  failed: number
  errors: { job_id: string; code: string; detail: string }[]
  created_at: string
  finished_at: string | null
}

export interface RunListQuery {
  status?: RunStatus
  job_id?: string
  tag?: string | readonly string[]
  after?: string
  before?: string
  limit?: number
}

export type RunPage = Page<Run>

interface StatsWindow {
  fired: number
  success: number
  failed: number
  dead: number
  skipped: number
  lag_ms: { p50: number | null; p95: number | null; p99: number | null; max: number | null }
}

export interface Stats {
  now: string
  jobs: { active: number; paused: number; ended: number; cancelled: number }
  queue: {
    ready: number
    running: number
    waiting_retry: number
    parked: number
    oldest_ready_ms: number | null
  }
  last_minute: StatsWindow
  last_hour: StatsWindow
  dead_letters: number
  nodes: { alive: number }
  catch_up: { replays: number; ticks: number }
}

export type KeyRole = 'admin' | 'operator' | 'viewer' | 'worker'

export interface KeyInput {
  name: string
  role: KeyRole
  expires_at?: string
}

export interface ApiKey {
  key_id: string
  name: string
  role: KeyRole
  created_at: string
  expires_at: string | null
  revoked_at?: string | null
}

/** With the key in clear, which is shown this once. */
export interface RevealedApiKey extends ApiKey {
  key: string
}

export interface TenantInput {
  name: string
  max_jobs?: number | null
  create_per_second?: number | null
  min_interval_seconds?: number | null
  weight?: number
  max_concurrent?: number | null
}

export interface Tenant {
  name: string
  max_jobs: number | null
  create_per_second: number | null
  min_interval_seconds: number | null
  weight: number
  max_concurrent: number | null
}

export interface AuditQuery {
  actor?: string
  action?: string
  subject?: string
  after?: string
  before?: string
  limit?: number
}

export interface AuditEntry {
  entry_id: string
  at: string
  actor: string
  action: string
  subject: string
  detail: unknown
  request_id: string | null
}

/** What a job shows beside the fields that every server knows. */
export type LabelledJob = Job & {
  description?: string | null
  tags?: string[]
  managed_by?: string | null
}
