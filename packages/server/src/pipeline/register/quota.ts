import { CarillonError } from '@carillon/contract'
import type { Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'

const lockStatement = statement<{ tenant: number; every_ms: number }, { tenant: number }>(
  new URL('./lock-job-count.sql', import.meta.url),
)
const recountStatement = statement<{ tenant: number }, { jobs: number }>(
  new URL('./recount-jobs.sql', import.meta.url),
)

const closeStatement = statement<{ tenant: number }, { tenant: number }>(
  new URL('./close-job-count.sql', import.meta.url),
)

const giveBackStatement = statement<
  { tenant: number; places: number; recounted_at: number },
  { jobs: number }
>(new URL('./give-back-places.sql', import.meta.url))

/** Jobs that ended by themselves are found by counting, at most so often while a tenant is at its quota. */
const recountEveryMs = 1_000

/** Deleting frees a place at once, an end within a second: this is for callers that can only wait. */
const quotaRetrySeconds = 10

/** Counts a tenant's live jobs anew. False where that was done just now. Inside a transaction, and alone in it or last. */
export async function recount(inside: Runner, tenant: number): Promise<boolean> {
  const locked = await inside.run(lockStatement, { tenant, every_ms: recountEveryMs })
  if (locked.length === 0) return false
  await inside.run(closeStatement, { tenant })
  await inside.run(recountStatement, { tenant })
  return true
}

/** Places that were granted in the count as of `countedAt` and not used. */
export async function giveBack(
  runner: Runner,
  tenant: number,
  unused: { places: number; countedAt: number },
): Promise<void> {
  await runner.run(giveBackStatement, { tenant, places: unused.places, recounted_at: unused.countedAt })
}

export function overQuota(maxJobs: number): CarillonError {
  return new CarillonError('job_quota_exceeded', {
    detail: `The tenant may have ${maxJobs} live jobs and has them.`,
    retryAfterSeconds: quotaRetrySeconds,
  })
}

export function overRate(waitMs: number): CarillonError {
  return new CarillonError('rate_limited', {
    detail: `The next job may be created in ${Math.ceil(waitMs)} ms.`,
    retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)),
  })
}
