import type { Client, Job, JobPatch } from '@carillon/sdk'
import { ApiError } from '@carillon/sdk'
import type { Abilities } from '../calls/abilities.js'
import { complete } from './complete.js'
import type { Declared, DeclaredInput, Remark } from './declared.js'
import type { Step } from './plan.js'
import { type WarnedJob, warningsOfJob, warningsOfKept } from './warnings.js'

export interface Tools {
  readonly client: Client
  readonly abilities: Abilities
  readonly pauseReason: string
  /** Told after every step that was carried out. */
  readonly onStep: (step: Step) => void
}

export interface Outcome {
  readonly done: { action: 'created' | 'changed' | 'deleted'; job_id: string; name: string }[]
  readonly failed: Remark[]
  readonly warnings: WarnedJob[]
}

const order = { create: 0, change: 1, delete: 2, keep: 3 } as const

/**
 * New jobs first, then changes, deletions last: an end in between leaves more than there should be, never less. A step
 * that the server refuses is told by its place in the file, and the others are carried out all the same; but nothing is
 * deleted once a step has failed.
 */
export async function carryOut(steps: readonly Step[], tools: Tools): Promise<Outcome> {
  const outcome: Outcome = { done: [], failed: [], warnings: warningsOfKept(steps) }
  const todo = steps.filter((step) => step.action !== 'keep')
  todo.sort((a, b) => order[a.action] - order[b.action])
  for (const step of todo) {
    if (step.action === 'delete' && outcome.failed.length > 0) continue
    try {
      const job = await carryOutOne(step, tools)
      const action = step.action === 'create' ? 'created' : step.action === 'delete' ? 'deleted' : 'changed'
      outcome.done.push({ action, job_id: job.job_id, name: job.name })
      if (step.action !== 'delete') outcome.warnings.push(...warningsOfJob(job))
      tools.onStep(step)
    } catch (error) {
      // Only what is said about this very job; everything else would be the same for the next one.
      if (!(error instanceof ApiError) || !isAboutTheJob(error)) throw error
      outcome.failed.push(...refusalsOf(step, error))
    }
  }
  return outcome
}

function isAboutTheJob({ status, code }: ApiError): boolean {
  return status === 409 || status === 422 || code === 'validation_failed' || code === 'job_not_found'
}

async function carryOutOne(step: Exclude<Step, { action: 'keep' }>, tools: Tools): Promise<Job> {
  const { client } = tools
  if (step.action === 'delete') {
    await client.jobs.delete(step.job.job_id)
    return step.job
  }
  const job =
    step.action === 'create'
      ? await put(step.declared, null, tools)
      : step.fields.length === 0
        ? step.job
        : await put(step.declared, step.job, tools)
  const pause = step.action === 'create' ? step.declared.paused === true || undefined : step.pause
  if (pause === undefined) return job
  return pause ? client.jobs.pause(job.job_id, { reason: tools.pauseReason }) : client.jobs.resume(job.job_id)
}

/** Makes the job what is declared: a new one, or a new version; by its name where the server can, by an edit otherwise. */
async function put(declared: Declared, job: Job | null, { client, abilities }: Tools): Promise<Job> {
  const input = known(declared.input, abilities)
  // Not by its name: one that somebody else has made since the diff was shown is not to be overwritten.
  if (job === null) return client.jobs.create(input)
  if (abilities.has('put', '/jobs/by-name/{name}')) {
    const owner = (job as { managed_by?: string | null }).managed_by
    const { name, ...fields } =
      input.managed_by === undefined && owner != null ? { ...input, managed_by: owner } : input
    // Somebody else may have changed it since the diff was shown.
    return client.jobs.upsert(name, fields, { ifVersion: job.version })
  }
  const patch = { ...wholePatch(input, abilities), version: job.version } as JobPatch
  return client.jobs.edit(job.job_id, patch)
}

/** A patch that leaves nothing of what was there: what the input does not say goes back to its default. */
function wholePatch(input: DeclaredInput, abilities: Abilities): Record<string, unknown> {
  const byDefault: Record<string, unknown> = { ...complete(input) }
  const given: Record<string, unknown> = { ...input }
  const patch: Record<string, unknown> = {}
  const neverNull = new Set(['name', 'schedule', 'target', 'payload'])
  for (const field of Object.keys(byDefault).filter((name) => abilities.takes(name))) {
    patch[field] = given[field] ?? (neverNull.has(field) ? byDefault[field] : null)
  }
  return patch
}

/** Without the fields that an older server would refuse. */
function known(input: DeclaredInput, abilities: Abilities): DeclaredInput {
  return Object.fromEntries(
    Object.entries(input).filter(([field, value]) => value !== undefined && abilities.takes(field)),
  ) as unknown as DeclaredInput
}

function refusalsOf(step: Step, error: ApiError): Remark[] {
  const name = step.action === 'delete' ? step.job.name : step.declared.input.name
  const at = step.action === 'delete' ? { file: name, line: 0 } : step.declared.at
  const placeOf = step.action === 'delete' ? undefined : step.declared.placeOf
  if (error.errors.length === 0) {
    const hint = error.hint === '' ? {} : { hint: error.hint }
    return [{ at, kind: 'error', text: `${name}: ${error.detail} (${error.code})`, ...hint }]
  }
  return error.errors.map(({ pointer, message, hint }) => ({
    at: placeOf?.(pointer) ?? at,
    kind: 'error',
    text: `${name}: ${pointer.slice(1).replaceAll('/', '.')}: ${message} (${error.code})`,
    ...(hint !== undefined && { hint }),
  }))
}
