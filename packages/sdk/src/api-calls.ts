import { type AccountCalls, accountCalls } from './account.js'
import { type AlertCalls, alertCalls } from './alerts.js'
import { type CalendarCalls, calendarCalls } from './calendars.js'
import { type DeadLetterCalls, deadLetterCalls } from './dead-letters.js'
import { type InsightCalls, insightCalls } from './insight.js'
import { type JobCalls, jobCalls } from './jobs.js'
import { type OperationCalls, operationCalls } from './operations.js'
import { type RunCalls, runCalls } from './runs.js'
import { type SigningSecretCalls, signingSecretCalls } from './signing-secrets.js'
import { type TargetCalls, targetCalls } from './targets.js'
import { type TenancyCalls, tenancyCalls } from './tenancy.js'
import { type Call, send, type TransportOptions } from './transport.js'

/** Every call of the API. */
export interface ApiCalls
  extends AccountCalls,
    AlertCalls,
    CalendarCalls,
    DeadLetterCalls,
    InsightCalls,
    JobCalls,
    OperationCalls,
    RunCalls,
    SigningSecretCalls,
    TargetCalls,
    TenancyCalls {}

export function apiCalls(transport: TransportOptions): ApiCalls {
  const exchange = (what: Call) => send(transport, what)
  const call = async <T>(what: Call) => (await exchange(what)).value as T
  return {
    ...jobCalls(call, exchange),
    ...accountCalls(call),
    ...alertCalls(call),
    ...calendarCalls(call),
    ...deadLetterCalls(call),
    ...insightCalls(call, transport),
    ...operationCalls(call, transport.sleep),
    ...runCalls(call, transport),
    ...signingSecretCalls(call),
    ...targetCalls(call),
    ...tenancyCalls(call),
  }
}
