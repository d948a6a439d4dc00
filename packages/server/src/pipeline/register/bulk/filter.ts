import { jobStates, type OperationFilter } from '@carillon/contract'
import type { Runner } from '../../../db/pool.js'
import { statement } from '../../../db/statement.js'
import { uuidOf } from '../../../platform/ids.js'

export interface Matched {
  job: number
  uuid: string
  name: string
}

const matchStatement = statement<
  {
    tenant: number
    after_job: number
    through_job: number
    states: string[]
    pattern: string | null
    kind: string | null
    target_name: string | null
    tags: string[] | null
    managed_by: string | null
    uuids: string[] | null
    counted: boolean
    most: number
  },
  Matched & { matched: number | null }
>(new URL('./match-jobs.sql', import.meta.url))

const allStates = [...jobStates]

export interface Stretch {
  after: number
  through: number
  most: number
}

/** The next jobs that the filter takes, by key. */
export function matching(
  runner: Runner,
  tenant: number,
  filter: OperationFilter,
  { after, through, most }: Stretch,
): Promise<Matched[]> {
  const range = { after_job: after, through_job: through, most }
  return runner.run(matchStatement, { tenant, ...range, ...paramsOf(filter), counted: false })
}

/** How many there are, and the first of them. */
export async function countMatching(
  runner: Runner,
  tenant: number,
  filter: OperationFilter,
  { through, most }: Omit<Stretch, 'after'>,
): Promise<{ matched: number; sample: Matched[] }> {
  const range = { after_job: 0, through_job: through, most }
  const sample = await runner.run(matchStatement, { tenant, ...range, ...paramsOf(filter), counted: true })
  return { matched: sample[0]?.matched ?? 0, sample }
}

/** Whether every job would match: a condition that lets everything through is none. */
export function saysNothing(filter: OperationFilter): boolean {
  const { states, ...conditions } = paramsOf(filter)
  return states === allStates && Object.values(conditions).every((condition) => condition === null)
}

function paramsOf(filter: OperationFilter) {
  const { search, state, target, tags, managed_by: managedBy, job_ids: jobIds } = filter
  const colon = target?.indexOf(':') ?? -1
  const named = target !== undefined && colon >= 0
  return {
    states: state === undefined ? allStates : [state],
    pattern: search === undefined ? null : `%${search.replace(/[\\%_]/g, '\\$&')}%`,
    kind: named ? target.slice(0, colon) : (target ?? null),
    target_name: named ? nameOf(target.slice(0, colon), target.slice(colon + 1)) : null,
    tags: tags === undefined || tags.length === 0 ? null : tags,
    managed_by: managedBy ?? null,
    // An id that is none matches no job.
    uuids: jobIds === undefined ? null : jobIds.flatMap((jobId) => uuidOf(jobId) ?? []),
  }
}

/** Hosts are stored in small letters, as addresses are read. */
function nameOf(kind: string, name: string): string {
  return kind === 'http' ? name.toLowerCase() : name
}
