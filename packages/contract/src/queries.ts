import type { JobState } from './job.js'
import type { RunStatus } from './run.js'

/** What lists answer. */
export interface Page<Item> {
  data: Item[]
  next_cursor: string | null
}

/** To what lists are narrowed, as clients say it. */
export interface JobQuery {
  search?: string
  tag?: string | readonly string[]
  state?: JobState
  /** `http`, `task`, `command`, `http:HOST` or `task:NAME`. */
  target?: string
  managed_by?: string
  order?: 'newest' | 'next_run' | 'name'
  limit?: number
}

export interface RunListQuery {
  status?: RunStatus
  job_id?: string
  /** Of jobs that have this tag now, or all of them. */
  tag?: string | readonly string[]
  after?: string
  before?: string
  limit?: number
}

export interface ForecastQuery {
  by?: 'minute' | 'hour'
  from?: string
  target?: string
  /** Of jobs that have this tag, or all of them. */
  tag?: string | readonly string[]
}

export interface AuditQuery {
  actor?: string
  action?: string
  subject?: string
  after?: string
  before?: string
  limit?: number
}
