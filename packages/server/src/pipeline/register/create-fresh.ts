import { CarillonError } from '@carillon/contract'
import { isUniqueViolation } from '../../db/errors.js'
import type { Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import type { Caller } from '../../platform/caller.js'
import { notedTogether } from '../audit-together.js'
import { isKeptMeanwhile } from '../idempotency.js'
import { type Candidate, locationOf } from './candidate.js'
import {
  type AuditParams,
  auditParams,
  type CreateCall,
  type Fate,
  type JobParams,
  jobParams,
} from './create.js'

interface FreshRow {
  as_checked: boolean
  min_interval: number | null
  max_jobs: number
  keys_free: boolean
  /** How many, from the first, are created. */
  granted: number | null
  full_up: boolean | null
  wait_ms: number | null
  served: number[] | null
}

interface FreshParams extends JobParams, AuditParams {
  /** They are noted in one row of the audit. */
  together: boolean
  keys: string[]
  requests: Buffer[]
  heads: string[]
  unserved: string[]
  tails: string[]
  locations: string[]
}

const freshStatement = statement<FreshParams, FreshRow>(new URL('./create-fresh-jobs.sql', import.meta.url))

/** Statements of a tenant that look at each name and key, after one that found a name taken or a key known: there may be more of them. */
const carefulAfterOne = 16

/** Whose jobs may be stored without a look at each name and key: everybody's, but for those who had one taken a moment ago. */
export class FreshNames {
  private readonly careful = new Map<number, number>()

  likely(tenant: number): boolean {
    const left = this.careful.get(tenant)
    if (left === undefined) return true
    if (left > 1) this.careful.set(tenant, left - 1)
    else this.careful.delete(tenant)
    return false
  }

  wasTaken(tenant: number): void {
    this.careful.set(tenant, carefulAfterOne)
  }
}

/**
 * As createJobs, where a statement may fail: `isNotFresh` of its failure, and nothing was done. Null: somebody is at work under one of
 * the idempotency keys, and nothing was done either.
 */
export async function createFreshJobs(
  runner: Runner,
  call: CreateCall,
  candidates: readonly Candidate[],
  routes: readonly number[],
): Promise<Fate[] | null> {
  const [row] = await runner.run(freshStatement, {
    ...jobParams(call, candidates, routes),
    ...noted(candidates),
    ...keyParams(candidates),
  })
  if (row === undefined)
    throw new CarillonError('internal_error', { detail: `There is no tenant ${call.tenant}.` })
  return row.keys_free ? fatesOf(row, routes) : null
}

/** A name is taken, or an idempotency key has an answer. */
export function isNotFresh(error: unknown): boolean {
  return isUniqueViolation(error, 'jobs_live_name') || isKeptMeanwhile(error)
}

type KeyParams = Pick<FreshParams, 'keys' | 'requests' | 'heads' | 'unserved' | 'tails' | 'locations'>
const noKeys: KeyParams = { keys: [], requests: [], heads: [], unserved: [], tails: [], locations: [] }
const noRequest = Buffer.alloc(0)
const noAnswer = { head: '', unserved: '', tail: '' }

function keyParams(candidates: readonly Candidate[]): KeyParams {
  if (candidates.every(({ terms }) => terms.call === undefined)) return noKeys
  const answers = candidates.map((one) => (one.terms.call === undefined ? noAnswer : one.answer()))
  return {
    keys: candidates.map(({ terms }) => terms.call?.key ?? ''),
    requests: candidates.map(({ terms }) => terms.call?.request ?? noRequest),
    heads: answers.map(({ head }) => head),
    unserved: answers.map(({ unserved }) => unserved),
    tails: answers.map(({ tail }) => tail),
    locations: candidates.map(({ jobId }) => locationOf(jobId)),
  }
}

/** Jobs of one actor share a row of the audit. */
function noted(candidates: readonly Candidate[]): AuditParams & { together: boolean } {
  const [first] = candidates
  const caller = first?.caller ?? null
  if (first === undefined || caller === null || !haveOneActor(candidates, caller))
    return { ...auditParams(candidates), together: false }
  const oneCall = candidates.every((one) => one.caller === caller)
  return {
    together: true,
    job_ids: [first.jobId],
    callers: [],
    actors: [caller.actor],
    actor_keys: [caller.key],
    actions: [caller.operation],
    request_ids: oneCall ? [caller.requestId] : candidates.map((one) => one.caller?.requestId ?? ''),
  }
}

function haveOneActor(candidates: readonly Candidate[], { actor, key, operation }: Caller): boolean {
  return (
    candidates.every(
      ({ caller }) =>
        caller !== null && caller.actor === actor && caller.key === key && caller.operation === operation,
    ) && notedTogether(candidates.map(({ uuid }) => uuid))
  )
}

/** The first `granted` are created, the others refused. */
export function fatesOf(row: Omit<FreshRow, 'keys_free'>, routes: readonly number[]): Fate[] {
  const { granted, min_interval: minInterval, max_jobs: maxJobs } = row
  if (!row.as_checked) return routes.map(() => ({ outcome: 'other_terms', minInterval }))
  if (granted === null) return routes.map(() => ({ outcome: 'uncounted' }))
  const served = row.served === null ? null : new Set(row.served)
  const refused: Fate =
    row.full_up === true
      ? { outcome: 'over_quota', maxJobs }
      : { outcome: 'over_rate', waitMs: row.wait_ms ?? 0 }
  const createdServed: Fate = { outcome: 'created', served: true }
  const createdUnserved: Fate = { outcome: 'created', served: false }
  return routes.map((route, at) => {
    if (at >= granted) return refused
    return (served?.has(route) ?? true) ? createdServed : createdUnserved
  })
}
