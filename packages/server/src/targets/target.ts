import type { Sql } from '@carillon/sdk'
import type { StopSwitch } from './stop-switch.js'

/** One try of a run, as a target needs to know it. */
export interface Attempt {
  tenant: number
  jobId: string
  jobName: string
  runId: string
  /** The tick, in milliseconds since the epoch. The same over all attempts of a run. */
  scheduledAt: number
  attempt: number
  token: number
  catchUp: boolean
  idempotencyKey: string
  payload: unknown
  timeoutMs: number
  /** Asks whether the run is still held and wanted. If it is not, the signal of the delivery aborts. */
  confirm?: () => Promise<void>
  /** What a task can do in the database beside its run. Targets of other kinds have no use for it. */
  effects?: AttemptEffects
}

/** Effects of one attempt: `once` and `transaction` as a handler knows them, and how the attempt stands after them. */
export interface AttemptEffects {
  once(key: string, effect: () => unknown, signal: AbortSignal): Promise<unknown>
  transaction(work: (sql: Sql) => unknown, signal: AbortSignal): Promise<unknown>
  /** Whether there is, or was, a transaction. */
  readonly begun: boolean
  /** Waits for a transaction that was begun. True when the run was closed by it: then nobody else may close it. */
  settled(): Promise<boolean>
}

export type Outcome =
  /** `result` is JSON that the database can store, already capped. */
  | { kind: 'success'; result: unknown }
  /** The handler's transaction has closed the run, whatever else the handler did. */
  | { kind: 'closed' }
  | {
      kind: 'failed'
      error: string
      /** Whether another attempt can end differently, as far as the target can tell. */
      retryable: boolean
      retryAfterMs?: number
      result?: unknown
      reason: FailureReason
    }

/** Stable words: they are stored with the run and shown by the API. */
export type FailureReason =
  | 'http_status'
  | 'timeout'
  | 'connection'
  | 'blocked_address'
  | 'invalid_target'
  /** The secrets to sign with could not be had. Nothing was sent. */
  | 'signing'
  | 'task_error'
  | 'task_non_retryable'
  | 'command_exit'
  /** Ended by a signal that Carillon did not send, e.g. for want of memory. */
  | 'command_signal'
  /** The program could not be started. */
  | 'command_start'
  /** The caller's signal ended the attempt. Whoever aborted knows whether to try again. */
  | 'cancelled'
  | 'unserved'

/** Where runs are delivered. `deliver` never rejects because of what the other side does. */
export interface Target<T> {
  readonly type: string
  deliver(target: T, attempt: Attempt, stop: StopSwitch): Promise<Outcome>
  /** Frees what is held. Called when no delivery is wanted any more: one still under way is cut off. */
  close(): Promise<void>
}
