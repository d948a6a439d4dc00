import { CarillonError, type JobDefinition, type JobInput } from '@carillon/contract'
import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import type { Situation } from './change.js'
import { replaceDefinition } from './definition.js'
import { changeDefinition, type EditPorts, sameDefinition } from './edit.js'

export interface NamedJob {
  uuid: string
  state: Situation['state']
  definition: JobDefinition
}

export const namedStatement = statement<{ tenant: number; name: string }, NamedJob>(
  new URL('./named-job.sql', import.meta.url),
)

export interface UpsertPorts extends EditPorts {
  database: Database
  /** Registers the job; throws job_name_taken where a live one has its name. */
  create: (tenant: number, input: JobInput) => Promise<string>
}

/** The version that must be the present one; 'any' asks only that there is one. */
export type ExpectedVersion = number | 'any' | undefined

/** Others may create, rename or remove the job of the name meanwhile: then it is looked at again, so often. */
const mostTries = 10

/**
 * Makes the live job of a name have this definition: registers it, gives it a new version, or leaves it as it is. A job that
 * has ended with this very definition is left, too: it did what it was registered for, and must not do it again because it
 * is applied again.
 */
export async function upsertJob(
  ports: UpsertPorts,
  tenant: number,
  input: JobInput,
  expected: ExpectedVersion,
): Promise<{ uuid: string; created: boolean }> {
  for (let tries = 1; ; tries++) {
    try {
      return await tryOnce(ports, tenant, input, expected)
    } catch (error) {
      if (!(error instanceof MovedOn) && !hasMovedOn(error)) throw error
      if (tries < mostTries) continue
      throw error instanceof MovedOn ? changedTooOften(input.name) : error
    }
  }
}

async function tryOnce(
  ports: UpsertPorts,
  tenant: number,
  input: JobInput,
  expected: ExpectedVersion,
): Promise<{ uuid: string; created: boolean }> {
  const { name } = input
  const [found] = await ports.database.run(namedStatement, { tenant, name })
  const same =
    found !== undefined && sameDefinition(replaceDefinition(found.definition, input), found.definition)
  if (same && found.state !== 'cancelled' && expected === undefined)
    return { uuid: found.uuid, created: false }
  if (found !== undefined && isLive(found)) {
    const { uuid } = found
    await changeDefinition(
      ports,
      { tenant, uuid },
      {
        to: (situation) => {
          if (situation.name !== name || !isLive(situation)) throw new MovedOn()
          return replaceDefinition(situation.definition, input)
        },
        ...(typeof expected === 'number' && { version: expected }),
      },
    )
    return { uuid, created: false }
  }
  if (expected !== undefined) throw noneToMatch(name)
  return { uuid: await ports.create(tenant, input), created: true }
}

/** Under the lock the job is not the live one of the name any more. */
class MovedOn extends Error {}

function isLive({ state }: Pick<Situation, 'state'>): boolean {
  return state === 'active' || state === 'paused'
}

function hasMovedOn(error: unknown): boolean {
  return (
    error instanceof CarillonError &&
    (error.code === 'job_name_taken' || error.code === 'job_not_found' || error.code === 'job_cancelled')
  )
}

function noneToMatch(name: string): CarillonError {
  return new CarillonError('job_version_conflict', {
    detail: `No live job is named ${JSON.stringify(name)}, so none has the version that If-Match asks for.`,
  })
}

function changedTooOften(name: string): CarillonError {
  return new CarillonError('job_version_conflict', {
    detail: `The job named ${JSON.stringify(name)} changed hands at every try.`,
  })
}
