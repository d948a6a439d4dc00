import type { JobDefinition } from '@carillon/contract'
import type { House } from './use-house.js'

export interface CrowdOptions {
  count: number
  /** When the first of them is due and starts. */
  startAt: number
  /** How far apart they start; all at one instant unless told otherwise. */
  apartMs?: number
  /** All in this partition; spread over all of them unless told otherwise. */
  partition?: number
  definition?: Partial<JobDefinition>
}

/** Makes many jobs like one that is there, without the time it takes to register each. Answers their keys, by start. */
export async function crowd(
  house: House,
  like: { key: number },
  { count, startAt, apartMs = 0, partition, definition = {} }: CrowdOptions,
): Promise<number[]> {
  const jobs = await house.query<{ job: number }>(
    `WITH made AS (
       INSERT INTO carillon.jobs (id, tenant, partition, name, definition, one_off, route, effective_from, zone_data,
                                  changed_at)
       SELECT gen_random_uuid(), 1, coalesce($5, n % 256), 'crowd ' || gen_random_uuid(), definition || $6::jsonb, false,
              route, effective_from, zone_data, 0
       FROM carillon.jobs, generate_series(1, $3::int) n WHERE job = $1
       RETURNING job, partition
     ),
     numbered AS (SELECT *, row_number() OVER (ORDER BY job) - 1 AS at FROM made)
     INSERT INTO carillon.timers (job, tenant, due, start_at, accounted_through, partition)
     SELECT job, 1, $2::bigint + at * $4::int, $2::bigint + at * $4::int, $2::bigint - 86400000, partition
     FROM numbered
     RETURNING job`,
    [like.key, startAt, count, apartMs, partition ?? null, JSON.stringify(definition)],
  )
  return jobs.map(({ job }) => job).sort((a, b) => a - b)
}
