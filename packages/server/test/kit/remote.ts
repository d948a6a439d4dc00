import type { CloseInput, HeartbeatInput, LeaseAnswer, LeaseInput } from '@carillon/contract'
import { JobSeries } from '../../src/pipeline/monitor/job-series.js'
import { DatabaseClock } from '../../src/db/database-clock.js'
import { Database } from '../../src/db/pool.js'
import { Metrics } from '../../src/platform/metrics.js'
import type { Context } from '../../src/roles/context.js'
import {
  composeRemote,
  composeRemoteWatch,
  type RemoteRole,
  type RemoteWatchRole,
} from '../../src/roles/remote.js'
import { silentLog } from './test-database.js'
import { times } from './test-house.js'
import { until } from './until.js'
import type { House } from './use-house.js'

/**
 * An API process as workers over HTTP see it, without its HTTP and its loops, and what a scheduler does about such workers.
 * Passes are made when the test says so.
 */
export class RemoteApi {
  readonly metrics: Metrics
  private readonly role: RemoteRole
  private readonly watch: RemoteWatchRole

  private constructor(
    private readonly house: House,
    private readonly database: Database,
  ) {
    this.metrics = new Metrics()
    const context = {
      config: {
        closeBatchMs: 0,
        runLeaseSeconds: times.runLeaseMs / 1000,
        leaseTtlSeconds: times.leaseTtlMs / 1000,
      },
      database,
      databaseClock: new DatabaseClock(house.clock, () => undefined),
      clock: house.clock,
      log: silentLog,
      metrics: this.metrics,
      jobSeries: new JobSeries({ database, metrics: this.metrics, tag: 'monitor', most: 10 }),
      traces: null,
    } as unknown as Context
    this.role = composeRemote(context)
    this.watch = composeRemoteWatch(context, () => undefined)
  }

  static open(house: House): RemoteApi {
    const database = new Database({
      url: house.database.url,
      poolSize: 5,
      statementTimeoutMs: 20_000,
      applicationName: 'carillon test api',
      log: silentLog,
    })
    const api = new RemoteApi(house, database)
    house.onEmpty(() => database.close())
    return api
  }

  /** One look into the queue on behalf of all calls that wait. */
  look(): Promise<boolean> {
    return this.role.services[0]?.runOnce() ?? Promise.resolve(false)
  }

  /** A call as it is made; the test turns the clock and looks. */
  call(input: Partial<LeaseInput> = {}, options: { tenant?: number; signal?: AbortSignal } = {}) {
    const signal = options.signal ?? new AbortController().signal
    return this.role.leases.lease(options.tenant ?? 1, { tasks: ['task'], ...input }, signal)
  }

  /** Looks until so many calls wait: each needs a moment to make its worker known. */
  waiting(calls: number): Promise<void> {
    return until(`${calls} calls wait`, async () => {
      const { values } = await this.metrics.remotePolls.get()
      return values[0]?.value === calls
    })
  }

  /** A call, and as many looks as it takes to answer it. */
  async lease(input: Partial<LeaseInput> = {}, tenant = 1): Promise<LeaseAnswer> {
    const stepMs = (input.wait_seconds ?? 0) > 0 ? 100 : 1
    return this.answered(this.call(input, { tenant }), stepMs)
  }

  async answered<Result>(work: Promise<Result>, stepMs = 1): Promise<Result> {
    let settled = false
    const done = () => {
      settled = true
    }
    work.then(done, done)
    const looking = async () => {
      while (!settled) {
        await this.look()
        await new Promise((resolve) => setImmediate(resolve))
        await this.house.clock.advance(stepMs)
      }
    }
    await looking()
    return work
  }

  heartbeat(input: HeartbeatInput, tenant = 1) {
    return this.role.leases.heartbeat(tenant, input)
  }

  close(input: CloseInput, tenant = 1) {
    return this.house.during(this.role.leases.close(tenant, input), 1)
  }

  hint(): void {
    this.role.runFired()
  }

  endPolls(): void {
    this.role.endPolls()
  }

  /** What a scheduler does about silent workers, once. */
  async watchOnce(): Promise<void> {
    await this.watch.services[0]?.runOnce()
  }

  /** What a scheduler does about runs over their time, once. */
  async endOverdue(): Promise<void> {
    await this.house.during(this.watch.services[1]?.runOnce() ?? Promise.resolve(false), 1)
  }

  /** Lets time pass with a look of a scheduler every second, as its loop makes them. */
  async silence(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 1_000) {
      await this.house.clock.advance(1_000)
      await this.watchOnce()
    }
  }
}
