import type { CommandTarget } from '@carillon/contract'
import { type IsTraced, traceparent } from './signing.js'
import type { Attempt } from './target.js'
import { utcText } from '../time/iso-text.js'

export type Environment = Readonly<Record<string, string | undefined>>

/** All that a command gets from the worker's own environment: anything else there may be a secret. */
const inheritedNames = ['PATH', 'HOME', 'LANG', 'TZ'] as const

/** Linux takes 128 KiB per variable, with its name; a larger payload comes on standard input only. */
const mostPayloadBytes = 100_000

export function payloadText(attempt: Attempt): string {
  return JSON.stringify(attempt.payload ?? null)
}

export function commandEnvironment(
  inherited: Environment,
  target: CommandTarget,
  attempt: Attempt,
  isTraced?: IsTraced,
): Record<string, string> {
  const ours: Record<string, string> = {
    CARILLON_JOB_ID: attempt.jobId,
    CARILLON_JOB_NAME: attempt.jobName,
    CARILLON_RUN_ID: attempt.runId,
    CARILLON_SCHEDULED_AT: utcText(attempt.scheduledAt),
    CARILLON_ATTEMPT: String(attempt.attempt),
    CARILLON_FENCING_TOKEN: String(attempt.token),
    CARILLON_IDEMPOTENCY_KEY: attempt.idempotencyKey,
    CARILLON_CATCH_UP: String(attempt.catchUp),
    TRACEPARENT: traceparent(attempt, isTraced),
  }
  const payload = payloadText(attempt)
  if (Buffer.byteLength(payload) <= mostPayloadBytes) ours['CARILLON_PAYLOAD'] = payload
  const base = Object.fromEntries(inheritedNames.map((name) => [name, inherited[name]]))
  const all = { ...base, ...target.env, ...ours }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as Record<
    string,
    string
  >
}
