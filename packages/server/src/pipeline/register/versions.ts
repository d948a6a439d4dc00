import { isDeepStrictEqual } from 'node:util'
import { CarillonError, type JobDefinition, type JobVersion, type RollbackInput } from '@carillon/contract'
import type { Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { jobIdOf } from '../../platform/ids.js'
import { utcText } from '../../time/iso-text.js'
import { type JobName, notFound } from './change.js'
import { patchDefinition } from './definition.js'
import { changeDefinition, type EditPorts } from './edit.js'
import { definitionView } from './job-view.js'

interface VersionRow {
  version: number
  created_at: number
  reason: string | null
  definition: JobDefinition
  current: boolean
}

const listStatement = statement<
  { tenant: number; uuid: string; before: number; most: number },
  { job: number } & (VersionRow | { [Name in keyof VersionRow]: null })
>(new URL('./list-versions.sql', import.meta.url))
const oldVersionStatement = statement<
  { tenant: number; job: number; version: number },
  { definition: JobDefinition }
>(new URL('./old-version.sql', import.meta.url))

/** Above every version. */
export const allVersions = 2 ** 31 - 1

/** Versions below one, newest first, and whether there are more. */
export async function listVersions(
  runner: Runner,
  job: JobName,
  { before, limit }: { before: number; limit: number },
): Promise<{ versions: JobVersion[]; more: boolean }> {
  // One more: each is compared with the one before it.
  const found = await runner.run(listStatement, { ...job, before, most: limit + 1 })
  if (found.length === 0) throw notFound(jobIdOf(job.uuid))
  const rows = found.flatMap((row) => (row.version === null ? [] : [row]))
  return {
    versions: rows.slice(0, limit).map((row, at) => versionView(row, rows[at + 1])),
    more: rows.length > limit,
  }
}

export async function getVersion(runner: Runner, job: JobName, version: number): Promise<JobVersion> {
  const { versions } = await listVersions(runner, job, { before: version + 1, limit: 1 })
  const [found] = versions
  if (found === undefined || found.version !== version) throw noSuchVersion(job, version)
  return found
}

/** Makes the definition of an older version that of a new one. */
export function rollBack(ports: EditPorts, job: JobName, { version, reason }: RollbackInput): Promise<void> {
  return changeDefinition(ports, job, {
    reason: reason ?? `rolled back to version ${version}`,
    to: async (situation, runner) => {
      if (version === situation.version) return situation.definition
      const [old] = await runner.run(oldVersionStatement, { tenant: job.tenant, job: situation.job, version })
      if (old === undefined) throw noSuchVersion(job, version)
      return patchDefinition(old.definition, {})
    },
  })
}

function versionView(row: VersionRow, before: VersionRow | undefined): JobVersion {
  const definition = definitionView(row.definition)
  return {
    version: row.version,
    created_at: utcText(row.created_at),
    current: row.current,
    reason: row.reason,
    changed: before === undefined ? [] : changedFields(definition, definitionView(before.definition)),
    definition,
  }
}

export function changedFields(now: object, before: object): string[] {
  const old = new Map(Object.entries(before))
  const entries = Object.entries(now) as [string, unknown][]
  return entries
    .filter(([name, value]) => !isDeepStrictEqual(value, old.get(name)))
    .map(([name]) => name)
    .sort()
}

function noSuchVersion({ uuid }: JobName, version: number): CarillonError {
  return new CarillonError('job_version_not_found', {
    detail: `The job ${jobIdOf(uuid)} has no version ${version}.`,
  })
}
