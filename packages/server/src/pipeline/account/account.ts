import {
  type Brake,
  type BrakeInput,
  CarillonError,
  type ClusterView,
  type Event,
  type Verification,
  type Why,
} from '@carillon/contract'
import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import type { Clock } from '../../platform/clock.js'
import { jobIdOf, uuidOf } from '../../platform/ids.js'
import { audit } from '../audit.js'
import { clearBrake, setBrake, showBrake } from './brake.js'
import { viewCluster } from './cluster-view.js'
import { type EventQuery, listEvents } from './events.js'
import { momentOf } from './moment.js'
import { Verifier, type VerifyQuery } from './verify.js'
import { Explainer } from './why.js'

const jobOfIdStatement = statement<{ tenant: number; uuid: string }, { job: number }>(
  new URL('./job-of-id.sql', import.meta.url),
)
const jobOfNameStatement = statement<{ tenant: number; name: string }, { uuid: string }>(
  new URL('./job-of-name.sql', import.meta.url),
)

export interface AccountOptions {
  database: Database
  clock: Clock
  lateToleranceMs: number
}

export interface VerifyRequest extends Pick<VerifyQuery, 'budgetMs' | 'onProgress'> {
  from: string
  /** Now, where it is left out. */
  to?: string | undefined
  /** Only this job. */
  jobId?: string | undefined
  cursor?: string | undefined
}

/** The account of every tick: what became of it and why, whether any is missing, and how the fleet is. */
export class Account {
  private readonly verifier: Verifier
  private readonly explainer: Explainer

  constructor(private readonly options: AccountOptions) {
    this.verifier = new Verifier({ ...options, zoneData: process.versions.tz ?? 'unknown' })
    this.explainer = new Explainer(options)
  }

  async why(tenant: number, jobId: string, at: string): Promise<Why> {
    return this.explainer.why(await this.keyOf(tenant, jobId), at)
  }

  /** A null tenant asks for the whole fleet. */
  async verify(tenant: number | null, request: VerifyRequest): Promise<Verification> {
    const from = momentOf(request.from, 'query:from')
    const to = request.to === undefined ? null : momentOf(request.to, 'query:to')
    if (to !== null && from >= to) {
      throw new CarillonError('validation_failed', {
        detail: `The range ends at ${request.to}, which is not after its beginning, ${request.from}.`,
        errors: [{ pointer: 'query:to', message: 'must be after from' }],
      })
    }
    const { jobId, budgetMs, onProgress } = request
    return this.verifier.run({
      tenant,
      from,
      to,
      job: jobId === undefined ? null : await this.keyOf(tenant ?? defaultTenant, jobId),
      cursor: request.cursor ?? null,
      budgetMs,
      ...(onProgress === undefined ? {} : { onProgress }),
    })
  }

  cluster(tenant: number | null): Promise<ClusterView> {
    return viewCluster(this.options.database, tenant)
  }

  events(query: EventQuery): Promise<Event[]> {
    return listEvents(this.options.database, query)
  }

  brake(): Promise<Brake | null> {
    return showBrake(this.options.database)
  }

  setBrake(input: BrakeInput): Promise<Brake> {
    return this.options.database.transaction(async (runner) => {
      const brake = await setBrake(runner, input)
      await audit(runner, { tenant: defaultTenant, subject: 'brake', detail: brake })
      return brake
    })
  }

  clearBrake(): Promise<boolean> {
    return this.options.database.transaction(async (runner) => {
      const wasOn = await clearBrake(runner)
      if (wasOn) await audit(runner, { tenant: defaultTenant, subject: 'brake' })
      return wasOn
    })
  }

  /** The id of the job that has a name, or had it last. Null where there was none. */
  async idOfName(tenant: number, name: string): Promise<string | null> {
    const [row] = await this.options.database.run(jobOfNameStatement, { tenant, name })
    return row === undefined ? null : jobIdOf(row.uuid)
  }

  private async keyOf(tenant: number, jobId: string): Promise<number> {
    const uuid = uuidOf(jobId)
    const [row] = uuid === null ? [] : await this.options.database.run(jobOfIdStatement, { tenant, uuid })
    if (row !== undefined) return row.job
    throw new CarillonError('job_not_found', {
      detail: `There is no job ${JSON.stringify(jobId.slice(0, 64))}.`,
    })
  }
}

/** The tenant `default`, which every database has. */
export const defaultTenant = 1
