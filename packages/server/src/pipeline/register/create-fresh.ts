import { CarillonError } from '@carillon/contract'
import { isUniqueViolation } from '../../db/errors.js'
import type { Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import type { Candidate } from './candidate.js'
import { type CreateCall, type Fate, type JobParams, jobParams } from './create.js'

interface FreshRow {
  as_checked: boolean
  min_interval: number | null
  max_jobs: number
  /** How many, from the first, are created. */
  granted: number | null
  full_up: boolean | null
  wait_ms: number | null
  served: number[] | null
}

const freshStatement = statement<JobParams, FreshRow>(new URL('./create-fresh-jobs.sql', import.meta.url))

/** Statements of a tenant that look at each name, after one that found a name taken: there may be more of them. */
const carefulAfterOne = 16

/** Whose jobs may be stored without a look at each name: everybody's, but for those who had one taken a moment ago. */
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
 * As createJobs, of candidates without idempotency keys and on a connection of their own. Null: a name was taken, nothing was
 * done.
 */
export async function createFreshJobs(
  runner: Runner,
  call: CreateCall,
  candidates: readonly Candidate[],
  routes: readonly number[],
): Promise<Fate[] | null> {
  try {
    const [row] = await runner.run(freshStatement, jobParams(call, candidates, routes))
    if (row === undefined)
      throw new CarillonError('internal_error', { detail: `There is no tenant ${call.tenant}.` })
    return fatesOf(row, routes)
  } catch (error) {
    if (isUniqueViolation(error, 'jobs_live_name')) return null
    throw error
  }
}

function fatesOf(row: FreshRow, routes: readonly number[]): Fate[] {
  const { granted, min_interval: minInterval, max_jobs: maxJobs } = row
  if (!row.as_checked) return routes.map(() => ({ outcome: 'other_terms', minInterval }))
  if (granted === null) return routes.map(() => ({ outcome: 'uncounted' }))
  const served = row.served === null ? null : new Set(row.served)
  const refused: Fate =
    row.full_up === true
      ? { outcome: 'over_quota', maxJobs }
      : { outcome: 'over_rate', waitMs: row.wait_ms ?? 0 }
  return routes.map((route, at) =>
    at < granted ? { outcome: 'created', served: served?.has(route) ?? true } : refused,
  )
}
