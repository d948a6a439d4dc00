import type { JobDefinition } from '@carillon/contract'
import type { RunIdentity } from '../platform/ids.js'

/** What the stages say to each other about a run. They never import one another: main.ts hands these across. */

/** A run that a worker holds, as the lease statement answers it. */
export interface LeasedRun extends RunIdentity {
  tenant: number
  version: number
  epoch: number
  attempt: number
  maxAttempts: number
  /** How often it was re-driven. */
  round: number
  availableAt: number
  /** When it was made, or re-driven. */
  firedAt: number
  token: number
  /** Where its row lies, as long as nobody changes it. Null: not known. */
  place: string | null
  holder: number
  catchUp: boolean
  /** In place of the definition's, where it was given with a re-drive. */
  payload?: unknown
  /** What its host's protection says of it. Left out where nothing was asked. */
  guard?: RunGuard
  /** Where whoever made the run had it at hand: it need not be read. */
  definition?: RunDefinition
}

export interface RunGuard {
  /** The one run by which a breaker that was open finds out whether its host is well. */
  probe: boolean
  /** No attempt at the host may take longer; null: as long as the job says. */
  timeoutMs: number | null
}

/** The version of the job that a run was fired with. */
export interface RunDefinition {
  jobId: string
  definition: JobDefinition
}

/** How one attempt ended, as the worker saw it. */
export interface AttemptResult {
  run: LeasedRun
  definition: JobDefinition | null
  outcome: 'success' | 'failed' | 'cancelled'
  startedAt: number | null
  finishedAt: number
  retryable: boolean
  retryAfterMs: number | null
  reason: string | null
  error: string | null
  result: unknown
  /** Nobody said how it ended, and the server ended it: recorded without an end, so that a word that comes later is stale. */
  unheard?: boolean
}

/** What the database made of a result: `stale` when the lease had gone to another attempt meanwhile. */
export type CloseAnswer = 'closed' | 'retrying' | 'already' | 'stale'
