import type { JobDefinition } from '@carillon/contract'

/** Rows as the simulated store keeps them: the columns of the real tables that the services under test read or write. */

interface Stored {
  /** Where this version of the row lies, as a ctid says it. Another version lies elsewhere. */
  place: string
}

export interface PartitionRow extends Stored {
  partition: number
  epoch: number
  owner: number | null
  expires_at: number
  taken_at: number
}

export interface IncarnationRow extends Stored {
  incarnation: number
  host: string
  pid: number
  roles: string[]
  tasks: string[]
  commands: boolean
  state: 'alive' | 'left' | 'dead'
  beat: number
  beat_at: number
  session_lock: boolean
  started_at: number
  ended_at: number | null
  rescued_at: number | null
}

export interface JobRow extends Stored {
  job: number
  uuid: string
  tenant: number
  partition: number
  state: 'active' | 'ended'
  version: number
  route: number
  definition: JobDefinition
  changed_at: number
  ended_at: number | null
}

export interface TimerRow extends Stored {
  job: number
  tenant: number
  due: number | null
  start_at: number | null
  rev: number
  runs: number
  accounted_through: number
  partition: number
}

export interface QueueRow extends Stored {
  due: number
  job: number
  origin: number
  seq: number
  tenant: number
  route: number
  version: number
  epoch: number
  next_due: number | null
  slot: number | null
  places: number | null
  attempt: number
  max_attempts: number
  round: number
  available_at: number
  fired_at: number
  holder: number | null
  token: number | null
  leased_at: number | null
  catch_up: boolean
  last_error: string | null
  partition: number
}

export type Outcome = 'success' | 'failed' | 'dead' | 'cancelled' | 'skipped' | 'stale'

export interface LedgerRow {
  recorded_at: number
  tenant: number
  job: number
  due: number
  origin: number
  seq: number
  outcome: Outcome
  final: boolean
  round: number
  attempt: number
  max_attempts: number | null
  version: number
  epoch: number
  next_due: number | null
  token: number | null
  worker: number | null
  due_to: number | null
  ticks: number
  available_at: number | null
  fired_at: number | null
  leased_at: number | null
  started_at: number | null
  finished_at: number | null
  reason: string | null
  error: string | null
  result: string | null
  partition: number
}

export interface LetterRow extends Stored {
  due: number
  job: number
  attempts: number
  max_attempts: number
  round: number
  reason: string
  error: string | null
  dead_at: number
}

/** What a table's rows are found by. */
export type Key = number | string

export const runKey = (run: { job: number; due: number; origin: number; seq: number }): string =>
  `${run.job}/${run.due}/${run.origin}/${run.seq}`
