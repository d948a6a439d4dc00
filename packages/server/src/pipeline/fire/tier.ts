import type { Logger } from 'pino'
import type { DatabaseClock } from '../../db/database-clock.js'
import type { Database } from '../../db/pool.js'
import type { Clock } from '../../platform/clock.js'
import type { Metrics } from '../../platform/metrics.js'
import { Brake } from './brake.js'
import { CatchUp } from './catch-up.js'
import type { OwnedPartition } from './fire-statement.js'
import { Firing } from './firing.js'
import { Governor } from './governor.js'
import type { HandOver } from './hand-over.js'
import { Horizon } from './horizon.js'
import { Load } from './load.js'
import { Overlapping } from './overlapping.js'
import type { PlannedTick } from './plan.js'
import type { ReplayTick } from './replay-plan.js'
import { Scan } from './scan.js'
import { Staging } from './staging.js'

/** Something that people should hear of. A fingerprint is open once: raising it again changes nothing. */
export interface FireEvent {
  kind: 'overload' | 'large_catch_up'
  fingerprint: string
  subject: string
  detail: Record<string, unknown>
}

export interface FireTierOptions {
  database: Database
  databaseClock: DatabaseClock
  clock: Clock
  log: Logger
  metrics: Metrics
  stageAheadMs: number
  scanIntervalMs: number
  lateToleranceMs: number
  overloadLagMs: number
  horizonMs: number
  wheelCapacity: number
  catchUpFloorPerSecond: number
  largeCatchUpTicks: number
  self: () => number
  nodeName: () => string
  owned: () => readonly OwnedPartition[]
  disown: (refused: readonly OwnedPartition[]) => void
  /** Told after fresh ticks entered the queue; `leftFrom`: when the first of those starts that are left to whoever leases them. */
  onFired: (leftFrom: number | null) => void
  handOver?: HandOver
  /** Told of every tick that was fired, and of every one that was caught up, where somebody traces them. */
  told?: (tick: PlannedTick, now: number) => void
  toldCaughtUp?: (tick: ReplayTick) => void
  /** Told after missed ticks did: that is no sign that fresh ones can be fired. */
  onCaughtUp: () => void
  raise: (event: FireEvent) => void
  resolve: (fingerprint: string) => void
  wake: () => void
}

/** The parts of firing, put together: what is due now, what comes in the next minutes, what has to be caught up. */
export class FireTier {
  readonly firing: Firing
  readonly horizon: Horizon
  readonly catchUp: CatchUp
  readonly brake: Brake
  readonly load: Load
  readonly governor: Governor
  private catchingUpLarge = false

  constructor(private readonly options: FireTierOptions) {
    const { database, databaseClock, horizonMs, self, owned, onCaughtUp } = options
    this.brake = new Brake(database)
    this.horizon = new Horizon({
      database,
      databaseNow: () => databaseClock.atLeast(),
      owned,
      horizonMs,
      capacity: options.wheelCapacity,
    })
    this.load = new Load({
      clock: options.clock,
      thresholdMs: options.overloadLagMs,
      onChange: (overloaded, lagMs) => this.overloadChanged(overloaded, lagMs),
    })
    this.governor = new Governor({
      ...options,
      floorPerSecond: options.catchUpFloorPerSecond,
      catchUpFactor: () => this.brake.catchUpFactor,
    })
    const overlapping = new Overlapping({ database })
    this.firing = new Firing({
      ...options,
      horizon: this.horizon,
      scan: new Scan({
        ...options,
        horizon: this.horizon,
        aheadMs: options.stageAheadMs,
        intervalMs: options.scanIntervalMs,
      }),
      staging: Staging.inFront(options.stageAheadMs, options.handOver?.aheadMs),
      load: this.load,
      windowFactor: () => this.brake.windowFactor,
      settleOverlap: (...tick) => overlapping.settle(...tick),
      onDeferred: (ticks, jobs) => this.deferred(ticks, jobs),
    })
    this.catchUp = new CatchUp({
      ...options,
      governor: this.governor,
      self,
      owned,
      freshWait: () => this.load.overloaded || this.load.lagMs > freshWaitMs,
      onFired: onCaughtUp,
      onOpen: (open) => this.leftToCatchUp(open),
    })
  }

  /** What this node says of itself, for people who look at the cluster. */
  report(): Record<string, unknown> {
    return {
      lag_ms: Math.max(0, Math.round(this.load.lagMs)),
      overloaded: this.load.overloaded,
      wheel_timers: this.horizon.size,
      catch_up_per_second: Math.round(this.governor.perSecond * 10) / 10,
    }
  }

  private overloadChanged(overloaded: boolean, lagMs: number): void {
    const { log, metrics, raise, resolve, nodeName, self } = this.options
    metrics.overloaded.set(overloaded ? 1 : 0)
    const fingerprint = `overload:${nodeName()}`
    if (overloaded) {
      log.error(
        { lag_ms: lagMs },
        'overloaded: missed ticks are coalesced by their policies, catching up stops',
      )
      raise({
        kind: 'overload',
        fingerprint,
        subject: `${nodeName()} fires its ticks ${Math.round(lagMs / 1000)} s late`,
        detail: { incarnation: self(), lag_ms: Math.round(lagMs) },
      })
    } else {
      log.info('the overload is over')
      resolve(fingerprint)
    }
  }

  private deferred(ticks: number, jobs: number): void {
    this.options.log.warn({ ticks, jobs }, 'missed ticks will be caught up')
  }

  private leftToCatchUp({ replays, ticks }: { replays: number; ticks: number }): void {
    const { largeCatchUpTicks, raise, resolve, nodeName, self } = this.options
    const fingerprint = `large_catch_up:${nodeName()}`
    if (ticks >= largeCatchUpTicks && !this.catchingUpLarge) {
      this.catchingUpLarge = true
      raise({
        kind: 'large_catch_up',
        fingerprint,
        subject: `${ticks} missed ticks of ${replays} jobs are caught up by ${nodeName()}`,
        detail: { incarnation: self(), ticks, jobs: replays },
      })
    } else if (ticks === 0 && this.catchingUpLarge) {
      this.catchingUpLarge = false
      resolve(fingerprint)
    }
  }
}

/** Fresh ticks later than this go before anything is caught up. */
const freshWaitMs = 1_000
