import { CarillonError } from '@carillon/contract'
import { isAboutARow, isDeadlock } from '../../db/errors.js'
import type { Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import type { Caller } from '../../platform/caller.js'
import { notedTogether } from '../audit-together.js'
import type { Candidate } from './candidate.js'
import { type CreateCall, type Fate, type JobParams, jobParams } from './create.js'
import { fatesOf } from './create-fresh.js'
import { giveBack } from './quota.js'

const takeStatement = statement<
  { tenant: number; places: number; min_interval: number | null; max_jobs: number },
  {
    as_checked: boolean
    rated: boolean
    min_interval: number | null
    max_jobs: number
    granted: number | null
    full_up: boolean | null
    counted_at: number | null
  }
>(new URL('./take-places.sql', import.meta.url))

interface StoreParams extends Omit<JobParams, 'min_interval' | 'max_jobs' | 'per_second' | 'look'> {
  counted_at: number
  first_id: string
  actor: string
  actor_key: string | null
  action: string
  request_id: string
}

const storeStatement = statement<StoreParams, { counted: boolean }>(
  new URL('./store-placed-jobs.sql', import.meta.url),
)

/** Fewer are not worth a second statement. */
const fewest = 100

/** Who registers all of these, where they may be stored under places that are taken before: the jobs of one call, without keys. */
export function placedBy({ look, quota }: CreateCall, candidates: readonly Candidate[]): Caller | null {
  const caller = candidates[0]?.caller ?? null
  if (caller === null || look || quota.createPerSecond !== 0 || candidates.length < fewest) return null
  const alike = candidates.every((one) => one.caller === caller && one.terms.call === undefined)
  return alike && notedTogether(candidates.map(({ uuid }) => uuid)) ? caller : null
}

/**
 * As createFreshJobs, beside other statements of the tenant. Null: it cannot be done so, and nothing was done. Where the statement fails,
 * the places are given back only if it surely did: a number that is too high is found by the next count, one that is too low by nobody.
 */
export async function createPlacedJobs(
  runner: Runner,
  call: CreateCall,
  {
    candidates,
    routes,
    caller,
  }: { candidates: readonly Candidate[]; routes: readonly number[]; caller: Caller },
): Promise<Fate[] | null> {
  const { tenant, quota } = call
  const [taken] = await runner.run(takeStatement, {
    tenant,
    places: candidates.length,
    min_interval: candidates[0]?.terms.minInterval ?? null,
    max_jobs: quota.maxJobs,
  })
  if (taken === undefined)
    throw new CarillonError('internal_error', { detail: `There is no tenant ${tenant}.` })
  if (taken.rated && taken.as_checked) return null
  const fates = fatesOf({ ...taken, wait_ms: null, served: null }, routes)
  const { granted, counted_at: countedAt } = taken
  if (granted === null || granted === 0 || countedAt === null) return fates
  const placed = granted === candidates.length ? candidates : candidates.slice(0, granted)
  const {
    min_interval: _i,
    max_jobs: _m,
    per_second: _p,
    look: _l,
    ...params
  } = jobParams(call, placed, routes.slice(0, granted))
  try {
    const [stored] = await runner.run(storeStatement, {
      ...params,
      counted_at: countedAt,
      first_id: placed[0]?.jobId ?? '',
      actor: caller.actor,
      actor_key: caller.key,
      action: caller.operation,
      request_id: caller.requestId,
    })
    return stored?.counted === true ? fates : null
  } catch (error) {
    // Lost, they are found by the next count.
    if (isAboutARow(error) || isDeadlock(error))
      await giveBack(runner, tenant, { places: granted, countedAt }).catch(() => undefined)
    throw error
  }
}
