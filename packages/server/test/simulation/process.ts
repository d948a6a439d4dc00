import { pino } from 'pino'
import { assignPartitions } from '../../src/cluster/assignment.js'
import type { Coordination, Lease } from '../../src/cluster/coordination.js'
import { Membership } from '../../src/cluster/membership.js'
import { Ownership } from '../../src/cluster/ownership.js'
import { PostgresCoordination } from '../../src/cluster/postgres/coordination.js'
import { DatabaseClock } from '../../src/db/database-clock.js'
import type { Database } from '../../src/db/pool.js'
import type { Delivered } from '../../src/pipeline/execute/delivered.js'
import { Worker, type WorkerPorts } from '../../src/pipeline/execute/worker.js'
import type { HandOver } from '../../src/pipeline/fire/hand-over.js'
import { FireTier } from '../../src/pipeline/fire/tier.js'
import { Leasing } from '../../src/pipeline/queue/leasing.js'
import { Closer } from '../../src/pipeline/record/closer.js'
import { Rescue } from '../../src/pipeline/recover/rescue.js'
import type { LeasedRun } from '../../src/pipeline/run.js'
import type { Clock } from '../../src/platform/clock.js'
import type { Metrics } from '../../src/platform/metrics.js'
import type { StopSwitch } from '../../src/targets/stop-switch.js'
import { partitions } from './jobs.js'
import type { Mutant } from './mutants.js'
import type { Caller, SimulatedDatabase } from './network.js'

/** As in production, and shorter: a history is a few seconds long. */
export const times = { heartbeatMs: 250, leaseTtlMs: 2_000, renewMs: 600, runLeaseMs: 4_000 }
const fireTimes = {
  ...{ stageAheadMs: 1_000, scanIntervalMs: 0, lateToleranceMs: 3_000, overloadLagMs: 60_000 },
  ...{ horizonMs: 60_000, wheelCapacity: 64, catchUpFloorPerSecond: 1_000, largeCatchUpTicks: 1_000 },
}
/** The one loop whose passes must lie apart: it counts on that an answer comes in between. */
const reconcileMs = 1_000
const concurrency = 8
const tasks = ['task']
const log = pino({ level: 'silent' })

/** Series cost more than all the rest of a short history, and nobody reads them here: each can be called, or counted with. */
const counted = Object.assign(() => undefined, {
  ...{ inc: () => undefined, dec: () => undefined, set: () => undefined, observe: () => undefined },
})
const metrics = new Proxy({}, { get: () => counted }) as Metrics

/**
 * Every node computes the same from the same list, so one computes it for all histories. Of the partitions only those that
 * have jobs: in the others nothing would happen.
 */
const assignments = new Map<string, ReadonlyMap<number, readonly number[]>>()
function assign(live: readonly number[]): ReadonlyMap<number, readonly number[]> {
  const name = live.join()
  let known = assignments.get(name)
  if (known === undefined) {
    const withJobs = (all: readonly number[]) => partitions.filter((partition) => all.includes(partition))
    known = new Map([...assignPartitions(live)].map(([node, all]) => [node, withJobs(all)]))
    assignments.set(name, known)
  }
  return known
}

export const loops = ['beat', 'own', 'fire', 'horizon', 'lease', 'look', 'rescue', 'reconcile'] as const
export type Loop = (typeof loops)[number]

export interface ProcessOptions {
  name: string
  database: SimulatedDatabase
  clock: Clock
  mutants: ReadonlySet<Mutant>
  handsOver: boolean
  random: () => number
  newIncarnation: () => number
  /** A run has started. */
  deliver: (process: Process, run: LeasedRun, stop: StopSwitch) => Promise<Delivered>
  /** What this process takes for its own, whenever it is about to fire. */
  trusts: (process: Process, leases: readonly Lease[]) => void
}

/**
 * One process of the fleet: the services of src/, composed as src/roles does it, over the simulated store, clock and network.
 * Its loops make a pass when the scheduler says so; one that is under way is not begun a second time.
 */
export class Process implements Caller {
  state: 'starting' | 'up' | 'frozen' | 'leaving' | 'gone' = 'starting'
  readonly name: string
  readonly membership: Membership
  readonly ownership: Ownership
  readonly worker: Worker
  private readonly tier: FireTier
  private readonly leasing: Leasing
  private readonly closer: Closer
  private readonly rescue: Rescue
  private reconciledAt = Number.NEGATIVE_INFINITY
  private readonly underWay = new Set<Loop | 'leave'>()

  constructor(readonly options: ProcessOptions) {
    const { name, clock, mutants } = options
    this.name = name
    const database = options.database as unknown as Database
    const shared = { database, clock, log, metrics }
    const databaseClock = new DatabaseClock(clock, () => undefined)
    const self = () => this.membership.incarnation
    const coordination = trusting(
      new PostgresCoordination({
        ...{ ...shared, ...times, databaseClock, newIncarnation: options.newIncarnation },
      }),
      mutants,
    )
    this.membership = new Membership({
      ...{ coordination, log, roles: ['scheduler', 'worker'], tasks, codeVersion: 'simulated' },
    })
    this.ownership = new Ownership({
      ...{ ...shared, ...times, coordination, self, assign, sinceFiringMs: () => 0 },
      liveSchedulers: () => this.membership.live('scheduler'),
      offer: (able) => this.membership.offer('scheduler', able),
    })
    const owned = () => {
      const leases = this.ownership.current()
      options.trusts(this, leases)
      return leases
    }
    this.tier = new FireTier({
      ...{ ...shared, ...fireTimes, databaseClock, self, owned, nodeName: () => name },
      disown: (refused) => this.ownership.disown(refused),
      ...(options.handsOver && { handOver: this.handOver() }),
      ...{ onFired: ignore, onCaughtUp: ignore, raise: ignore, resolve: ignore, wake: ignore },
    })
    this.leasing = new Leasing({ clock, database, databaseClock, tasks, aheadMs: 1_000 })
    this.closer = new Closer({
      ...{ ...shared, batchMs: 1, random: options.random },
      written: (run) => this.leasing.freed(run.job),
    })
    this.worker = this.composeWorker(
      mutants.has('start before its time') ? hasty(databaseClock) : databaseClock,
    )
    this.membership.onLost(() => {
      this.ownership.dropAll()
      this.worker.abandon()
    })
    this.rescue = new Rescue({ database, log, metrics, onRescued: () => this.leasing.lookFully() })
  }

  get hears(): boolean {
    return this.state !== 'frozen' && this.state !== 'gone'
  }

  get isGone(): boolean {
    return this.state === 'gone'
  }

  /** A pass of a loop; null where it is under way already. A pass that fails has failed, and the next one comes. */
  begin(loop: Loop): void {
    if (this.state !== 'up' || this.underWay.has(loop)) return
    if (loop === 'reconcile') {
      const now = this.options.clock.monotonic()
      if (now - this.reconciledAt < reconcileMs) return
      this.reconciledAt = now
    }
    this.track(loop, this.passOf(loop))
  }

  isIdle(loop: Loop): boolean {
    return !this.underWay.has(loop)
  }

  /** As after SIGTERM: gives back, ends what runs, says good-bye. */
  leave(done: () => void): void {
    this.state = 'leaving'
    const leaving = async () => {
      await this.ownership.releaseAll().catch(ignore)
      await this.worker.handBack().catch(ignore)
      await this.worker.drain(500)
      this.closer.giveUp()
      await this.membership.leave().catch(ignore)
      done()
    }
    this.track('leave', leaving())
  }

  private track(loop: Loop | 'leave', pass: Promise<unknown>): void {
    this.underWay.add(loop)
    const ended = () => void this.underWay.delete(loop)
    pass.then(ended, ended)
  }

  private passOf(loop: Loop): Promise<unknown> {
    switch (loop) {
      case 'beat':
        return this.membership.heartbeat()
      case 'own':
        return this.ownership.runOnce()
      case 'fire':
        return this.tier.firing.runOnce()
      case 'horizon':
        return this.tier.horizon.refresh()
      case 'lease':
        return this.worker.leaseOnce()
      case 'look':
        return this.worker.lookOnce()
      case 'rescue':
        return this.rescue.runOnce()
      case 'reconcile':
        return this.worker.strays.lookOnce()
    }
  }

  private handOver(): HandOver {
    return {
      ready: (runs, until) => this.worker.room.ready(runs, until),
      mostAtOnce: 2,
      aheadMs: 60_000,
      offer: (runs) => {
        const offer = this.worker.offer(runs)
        return offer && { ...offer, tasks, commands: false }
      },
    }
  }

  private composeWorker(databaseClock: DatabaseClock): Worker {
    const { leasing, closer } = this
    const { clock, deliver } = this.options
    const ports: WorkerPorts = {
      lease: (holder, most) => leasing.lease(holder, most),
      held: (holder) => leasing.held(holder),
      stillHeld: (holder, runs) => leasing.stillHeld(holder, runs),
      revoked: (holder) => leasing.revoked(holder),
      handBack: (holder, runs) => leasing.handBack(holder, runs),
      definitions: (wanted) => leasing.definitions(wanted),
      deliver: (run, _definition, stop) => deliver(this, run, stop),
      close: (result) => closer.close(result),
      behind: () => closer.behind(),
      drained: () => closer.drained(),
    }
    const self = () => this.membership.incarnation
    return new Worker({ ports, clock, databaseClock, log, metrics, concurrency, self, wake: ignore })
  }
}

function ignore(): undefined {
  return undefined
}

/** The mutant that hopes: a renewal that failed counts as made. */
function trusting(coordination: Coordination, mutants: ReadonlySet<Mutant>): Coordination {
  if (!mutants.has('trust after a failed renewal')) return coordination
  return {
    join: (introduction) => coordination.join(introduction),
    take: (...taken) => coordination.take(...taken),
    release: (...released) => coordination.release(...released),
    renew: async (incarnation, held, ttlMs) => {
      await coordination.renew(incarnation, held, ttlMs).catch(ignore)
      return [...held]
    },
  }
}

/** The mutant that is early: it takes the database's clock for half a second ahead. */
function hasty(databaseClock: DatabaseClock): DatabaseClock {
  return { atLeast: () => databaseClock.atLeast() + 500 } as DatabaseClock
}
