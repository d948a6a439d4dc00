import type { JobInput } from '@carillon/contract'
import { Membership } from '../../src/cluster/membership.js'
import { Ownership } from '../../src/cluster/ownership.js'
import { PostgresCoordination } from '../../src/cluster/postgres/coordination.js'
import { DatabaseClock } from '../../src/db/database-clock.js'
import { Database } from '../../src/db/pool.js'
import { Upkeep } from '../../src/pipeline/archive/upkeep.js'
import { type Delivered, isClosed, Worker, type WorkerPorts } from '../../src/pipeline/execute/worker.js'
import type { CatchUp } from '../../src/pipeline/fire/catch-up.js'
import type { Firing } from '../../src/pipeline/fire/firing.js'
import type { HandOver } from '../../src/pipeline/fire/hand-over.js'
import { type FireEvent, FireTier } from '../../src/pipeline/fire/tier.js'
import { Breakers } from '../../src/pipeline/protect/breakers.js'
import { outcomeOf } from '../../src/pipeline/protect/outcome.js'
import { HostReports } from '../../src/pipeline/protect/reports.js'
import { Targets } from '../../src/pipeline/protect/targets.js'
import { Leasing } from '../../src/pipeline/queue/leasing.js'
import { Closer } from '../../src/pipeline/record/closer.js'
import { History } from '../../src/pipeline/record/history.js'
import { Rescue } from '../../src/pipeline/recover/rescue.js'
import { Registry } from '../../src/pipeline/register/registry.js'
import { Ticks } from '../../src/pipeline/register/ticks.js'
import type { LeasedRun } from '../../src/pipeline/run.js'
import { Metrics } from '../../src/platform/metrics.js'
import type { TestClock } from './test-clock.js'
import { silentLog, type TestDatabase } from './test-database.js'

export const times = { heartbeatMs: 250, leaseTtlMs: 10_000, renewMs: 3_000, runLeaseMs: 30_000 }

export const fireTimes = {
  stageAheadMs: 2_000,
  /** Every pass looks into the table: a test says when. */
  scanIntervalMs: 0,
  lateToleranceMs: 15_000,
  overloadLagMs: 10_000,
  horizonMs: 600_000,
  wheelCapacity: 100_000,
  catchUpFloorPerSecond: 1_000,
  largeCatchUpTicks: 1_000,
}

export interface NodeOptions {
  tasks?: string[]
  concurrency?: number
  minIntervalMs?: number
  leaseAheadMs?: number
  catchUpPerSecond?: number
  largeCatchUpTicks?: number
  /** Runs are handed to this node's own worker as they are made; a function stands between the two. */
  handsOver?: boolean | ((handOver: HandOver) => HandOver)
  /** What a delivery comes to; the default succeeds at once. */
  deliver?: WorkerPorts['deliver']
  /** Puts something between the worker and the database: an answer that is lost, a call that hangs. */
  between?: (ports: WorkerPorts) => Partial<WorkerPorts>
}

function handsOver({ handsOver = false }: NodeOptions, tasks: string[], worker: () => Worker) {
  if (handsOver === false) return {}
  const handOver: HandOver = {
    ready: (runs, until) => worker().room.ready(runs, until),
    mostAtOnce: 2_500,
    aheadMs: 60_000,
    offer(runs) {
      const offer = worker().offer(runs)
      return offer && { ...offer, tasks, commands: false }
    },
  }
  return { handOver: handsOver === true ? handOver : handsOver(handOver) }
}

export const succeeded: Delivered = {
  outcome: 'success',
  retryable: false,
  retryAfterMs: null,
  reason: null,
  error: null,
  result: { ok: true },
}

export const failed: Delivered = {
  outcome: 'failed',
  retryable: true,
  retryAfterMs: null,
  reason: 'task_error',
  error: 'boom',
  result: undefined,
}

/**
 * One process of the fleet, without its loops: every stage is there, over the real database, and does what it does when
 * the test says so. Several of them over one database are a cluster.
 */
export class TestNode {
  readonly metrics = new Metrics()
  readonly delivered: LeasedRun[] = []
  readonly steps: number[] = []
  /** Crashed or left: nothing more can be asked of it. */
  gone = false
  readonly databaseClock: DatabaseClock
  readonly membership: Membership
  readonly ownership: Ownership
  readonly tier: FireTier
  readonly firing: Firing
  readonly catchUp: CatchUp
  readonly events: FireEvent[] = []
  readonly resolved: string[] = []
  readonly leasing: Leasing
  readonly hosts: HostReports
  readonly breakers: Breakers
  readonly targets: Targets
  /** Events of breakers: raised, and resolved. */
  readonly breakerEvents: string[] = []
  readonly closer: Closer
  readonly worker: Worker
  readonly rescue: Rescue
  readonly registry: Registry
  readonly ticks: Ticks
  readonly history: History
  readonly upkeep: Upkeep
  sinceFiringMs = 0

  private constructor(
    readonly database: Database,
    clock: TestClock,
    options: NodeOptions,
  ) {
    const { metrics } = this
    const tasks = options.tasks ?? ['task']
    const shared = { database, clock, log: silentLog, metrics }
    this.databaseClock = new DatabaseClock(clock, (byMs) => this.steps.push(byMs))
    const self = () => this.membership.incarnation
    const coordination = new PostgresCoordination({ ...shared, ...times, databaseClock: this.databaseClock })
    this.membership = new Membership({
      coordination,
      log: silentLog,
      roles: ['api', 'scheduler', 'worker'],
      tasks,
      codeVersion: 'test',
    })
    this.ownership = new Ownership({
      ...shared,
      coordination,
      ...times,
      self,
      liveSchedulers: () => this.membership.live('scheduler'),
      sinceFiringMs: () => this.sinceFiringMs,
      offer: (able) => this.membership.offer('scheduler', able),
    })
    this.tier = new FireTier({
      ...shared,
      databaseClock: this.databaseClock,
      ...fireTimes,
      ...(options.catchUpPerSecond !== undefined && { catchUpFloorPerSecond: options.catchUpPerSecond }),
      ...(options.largeCatchUpTicks !== undefined && { largeCatchUpTicks: options.largeCatchUpTicks }),
      self,
      nodeName: () => 'node_test',
      owned: () => this.ownership.current(),
      disown: (refused) => this.ownership.disown(refused),
      onFired: () => undefined,
      onCaughtUp: () => undefined,
      ...handsOver(options, tasks, () => this.worker),
      raise: (event) => void this.events.push(event),
      resolve: (fingerprint) => void this.resolved.push(fingerprint),
      wake: () => undefined,
    })
    this.firing = this.tier.firing
    this.catchUp = this.tier.catchUp
    this.leasing = new Leasing({
      clock,
      database,
      databaseClock: this.databaseClock,
      tasks,
      aheadMs: options.leaseAheadMs ?? 1_000,
    })
    this.hosts = new HostReports({ ...shared, random: () => 0.5 })
    this.breakers = new Breakers({
      ...shared,
      raise: ({ subject }) => void this.breakerEvents.push(`raised ${subject}`),
      resolve: (fingerprint) => void this.breakerEvents.push(`resolved ${fingerprint}`),
    })
    this.targets = new Targets({ database, clock, onOpened: () => undefined })
    this.closer = new Closer({ ...shared, batchMs: 0, random: () => 0.5 })
    this.worker = this.composeWorker(clock, options, self)
    this.membership.onLost(() => {
      this.ownership.dropAll()
      this.worker.abandon()
    })
    this.rescue = new Rescue({ database, log: silentLog, metrics, onRescued: () => undefined })
    this.registry = new Registry({
      database,
      databaseClock: this.databaseClock,
      minIntervalMs: options.minIntervalMs ?? 1_000,
      checkTarget: () => undefined,
      onChanged: () => undefined,
    })
    this.ticks = new Ticks({ database, onChanged: () => undefined })
    this.history = new History(database)
    this.upkeep = new Upkeep({
      database,
      log: silentLog,
      ledgerDaysAhead: 7,
      ledgerRetentionDays: 90,
      oneOffRetentionHours: 24,
    })
  }

  /** Joins the cluster and takes its partitions. */
  static async start(test: TestDatabase, clock: TestClock, options: NodeOptions = {}): Promise<TestNode> {
    const database = new Database({
      url: test.url,
      poolSize: 5,
      statementTimeoutMs: 20_000,
      applicationName: 'carillon test node',
      log: silentLog,
    })
    const node = new TestNode(database, clock, options)
    await node.membership.join()
    await node.upkeep.runOnce()
    await node.ownership.runOnce()
    return node
  }

  /** Registers a job for the task `task` every second, unless told otherwise. */
  async register(input: Partial<JobInput> = {}) {
    const job = await this.registry.create(1, {
      name: `job-${Math.random().toString(36).slice(2)}`,
      schedule: '* * * * * *',
      target: { type: 'task', task: 'task' },
      ...input,
    })
    return { ...job, key: await this.registry.find(1, job.job_id) }
  }

  /** A life sign, and what it owns by it: after time has passed, before something is asked of it. */
  async beat(): Promise<void> {
    await this.membership.heartbeat()
    await this.ownership.runOnce()
  }

  async runs(job: { key: number; job_id: string }, limit = 100) {
    return (await this.history.ofJob(job.key, job.job_id, { limit, cursor: null })).runs
  }

  /** Leaves without a word, as a killed process does: its session lock goes, its rows stay. */
  async crash(): Promise<void> {
    this.gone = true
    this.worker.abandon()
    await (this.membership as unknown as { life: { drop(): Promise<void> } | null }).life?.drop()
    await this.database.close()
  }

  async leave(): Promise<void> {
    this.gone = true
    await this.ownership.releaseAll()
    await this.membership.leave()
    await this.database.close()
  }

  private composeWorker(clock: TestClock, options: NodeOptions, self: () => number): Worker {
    const { leasing, closer } = this
    const ports: WorkerPorts = {
      lease: (holder, most) => leasing.lease(holder, most),
      held: (holder) => leasing.held(holder),
      stillHeld: (holder, runs) => leasing.stillHeld(holder, runs),
      revoked: (holder) => leasing.revoked(holder),
      handBack: (holder, runs) => leasing.handBack(holder, runs),
      definitions: (wanted) => leasing.definitions(wanted),
      deliver: async (run, definition, signal, startedAt) => {
        this.delivered.push(run)
        const delivered = await (options.deliver ?? (() => Promise.resolve(succeeded)))(
          run,
          definition,
          signal,
          startedAt,
        )
        if (isClosed(delivered)) return delivered
        const said = outcomeOf(run, definition, delivered)
        if (said !== null) this.hosts.note(said)
        return delivered
      },
      close: (result) => closer.close(result),
      behind: () => closer.behind(),
      drained: () => closer.drained(),
    }
    return new Worker({
      ports: { ...ports, ...options.between?.(ports) },
      clock,
      databaseClock: this.databaseClock,
      log: silentLog,
      metrics: this.metrics,
      concurrency: options.concurrency ?? 100,
      self,
      wake: () => undefined,
    })
  }
}
