import type { JobDefinition } from '@carillon/contract'
import { isDeepStrictEqual } from 'node:util'
import type { Runner } from '../db/pool.js'
import { statement } from '../db/statement.js'
import { type Caller, currentCaller } from '../platform/caller.js'

const recordStatement = statement<AuditRow, never>(new URL('./record-audit.sql', import.meta.url))

/** A row of the audit, as record-audit.sql takes it and as statements take it that write their own. */
export interface AuditRow {
  tenant: number
  actor: string
  actor_key: string | null
  action: string
  subject: string
  /** JSON. */
  detail: string | null
  request_id: string | null
}

export interface Change {
  tenant: number
  /** What was changed: an id as the API gives it, or a name. */
  subject: string
  /** What of it. Nothing secret: see `describeJob` for definitions. */
  detail?: object
}

/**
 * Notes a change that the present caller makes, in the transaction that makes it. What the fleet does by itself has no
 * caller and is not noted: the ledger and the events tell of that.
 */
export async function audit(runner: Runner, change: Change): Promise<void> {
  const row = auditRow(change)
  if (row !== null) await runner.run(recordStatement, row)
}

/** For those who write the row in a statement of their own, perhaps later and with those of others. Null: nobody is calling. */
export function auditRow(
  { tenant, subject, detail }: Change,
  caller: Caller | null = currentCaller(),
): AuditRow | null {
  if (caller === null) return null
  return {
    tenant,
    actor: caller.actor,
    actor_key: caller.key,
    action: caller.operation,
    subject,
    detail: detail === undefined ? null : JSON.stringify(detail),
    request_id: caller.requestId,
  }
}

/** The fields of a definition that differ, each as it was and as it is. */
export function describeChange(
  before: JobDefinition,
  after: JobDefinition,
): Record<string, { from: unknown; to: unknown }> {
  const from = describeJob(before)
  const to = describeJob(after)
  const whole = {
    before: before as unknown as Record<string, unknown>,
    after: after as unknown as Record<string, unknown>,
  }
  const fields = Object.keys({ ...whole.before, ...whole.after }).filter(
    (field) => !isDeepStrictEqual(whole.before[field], whole.after[field]),
  )
  return Object.fromEntries(
    fields.map((field) => [field, { from: from[field] ?? null, to: to[field] ?? null }]),
  )
}

/** A definition without what may be secret: values of headers and of the environment, queries and passwords of URLs, payloads. */
export function describeJob(definition: JobDefinition): Record<string, unknown> {
  const { target, payload, ...rest } = definition
  return { ...rest, target: describeTarget(target), payload: payload === null ? null : hidden }
}

const hidden = '…'
/** Of a target everything else may hold a secret: a header, a body, an argument, a variable. */
const shown = new Set(['type', 'task', 'method', 'follow_redirects'])

function describeTarget(target: JobDefinition['target']): Record<string, unknown> {
  const fields = Object.entries(target as Record<string, unknown>).map(([field, value]) => {
    if (shown.has(field) || value === null) return [field, value] as const
    return [field, field === 'url' && typeof value === 'string' ? plainUrl(value) : namesOnly(value)] as const
  })
  return Object.fromEntries(fields)
}

function namesOnly(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return hidden
  return Object.fromEntries(Object.keys(value).map((name) => [name, hidden]))
}

function plainUrl(text: string): string {
  try {
    const { protocol, host, pathname } = new URL(text)
    return `${protocol}//${host}${pathname}`
  } catch {
    return hidden
  }
}
