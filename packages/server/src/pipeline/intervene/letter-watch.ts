import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { jobIdOf, type RunIdentity, runIdOf } from '../../platform/ids.js'
import { utcText } from '../../time/iso-text.js'

interface Lettered extends RunIdentity {
  uuid: string
  tenant: number
  name: string
  reason: string
  error: string | null
  dead_at: number
  /** 0: it has an event of its own. Else its place among the `rest`, which have one together. */
  beyond: number
  rest: number
}

const unannouncedStatement = statement<
  { most_of_tenant: number; examples: number; again_ms: number; most: number },
  Lettered
>(new URL('./unannounced-letters.sql', import.meta.url))
const relievedStatement = statement<Record<string, never>, { tenant: number | null; fingerprint: string }>(
  new URL('./relieved-jobs.sql', import.meta.url),
)

/** What the events are told of. The alert stage keeps them; whoever composes hands it across. */
export interface LetterEvent {
  tenant: number
  kind: 'dead_letter'
  fingerprint: string
  subject: string
  detail: Record<string, unknown>
  /** Left out where it is about many. */
  job?: number
}

export interface LetterWatchOptions {
  database: Database
  raise: (event: LetterEvent) => void
  resolve: (fingerprint: string, tenant: number | null) => void
}

const mostPerPass = 1_000
/** So many jobs of a tenant have an event of their own; the others are one together, as with other kinds. */
export const mostOfTenant = 50
const examples = 10
/** What stands for many is said again so often while it goes on. */
const againMs = 300_000
const longestError = 500

/**
 * Says that a job has dead letters, once, until it has none. It compares tables, so that nothing depends on who wrote the
 * letter, or on a process that lived long enough to tell.
 */
export class LetterWatch {
  constructor(private readonly options: LetterWatchOptions) {}

  async runOnce(): Promise<undefined> {
    const { database, raise, resolve } = this.options
    const found = await database.run(unannouncedStatement, {
      ...{ most_of_tenant: mostOfTenant, examples, again_ms: againMs, most: mostPerPass },
    })
    const rest = new Map<number, Lettered[]>()
    for (const job of found) {
      if (job.beyond === 0) raise(ofOne(job))
      else rest.set(job.tenant, [...(rest.get(job.tenant) ?? []), job])
    }
    for (const [tenant, jobs] of rest) raise(ofMany(tenant, jobs))
    for (const { fingerprint, tenant } of await database.run(relievedStatement, {}))
      resolve(fingerprint, tenant)
  }
}

function ofOne(job: Lettered): LetterEvent {
  const jobId = jobIdOf(job.uuid)
  return {
    tenant: job.tenant,
    kind: 'dead_letter',
    fingerprint: `dead_letter:${job.uuid}`,
    subject: subjectOf(job),
    job: job.job,
    detail: {
      job_id: jobId,
      run_id: runIdOf(job),
      reason: job.reason,
      error: job.error?.slice(0, longestError) ?? null,
      dead_at: utcText(job.dead_at),
      todo: `carillon dead-letters list --job ${jobId}`,
    },
  }
}

function ofMany(tenant: number, jobs: readonly Lettered[]): LetterEvent {
  const count = jobs[0]?.rest ?? jobs.length
  return {
    tenant,
    kind: 'dead_letter',
    fingerprint: 'dead_letter:many',
    subject: `${count} more jobs have dead letters`,
    detail: {
      jobs: count,
      examples: jobs.map((job) => ({ job_id: jobIdOf(job.uuid), subject: subjectOf(job) })),
      todo: 'carillon dead-letters list',
    },
  }
}

function subjectOf({ name }: Lettered): string {
  return `${name} has dead letters`
}
