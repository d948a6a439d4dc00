import type { Job } from '@carillon/sdk'
import {
  complete,
  type Definition,
  type DefinitionField,
  definitionFields,
  definitionOf,
  same,
} from './complete.js'
import type { Declared } from './declared.js'
import { isLive } from '../find-job.js'

/** One value of a field that would become another; a field that is an object is told leaf by leaf. */
export interface Change {
  /** "schedule", or "target.headers.X-One". */
  readonly path: string
  /** Undefined where there is none. */
  readonly before: unknown
  readonly after: unknown
}

export type Step =
  | { readonly action: 'create'; readonly declared: Declared }
  | {
      readonly action: 'change'
      readonly declared: Declared
      readonly job: Job
      readonly fields: readonly DefinitionField[]
      readonly changes: readonly Change[]
      /** True: is to be paused; false: is to be resumed. */
      readonly pause?: boolean
    }
  | { readonly action: 'keep'; readonly declared: Declared; readonly job: Job }
  | { readonly action: 'delete'; readonly job: Job }

export interface PlanOptions {
  /** Fields that the server does not know: they are neither compared nor sent. */
  readonly unknown: ReadonlySet<string>
  /** Jobs that have this owner and are not declared any more are deleted. */
  readonly pruneOwner?: string
}

/** What is to be done so that the server has what is declared: pure, and stable for equal input. */
export function planOf(
  declared: readonly Declared[],
  present: ReadonlyMap<string, Job>,
  { unknown, pruneOwner }: PlanOptions,
): Step[] {
  const steps = declared.map((one) => stepOf(one, present.get(one.input.name), unknown))
  if (pruneOwner === undefined) return steps
  const named = new Set(declared.map(({ input }) => input.name))
  const gone = [...present.values()].filter(
    (job) => !named.has(job.name) && isLive(job) && ownerOf(job) === pruneOwner,
  )
  return [...steps, ...gone.map((job) => ({ action: 'delete', job }) as const)]
}

function stepOf(declared: Declared, job: Job | undefined, unknown: ReadonlySet<string>): Step {
  if (job === undefined) return { action: 'create', declared }
  const before = definitionOf(job)
  const after = completeBeside(declared, job)
  const fields = changedFields(before, after).filter((field) => !unknown.has(field))
  if (!isLive(job))
    return isDone(job, fields) ? { action: 'keep', declared, job } : { action: 'create', declared }
  const changes = fields
    .filter((field) => toldOnce(field, fields, before, after))
    .flatMap((field) => differences(field, before[field], after[field]))
  const isPaused = job.state === 'paused'
  const pause = declared.paused === undefined || declared.paused === isPaused ? undefined : declared.paused
  if (fields.length === 0 && pause === undefined) return { action: 'keep', declared, job }
  const change: Change[] = pause === undefined ? [] : [{ path: 'paused', before: isPaused, after: pause }]
  return {
    action: 'change',
    declared,
    job,
    fields,
    changes: [...changes, ...change],
    ...(pause !== undefined && { pause }),
  }
}

/** It ended by itself, as it was to: it must not begin again because it is applied again, be it by its first owner. */
function isDone(job: Job, fields: readonly DefinitionField[]): boolean {
  return fields.every((field) => field === 'managed_by' && ownerOf(job) === null)
}

function ownerOf(job: Job): string | null {
  return (job as { managed_by?: string | null }).managed_by ?? null
}

/** A job keeps its owner where nobody says another. */
function completeBeside({ input }: Declared, job: Job): Definition {
  const owner = ownerOf(job)
  return complete(input.managed_by === undefined && owner !== null ? { ...input, managed_by: owner } : input)
}

function changedFields(before: Definition, after: Definition): DefinitionField[] {
  return definitionFields.filter((field) => !same(before[field], after[field]))
}

/** `retry` repeats what the two short fields say: it is told only where it says more. */
function toldOnce(
  field: DefinitionField,
  fields: readonly DefinitionField[],
  before: Definition,
  after: Definition,
): boolean {
  if (field !== 'retry') return true
  const rest = (retry: unknown) => ({ ...(retry as object), max_attempts: 0, backoff: '' })
  return (
    !same(rest(before.retry), rest(after.retry)) ||
    !fields.some((other) => /^(max_retries|retry_backoff)$/.test(other))
  )
}

function differences(path: string, before: unknown, after: unknown): Change[] {
  if (!isPlain(before) || !isPlain(after)) return [{ path, before, after }]
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  return names
    .filter((name) => !same(before[name], after[name]))
    .flatMap((name) => differences(`${path}.${name}`, before[name], after[name]))
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export interface PlanCounts {
  create: number
  change: number
  keep: number
  delete: number
}

export function countsOf(steps: readonly Step[]): PlanCounts {
  const counts: PlanCounts = { create: 0, change: 0, keep: 0, delete: 0 }
  for (const { action } of steps) counts[action]++
  return counts
}

/** Whether anything would be written. */
export function isEmpty(steps: readonly Step[]): boolean {
  return steps.every(({ action }) => action === 'keep')
}
