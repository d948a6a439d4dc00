import type {
  DeadLetter,
  DeadLetterDetail,
  DeadLetterGroup,
  DeadLetterTarget,
  JobDefinition,
} from '@carillon/contract'
import { jobIdOf, type RunIdentity, runIdOf } from '../../platform/ids.js'
import { utcText } from '../../time/iso-text.js'

export interface LetterRow extends RunIdentity {
  version: number
  attempts: number
  max_attempts: number
  round: number
  catch_up: boolean
  reason: string
  error: string | null
  fingerprint: string
  dead_at: number
  own_payload: boolean
  uuid: string
  name: string
}

export interface LetterDetailRow extends LetterRow {
  result: unknown
  pattern: string
  /** JSON text, because the payload may itself be null. */
  payload: string | null
  definition: JobDefinition | null
  job_state: DeadLetterDetail['job_state']
  current_version: number
}

export interface GroupRow extends RunIdentity {
  fingerprint: string
  letters: number
  jobs: number
  first_dead_at: number
  last_dead_at: number
  pattern: string
  reason: string
  error: string | null
}

/** A dead letter with all that is needed to understand it, but for its attempts, which are in the ledger. */
export interface LetterDetail extends DeadLetter {
  pattern: string
  result: unknown
  payload: unknown
  target: DeadLetterTarget
  definition: unknown
  job_state: DeadLetterDetail['job_state']
  current_version: number
}

export function letterView(row: LetterRow): DeadLetter {
  return {
    run_id: runIdOf(row),
    job_id: jobIdOf(row.uuid),
    job: row.name,
    scheduled_at: utcText(row.due),
    dead_at: utcText(row.dead_at),
    reason: row.reason,
    error: row.error,
    fingerprint: row.fingerprint,
    attempts: row.attempts,
    max_attempts: row.max_attempts,
    round: row.round + 1,
    version: row.version,
    catch_up: row.catch_up,
    payload_changed: row.own_payload,
  }
}

export function letterDetail(row: LetterDetailRow): LetterDetail {
  return {
    ...letterView(row),
    pattern: row.pattern,
    result: row.result,
    payload: row.payload === null ? (row.definition?.payload ?? null) : (JSON.parse(row.payload) as unknown),
    target: row.definition?.target ?? null,
    definition: row.definition,
    job_state: row.job_state,
    current_version: row.current_version,
  }
}

export function groupView(row: GroupRow): DeadLetterGroup {
  return {
    fingerprint: row.fingerprint,
    pattern: row.pattern,
    count: row.letters,
    jobs: row.jobs,
    first_dead_at: utcText(row.first_dead_at),
    last_dead_at: utcText(row.last_dead_at),
    reason: row.reason,
    example: { run_id: runIdOf(row), error: row.error },
  }
}
