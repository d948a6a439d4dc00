import type { House } from './use-house.js'

/** Rows of the hot tables, as a person at psql would see them. */
export interface LedgerRow {
  recorded_at: number
  due: number
  due_to: number | null
  ticks: number
  outcome: string
  final: boolean
  attempt: number
  round: number
  next_due: number | null
  epoch: number
  token: number | null
  worker: number | null
  catch_up: boolean
  reason: string | null
  error: string | null
  result: unknown
  started_at: number | null
  available_at: number | null
  fired_at: number | null
}

export interface QueueRow {
  due: number
  job: number
  next_due: number | null
  version: number
  epoch: number
  slot: number | null
  places: number | null
  attempt: number
  max_attempts: number
  available_at: number
  fired_at: number
  holder: number | null
  token: number | null
  catch_up: boolean
  cancel_requested: boolean
  last_error: string | null
  partition: number
}

export interface TimerRow {
  due: number | null
  start_at: number | null
  rev: number
  runs: number
  accounted_through: number
  partition: number
}

export interface ReplayRow {
  replay: number
  kind: 'catch_up' | 'backfill'
  from_ms: number
  to_ms: number
  cursor_ms: number
  done: number
  total: number
  state: 'running' | 'paused' | 'done' | 'cancelled'
  version: number
  reason: string
}

export function ledgerOf(house: House, job: { key: number }): Promise<LedgerRow[]> {
  return house.query<LedgerRow>(
    'SELECT * FROM carillon.ledger WHERE job = $1 ORDER BY due, recorded_at, attempt, final',
    [job.key],
  )
}

export function queueOf(house: House, job: { key: number }): Promise<QueueRow[]> {
  return house.query<QueueRow>('SELECT * FROM carillon.queue WHERE job = $1 ORDER BY due', [job.key])
}

/** What is left to catch up, and what was caught up, oldest first. */
export function replaysOf(house: House, job: { key: number }): Promise<ReplayRow[]> {
  return house.query<ReplayRow>('SELECT * FROM carillon.replays WHERE job = $1 ORDER BY from_ms', [job.key])
}

export async function timerOf(house: House, job: { key: number }): Promise<TimerRow> {
  const [row] = await house.query<TimerRow>('SELECT * FROM carillon.timers WHERE job = $1', [job.key])
  if (row === undefined) throw new Error(`The job ${job.key} has no timer.`)
  return row
}

export async function countOf(house: House, table: 'queue' | 'ledger' | 'dead_letters'): Promise<number> {
  const [row] = await house.query<{ queue: number; ledger: number; dead_letters: number }>(
    `SELECT (SELECT count(*)::int FROM carillon.queue) AS queue, (SELECT count(*)::int FROM carillon.ledger) AS ledger,
            (SELECT count(*)::int FROM carillon.dead_letters) AS dead_letters`,
  )
  return row?.[table] ?? 0
}

export interface PutOptions {
  count?: number
  availableAt?: number
  attempt?: number
  /** Runs that need the overlap place, and have given it back. */
  needPlace?: boolean
}

/** Puts runs into the queue without a fire: due one millisecond after another, ready now unless told otherwise. */
export async function putRuns(house: House, job: { key: number }, options: PutOptions = {}): Promise<void> {
  const now = await house.now()
  const { count = 1, availableAt = now, attempt = 1, needPlace = false } = options
  await house.query(
    `INSERT INTO carillon.queue (due, job, tenant, route, version, epoch, slot, places, attempt, max_attempts,
                                 available_at, fired_at, partition)
     SELECT $2::bigint - n, job, tenant, route, version, 1, NULL, $3, $4, 9, $5, $2, partition
     FROM carillon.jobs, generate_series(1, $6) n WHERE job = $1`,
    [job.key, now, needPlace ? 1 : null, attempt, availableAt, count],
  )
}
