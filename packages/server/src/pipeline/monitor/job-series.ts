import type { JobDefinition } from '@carillon/contract'
import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import type { Metrics } from '../../platform/metrics.js'
import { jobIdOf, uuidOf } from '../../platform/ids.js'
import type { AttemptResult, CloseAnswer, RunDefinition } from '../run.js'

const liveStatement = statement<{ uuids: string[] }, { uuid: string }>(
  new URL('./live-jobs.sql', import.meta.url),
)

export interface JobSeriesOptions {
  database: Database
  metrics: Metrics
  /** The tag by which a job asks for series of its own. */
  tag: string
  /** A name costs memory here and in everything that scrapes: no more jobs than this have one. */
  most: number
}

/**
 * Series of single jobs, for those that asked by a tag. Their number is bounded, and they go when their jobs do. A job whose name changes
 * begins anew under the new one.
 */
export class JobSeries {
  /** By job id, under which name. */
  private readonly names = new Map<string, string>()
  /** Whose a definition is that was met: results come with the definition alone. */
  private readonly ids = new WeakMap<JobDefinition, string>()

  constructor(private readonly options: JobSeriesOptions) {}

  /** Whether attempts of this job are to be told of. Asked at every attempt: most jobs have no tag at all. */
  wants({ tags }: Pick<JobDefinition, 'tags'>): boolean {
    return tags !== undefined && tags.length > 0 && this.options.most > 0 && tags.includes(this.options.tag)
  }

  /** Learns whose a definition is. */
  meet({ jobId, definition }: RunDefinition): void {
    if (this.wants(definition)) this.ids.set(definition, jobId)
  }

  asks({ definition }: AttemptResult): boolean {
    return definition !== null && this.wants(definition)
  }

  /** Tells of an attempt when it is closed, where its job asked for that. */
  async told(result: AttemptResult, closing: Promise<CloseAnswer>): Promise<CloseAnswer> {
    const answer = await closing
    this.closed(result, answer)
    return answer
  }

  private closed(result: AttemptResult, answer: CloseAnswer): void {
    const { metrics } = this.options
    const { definition, startedAt, finishedAt, run } = result
    const jobId = definition === null ? undefined : this.ids.get(definition)
    if (definition === null || jobId === undefined || !this.admit(jobId, definition.name)) return
    const labels = { job_id: jobId, name: definition.name }
    metrics.jobAttempts.inc({ ...labels, outcome: outcomeOf(result, answer) })
    if (startedAt === null) return
    metrics.jobLastDuration.set(labels, (finishedAt - startedAt) / 1000)
    metrics.jobLastLag.set(labels, Math.max(0, startedAt - run.availableAt) / 1000)
    if (result.outcome === 'success') metrics.jobLastSuccess.set(labels, finishedAt / 1000)
  }

  /** Forgets jobs that are gone. */
  async runOnce(): Promise<undefined> {
    if (this.names.size === 0) return
    const rows = await this.options.database.run(liveStatement, {
      uuids: [...this.names.keys()].flatMap((jobId) => uuidOf(jobId) ?? []),
    })
    const live = new Set(rows.map(({ uuid }) => jobIdOf(uuid)))
    for (const jobId of [...this.names.keys()]) if (!live.has(jobId)) this.forget(jobId)
  }

  private admit(jobId: string, name: string): boolean {
    const { metrics, most } = this.options
    const known = this.names.get(jobId)
    if (known === name) return true
    if (known !== undefined) this.forget(jobId)
    if (this.names.size >= most) {
      metrics.jobsUnmonitored.inc()
      return false
    }
    this.names.set(jobId, name)
    metrics.jobsMonitored.set(this.names.size)
    return true
  }

  private forget(jobId: string): void {
    const { metrics } = this.options
    const labels = { job_id: jobId, name: this.names.get(jobId) ?? '' }
    this.names.delete(jobId)
    for (const outcome of ['success', 'failed', 'retrying', 'cancelled', 'stale'])
      metrics.jobAttempts.remove({ ...labels, outcome })
    for (const gauge of [metrics.jobLastSuccess, metrics.jobLastDuration, metrics.jobLastLag])
      gauge.remove(labels)
    metrics.jobsMonitored.set(this.names.size)
  }
}

function outcomeOf({ outcome }: AttemptResult, answer: CloseAnswer): string {
  return answer === 'stale' || answer === 'retrying' ? answer : outcome
}
