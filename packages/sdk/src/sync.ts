import { differingFields, fieldsOfInput, fieldsOfJob, type Job, type JobInput } from '@carillon/contract'
import { ApiError } from './errors.js'
import type { JobCalls } from './jobs.js'
import type { PayloadOf, TaskDefinition } from './task.js'

export type SyncJob = Omit<JobInput, 'managed_by'>

export interface SyncOptions {
  /** Who these definitions belong to, e.g. the name of a service. Jobs of other owners are never touched. */
  owner: string
  /**
   * What becomes of live jobs of this owner that are not in the list. `true` or 'cancel': no further ticks, definition and
   * history stay. 'delete': deleted. Default: they stay, and the plan names them.
   */
  prune?: boolean | 'cancel' | 'delete'
  /** Only says what would be done. */
  dryRun?: boolean
  /** Whether a job of the same name that nobody owns is taken over. Default true. */
  adopt?: boolean
}

export interface SyncEntry {
  name: string
  job_id: string
}

/** What was done, or with `dryRun` would be. */
export interface SyncPlan {
  created: { name: string; job_id: string | null }[]
  /** `fields`: those in which the definition differs from the one that was there. */
  changed: (SyncEntry & { fields: string[] })[]
  unchanged: SyncEntry[]
  /** Cancelled or deleted; with `prune` off, what would be. */
  pruned: SyncEntry[]
  /** Left alone, because somebody else owns the job of this name; null: nobody, and `adopt` is off. */
  conflicts: (SyncEntry & { owner: string | null })[]
  /** Whether anything was written. */
  applied: boolean
}

/** Some jobs could not be put in place; nothing was pruned. `plan` has what was done all the same. */
export class SyncError extends Error {
  override readonly name = 'SyncError'
  readonly plan: SyncPlan
  readonly failures: readonly { name: string; error: unknown }[]

  constructor(plan: SyncPlan, failures: readonly { name: string; error: unknown }[]) {
    const [first] = failures
    const more = failures.length > 1 ? ` (and ${failures.length - 1} more)` : ''
    super(`sync: the job "${first?.name}" was refused: ${messageOf(first?.error)}${more}`, {
      cause: first?.error,
    })
    this.plan = plan
    this.failures = failures
  }
}

/** A job that runs a task, with the payload that the task takes. */
export function jobFor<Task extends TaskDefinition>(
  task: Task,
  job: Omit<SyncJob, 'target' | 'payload'> & { payload: PayloadOf<Task> },
): SyncJob {
  return { ...job, target: { type: 'task', task: task.id } }
}

type Jobs = JobCalls['jobs']
type Shown = Job & { managed_by?: string | null; tags?: string[] }

const atOnce = 8
/** So often another writer may be faster. Each time one of us got on. */
const mostRaces = 10

/**
 * Makes the jobs of an owner what the list says: missing ones are created, differing ones changed, and, on request, those
 * not in the list cancelled. Several syncs at once are safe: each change is made for the version that it was decided by.
 */
export async function syncJobs(
  jobs: Jobs,
  wanted: readonly SyncJob[],
  options: SyncOptions,
): Promise<SyncPlan> {
  checkRequest(wanted, options)
  const { owner, prune = false, dryRun = false } = options
  const plan: SyncPlan = {
    created: [],
    changed: [],
    unchanged: [],
    pruned: [],
    conflicts: [],
    applied: !dryRun,
  }
  const own = new Map<string, Shown>()
  for await (const job of jobs.iterate({ managed_by: owner, limit: 200 })) {
    if (isLive(job)) own.set(job.name, job)
  }
  const step = new Step(jobs, options, plan)
  const failures = await inParallel(
    wanted,
    ({ name }) => name,
    (job) => step.put(job, own.get(job.name)),
  )
  const names = new Set(wanted.map(({ name }) => name))
  const surplus = [...own.values()].filter(({ name }) => !names.has(name))
  if (failures.length > 0) throw new SyncError(sorted(plan), failures)
  if (dryRun || prune === false) plan.pruned.push(...surplus.map(entryOf))
  else {
    const how = prune === 'delete' ? 'delete' : 'cancel'
    const left = await inParallel(
      surplus,
      ({ name }) => name,
      (job) => step.prune(job, how),
    )
    if (left.length > 0) throw new SyncError(sorted(plan), left)
  }
  return sorted(plan)
}

class Step {
  constructor(
    private readonly jobs: Jobs,
    private readonly options: SyncOptions,
    private readonly plan: SyncPlan,
  ) {}

  async put(wanted: SyncJob, known: Shown | undefined): Promise<void> {
    let present = known ?? (await this.find(wanted.name))
    for (let races = 0; ; races++) {
      try {
        return await this.putOnce(wanted, present)
      } catch (error) {
        const overtaken = error instanceof ApiError && (error.status === 409 || error.status === 412)
        if (!overtaken || races >= mostRaces) throw error
      }
      present = await this.find(wanted.name)
    }
  }

  private async putOnce(wanted: SyncJob, present: Shown | undefined): Promise<void> {
    const { owner, dryRun = false, adopt = true } = this.options
    const { name } = wanted
    const definition = { ...wanted, managed_by: owner }
    if (present === undefined || this.leavesItsName(present, definition)) {
      // Not an upsert: one that somebody else makes at this moment is not to be taken from them.
      const made = dryRun ? null : await this.jobs.create(definition)
      this.plan.created.push({ name, job_id: made?.job_id ?? null })
      return
    }
    const other = present.managed_by ?? null
    if (other !== owner && (other !== null || !adopt)) {
      this.plan.conflicts.push({ ...entryOf(present), owner: other })
      return
    }
    const fields = isLive(present) ? differingFields(fieldsOfJob(present), fieldsOfInput(definition)) : []
    if (fields.length === 0) {
      this.plan.unchanged.push(entryOf(present))
      return
    }
    if (!dryRun) await this.jobs.upsert(name, definition, { ifVersion: present.version })
    this.plan.changed.push({ ...entryOf(present), fields })
  }

  /**
   * Where no live job has the name, the server tells of the latest that had it. One that ended by itself did what is asked
   * for here, and must not do it again because it is in the list again; whatever else is past leaves its name to a new job.
   */
  private leavesItsName(present: Shown, definition: JobInput): boolean {
    if (isLive(present)) return false
    const { owner, adopt = true } = this.options
    const other = present.managed_by ?? null
    const isOurs = other === owner || (other === null && adopt)
    if (present.state !== 'ended' || !isOurs) return true
    const wanted = fieldsOfInput({ ...definition, managed_by: other })
    return differingFields(fieldsOfJob(present), wanted).length > 0
  }

  async prune(job: Shown, how: 'cancel' | 'delete'): Promise<void> {
    const now = await this.find(job.name)
    // Gone, made anew, or given to somebody else since it was listed.
    if (now?.job_id !== job.job_id || now.managed_by !== this.options.owner) return
    if (how === 'delete') await this.jobs.delete(job.job_id)
    else await this.jobs.cancel(job.job_id, { reason: `no longer defined by ${this.options.owner}` })
    this.plan.pruned.push(entryOf(job))
  }

  private async find(name: string): Promise<Shown | undefined> {
    try {
      return await this.jobs.getByName(name)
    } catch (error) {
      if (error instanceof ApiError && error.code === 'job_not_found') return undefined
      throw error
    }
  }
}

function checkRequest(wanted: readonly SyncJob[], { owner }: SyncOptions): void {
  if (owner === '')
    throw new TypeError('sync: "owner" is empty. Name who these jobs belong to, e.g. the service.')
  const seen = new Set<string>()
  for (const { name } of wanted) {
    if (seen.has(name)) throw new TypeError(`sync: the list has two jobs named "${name}".`)
    seen.add(name)
  }
}

async function inParallel<Item>(
  items: readonly Item[],
  nameOf: (item: Item) => string,
  work: (item: Item) => Promise<void>,
): Promise<{ name: string; error: unknown }[]> {
  const failures: { name: string; error: unknown }[] = []
  const queue = [...items]
  const worker = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) {
      const name = nameOf(item)
      await work(item).catch((error: unknown) => failures.push({ name, error }))
    }
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker))
  return failures
}

function isLive({ state }: Job): boolean {
  return state === 'active' || state === 'paused'
}

function entryOf({ name, job_id }: Job): SyncEntry {
  return { name, job_id }
}

function sorted(plan: SyncPlan): SyncPlan {
  const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1)
  for (const list of [plan.created, plan.changed, plan.unchanged, plan.pruned, plan.conflicts])
    list.sort(byName)
  return plan
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
