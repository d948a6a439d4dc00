import { CarillonError } from '@carillon/contract'
import type { Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import type { Caller } from '../../platform/caller.js'
import { partitionOf } from '../../platform/partition.js'
import type { Answer } from '../idempotency.js'
import { type Candidate, locationOf } from './candidate.js'

/** What every job is stored with, and what all of them are judged by. */
export interface JobParams {
  tenant: number
  uuids: string[]
  partitions: number[]
  names: string[]
  definitions: string[]
  one_offs: boolean[]
  routes: readonly number[]
  nows: number[]
  froms: number[]
  dues: number[]
  start_ats: number[]
  far_ms: number
  zone_data: string
  min_interval: number | null
  max_jobs: number
  per_second: number | null
  look: boolean
}

/** Who registers each. */
export interface AuditParams {
  job_ids: string[]
  /** For each job the place of its caller in the four that follow; 0: nobody is calling. */
  callers: number[]
  actors: string[]
  actor_keys: (string | null)[]
  actions: string[]
  request_ids: string[]
}

interface CreateParams extends JobParams, AuditParams {
  key_places: number[]
  keys: string[]
  requests: Buffer[]
  heads: string[]
  unserved: string[]
  tails: string[]
  locations: string[]
}

interface CreateRow {
  place: number
  outcome:
    | 'created'
    | 'taken'
    | 'over_quota'
    | 'over_rate'
    | 'uncounted'
    | 'other_terms'
    | 'known'
    | 'key_in_use'
  served: boolean | null
  min_interval: number | null
  max_jobs: number
  wait_ms: number | null
  recounted_at: number
  known_request: Buffer | null
  known_status: number
  known_body: string
  known_location: string | null
}

/** What became of one candidate in the statement. */
export type Fate =
  | { outcome: 'created'; served: boolean }
  | { outcome: 'uncounted' | 'key_in_use' }
  /** It was granted a place in the count as of then, and did not use it. */
  | { outcome: 'taken'; countedAt: number }
  | { outcome: 'over_quota'; maxJobs: number }
  | { outcome: 'over_rate'; waitMs: number }
  | { outcome: 'other_terms'; minInterval: number | null }
  | { outcome: 'known'; known: Answer & { request: Buffer } }

export interface Quota {
  maxJobs: number
  /** 0: any number. */
  createPerSecond: number
}

/**
 * A job that starts later than this after its registration is not told to the schedulers. A minute more than the longest horizon
 * that one can have (CARILLON_HORIZON_SECONDS): it comes to the job by reading on, also when that is committed only while it does.
 */
export const farMs = 3_660_000

const createStatement = statement<CreateParams, CreateRow>(new URL('./create-jobs.sql', import.meta.url))

export interface CreateCall {
  tenant: number
  quota: Quota
  /** Whether workers serve them is wanted, too. */
  look: boolean
}

export function jobParams(
  { tenant, quota, look }: CreateCall,
  candidates: readonly Candidate[],
  routes: readonly number[],
): JobParams {
  return {
    tenant,
    uuids: candidates.map(({ uuid }) => uuid),
    partitions: candidates.map(({ uuid }) => partitionOf(uuid)),
    names: candidates.map(({ input }) => input.name),
    definitions: candidates.map(({ text }) => text),
    one_offs: candidates.map(({ kind }) => kind.oneOff),
    routes,
    nows: candidates.map(({ kind }) => kind.now),
    froms: candidates.map(({ kind }) => kind.from),
    dues: candidates.map(({ kind }) => kind.due),
    start_ats: candidates.map(({ startAt }) => startAt),
    far_ms: farMs,
    zone_data: process.versions.tz ?? 'unknown',
    min_interval: candidates[0]?.terms.minInterval ?? null,
    max_jobs: quota.maxJobs,
    per_second: quota.createPerSecond === 0 ? null : quota.createPerSecond,
    look,
  }
}

/**
 * Stores jobs of one tenant with their timers, each that can be, and says in their order what became of them. All were
 * checked by the same terms.
 */
export async function createJobs(
  runner: Runner,
  call: CreateCall,
  candidates: readonly Candidate[],
  routes: readonly number[],
): Promise<Fate[]> {
  const rows = await runner.run(createStatement, {
    ...jobParams(call, candidates, routes),
    ...auditParams(candidates),
    ...keyParams(candidates),
  })
  const fates: Fate[] = []
  for (const row of rows) fates[row.place - 1] = fateOf(row)
  if (rows.length !== candidates.length)
    throw new CarillonError('internal_error', { detail: `There is no tenant ${call.tenant}.` })
  return fates
}

/** The jobs of one call have one caller, calls of several people may share the statement. */
export function auditParams(candidates: readonly Candidate[]): AuditParams {
  const places = new Map<Caller, number>()
  const callers = candidates.map(({ caller }) => {
    if (caller === null) return 0
    const known = places.get(caller)
    if (known !== undefined) return known
    places.set(caller, places.size + 1)
    return places.size
  })
  const each = [...places.keys()]
  return {
    job_ids: candidates.map(({ jobId }) => jobId),
    callers,
    actors: each.map(({ actor }) => actor),
    actor_keys: each.map(({ key }) => key),
    actions: each.map(({ operation }) => operation),
    request_ids: each.map(({ requestId }) => requestId),
  }
}

function keyParams(candidates: readonly Candidate[]) {
  const keyed = candidates.flatMap((candidate, at) =>
    candidate.terms.call === undefined
      ? []
      : [
          {
            place: at + 1,
            call: candidate.terms.call,
            ...candidate.answer(),
            location: locationOf(candidate.jobId),
          },
        ],
  )
  return {
    key_places: keyed.map(({ place }) => place),
    keys: keyed.map(({ call }) => call.key),
    requests: keyed.map(({ call }) => call.request),
    heads: keyed.map(({ head }) => head),
    unserved: keyed.map(({ unserved }) => unserved),
    tails: keyed.map(({ tail }) => tail),
    locations: keyed.map(({ location }) => location),
  }
}

function fateOf(row: CreateRow): Fate {
  const { outcome } = row
  switch (outcome) {
    case 'created':
      return { outcome, served: row.served ?? true }
    case 'taken':
      return { outcome, countedAt: row.recounted_at }
    case 'over_quota':
      return { outcome, maxJobs: row.max_jobs }
    case 'over_rate':
      return { outcome, waitMs: row.wait_ms ?? 0 }
    case 'other_terms':
      return { outcome, minInterval: row.min_interval }
    case 'known': {
      const { known_request: request, known_status: status, known_body: body } = row
      if (request === null) throw new Error('An answer is kept without its request.')
      return { outcome, known: { request, status, body, location: row.known_location } }
    }
    default:
      return { outcome }
  }
}
