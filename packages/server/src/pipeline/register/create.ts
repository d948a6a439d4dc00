import type { JobInput } from '@carillon/contract'
import type { Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { jobIdOf } from '../../platform/ids.js'
import { partitionOf } from '../../platform/partition.js'
import { auditRow, describeJob } from '../audit.js'
import { nameTaken } from './change.js'
import type { NewJob } from './definition.js'

interface CreateParams {
  uuids: string[]
  tenants: number[]
  partitions: number[]
  names: string[]
  definitions: string[]
  one_offs: boolean[]
  routes: number[]
  froms: number[]
  dues: number[]
  start_ats: number[]
  zone_data: string
  actors: (string | null)[]
  actor_keys: (string | null)[]
  actions: (string | null)[]
  details: (string | null)[]
  request_ids: (string | null)[]
  subjects: (string | null)[]
}

const createStatement = statement<CreateParams, { uuid: string }>(
  new URL('./create-jobs.sql', import.meta.url),
)

/** Stores a job with its timer, unless a live one has its name. */
export async function createJob(
  runner: Runner,
  { uuid, tenant, route }: { uuid: string; tenant: number; route: number },
  { name }: JobInput,
  job: NewJob,
): Promise<void> {
  const noted = auditRow({ tenant, subject: jobIdOf(uuid), detail: describeJob(job.definition) })
  const [made] = await runner.run(createStatement, {
    uuids: [uuid],
    tenants: [tenant],
    partitions: [partitionOf(uuid)],
    names: [job.definition.name],
    definitions: [JSON.stringify(job.definition)],
    one_offs: [job.oneOff],
    routes: [route],
    froms: [job.from],
    dues: [job.due],
    start_ats: [job.startAt],
    zone_data: process.versions.tz ?? 'unknown',
    actors: [noted?.actor ?? null],
    actor_keys: [noted?.actor_key ?? null],
    actions: [noted?.action ?? null],
    details: [noted?.detail ?? null],
    request_ids: [noted?.request_id ?? null],
    subjects: [noted?.subject ?? null],
  })
  if (made === undefined) throw nameTaken(undefined, name)
}
