import { CarillonError, type JobFilter, type JobState, jobStates } from '@carillon/contract'
import type { Runner } from '../../../db/pool.js'
import { statement } from '../../../db/statement.js'
import { idRangeOf } from '../../../platform/ids.js'

const routesStatement = statement<{ tenant: number; kind: string; name: string }, { route: number }>(
  new URL('./routes-of-target.sql', import.meta.url),
)

/** A filter as the statements of the list take it; null stands for no condition. */
export interface Conditions {
  pattern: string | null
  id_from: string | null
  id_to: string | null
  tags: string[] | null
  managed_by: string | null
  kind: string | null
  routes: number[] | null
}

export interface ReadFilter {
  conditions: Conditions
  states: JobState[]
  /** Whether so much of an id is searched for that few jobs have it. */
  rareId: boolean
  /** Whether there is any condition beside the state. */
  narrows: boolean
  /** Whether an index finds what the filter takes; a search only where `searchable`. */
  indexed: (searchable: boolean) => boolean
}

export async function readFilter(runner: Runner, tenant: number, filter: JobFilter): Promise<ReadFilter> {
  const { search, tags, state, target, managed_by: managedBy } = filter
  const { kind, name } = targetOf(target)
  const range = search === undefined ? null : idRangeOf(search.toLowerCase())
  const routes =
    kind === null || name === null ? null : await runner.run(routesStatement, { tenant, kind, name })
  const conditions: Conditions = {
    pattern: search === undefined ? null : `%${search.replace(/[\\%_]/g, '\\$&')}%`,
    id_from: range?.from ?? null,
    id_to: range?.to ?? null,
    tags: tags === undefined || tags.length === 0 ? null : tags,
    managed_by: managedBy ?? null,
    kind: name === null ? kind : null,
    routes: routes === null ? null : routes.map(({ route }) => route),
  }
  const { pattern, ...others } = conditions
  return {
    conditions,
    rareId: range !== null && search !== undefined && search.replace(/^job_/i, '').length >= instantDigits,
    states: state === undefined ? [...jobStates] : [state],
    narrows: pattern !== null || Object.values(others).some((value) => value !== null),
    indexed: (searchable) =>
      others.tags !== null ||
      others.managed_by !== null ||
      others.routes !== null ||
      (searchable && search !== undefined && hasTrigrams(search)),
  }
}

/** An id begins with its instant, to the millisecond: so many digits. A shorter part is common to the jobs of a day or a year. */
const instantDigits = 10

/** An index by threes of characters knows nothing of a text that has no three of a word in a row. */
function hasTrigrams(search: string): boolean {
  return /[\p{L}\p{N}]{3}/u.test(search)
}

const kinds = ['http', 'task', 'command']

function targetOf(target: string | undefined): { kind: string | null; name: string | null } {
  if (target === undefined) return { kind: null, name: null }
  const [, kind = '', name = null] = /^([a-z]+)(?::(.+))?$/s.exec(target) ?? []
  if (!kinds.includes(kind) || (kind === 'command' && name !== null)) {
    throw new CarillonError('validation_failed', {
      detail: `query:target is ${JSON.stringify(target)}.`,
      errors: [{ pointer: 'query:target', message: 'must be http, task, command, http:HOST or task:NAME' }],
    })
  }
  return { kind, name: kind === 'http' && name !== null ? name.toLowerCase() : name }
}
