import { CarillonError } from '@carillon/contract'
import { booleans, int2s, int4s, int8s, jsonbs, texts, uuids } from '../../db/binary-arrays.js'
import { isUniqueViolation } from '../../db/errors.js'
import type { Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { partitionOf } from '../../platform/partition.js'
import type { Candidate } from './candidate.js'
import { auditParams, farMs, type Fate, type Quota } from './create.js'

interface FreshParams {
  tenant: number
  uuids: Buffer
  partitions: Buffer
  names: Buffer
  definitions: Buffer
  one_offs: Buffer
  routes: Buffer
  nows: Buffer
  froms: Buffer
  dues: Buffer
  start_ats: Buffer
  far_ms: number
  zone_data: string
  min_interval: number | null
  max_jobs: number
  per_second: number | null
  look: boolean
  job_ids: Buffer
  /** For each job the place of its caller in the four that follow; 0: nobody is calling. */
  callers: Buffer
  actors: string[]
  actor_keys: (string | null)[]
  actions: string[]
  request_ids: string[]
}

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

const freshStatement = statement<FreshParams, FreshRow>(new URL('./create-fresh-jobs.sql', import.meta.url))

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
  { tenant, quota, look }: { tenant: number; quota: Quota; look: boolean },
  candidates: readonly Candidate[],
  routes: readonly number[],
): Promise<Fate[] | null> {
  const { job_ids, callers, ...audit } = auditParams(candidates)
  try {
    const [row] = await runner.run(freshStatement, {
      tenant,
      uuids: uuids(candidates.map(({ uuid }) => uuid)),
      partitions: int2s(candidates.map(({ uuid }) => partitionOf(uuid))),
      names: texts(candidates.map(({ job }) => job.definition.name)),
      definitions: jsonbs(candidates.map(({ text }) => text)),
      one_offs: booleans(candidates.map(({ job }) => job.oneOff)),
      routes: int4s(routes),
      nows: int8s(candidates.map(({ now }) => now)),
      froms: int8s(candidates.map(({ job }) => job.from)),
      dues: int8s(candidates.map(({ job }) => job.due)),
      start_ats: int8s(candidates.map(({ job }) => job.startAt)),
      far_ms: farMs,
      zone_data: process.versions.tz ?? 'unknown',
      min_interval: candidates[0]?.terms.minInterval ?? null,
      max_jobs: quota.maxJobs,
      per_second: quota.createPerSecond === 0 ? null : quota.createPerSecond,
      look,
      job_ids: texts(job_ids),
      callers: int4s(callers),
      ...audit,
    })
    if (row === undefined)
      throw new CarillonError('internal_error', { detail: `There is no tenant ${tenant}.` })
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
