import { Ownership } from '../cluster/ownership.js'
import { Upkeep } from '../pipeline/archive/upkeep.js'
import { Firing } from '../pipeline/fire/firing.js'
import { UnservedReport } from '../pipeline/queue/unserved.js'
import { Rescue } from '../pipeline/recover/rescue.js'
import type { Service } from '../platform/service.js'
import { type Context, type Hints, loop } from './context.js'

export interface SchedulerRole {
  services: Service[]
  firing: Service
  ownership: Ownership
  /** Makes sure that the ledger can take rows, before anything fires. */
  prepare(): Promise<void>
  jobChanged(): void
  peerGone(): void
  lost(): void
  /** Fires nothing more and gives the partitions to the others. */
  handOver(): Promise<void>
}

const upkeepMs = 3_600_000
const unservedMs = 5_000
const rescueMs = 1_000

/** Owns partitions, fires their ticks, takes back what dead processes held, and keeps the ledger's days in order. */
export function composeScheduler(
  context: Context,
  hints: Pick<Hints, 'runFired' | 'runRescued'>,
): SchedulerRole {
  const { config, database, databaseClock, membership, clock, log, metrics } = context
  // A pass over a great many ticks may outlast a lease: every batch of it that gets through is progress.
  let firedAt = Number.NEGATIVE_INFINITY
  const ownership: Ownership = new Ownership({
    database,
    clock,
    log,
    metrics,
    leaseTtlMs: config.leaseTtlSeconds * 1000,
    renewMs: config.leaseRenewSeconds * 1000,
    self: () => membership.incarnation,
    liveSchedulers: () => membership.live('scheduler'),
    sinceFiringMs: () => Math.min(firing.sinceProgressMs(), clock.monotonic() - firedAt),
    offer: (able) => membership.offer('scheduler', able),
  })
  const fire = new Firing({
    database,
    databaseClock,
    clock,
    log,
    metrics,
    stageAheadMs: config.stageAheadMs,
    lateToleranceMs: config.lateToleranceSeconds * 1000,
    self: () => membership.incarnation,
    owned: () => ownership.current(),
    disown: (partitions) => ownership.disown(partitions),
    onFired() {
      firedAt = clock.monotonic()
      hints.runFired()
    },
    wake: () => firing.wake(),
  })
  const rescue = new Rescue({ database, log, metrics, onRescued: hints.runRescued })
  const upkeep = new Upkeep({ database, log, ...config })
  const unserved = new UnservedReport({ database, clock, log, metrics })

  const firing: Service = loop(context, 'fire', config.scanIntervalMs, () => fire.runOnce())
  const owning: Service = loop(context, 'own', config.heartbeatMs, async () => {
    const before = ownership.current().length
    await ownership.runOnce()
    if (ownership.current().length > before) firing.wake()
    return undefined
  })
  const rescuing = loop(context, 'rescue', rescueMs, () => rescue.runOnce())
  const keeping = loop(context, 'upkeep', upkeepMs, () => upkeep.runOnce())
  const reporting = loop(context, 'unserved', unservedMs, () => unserved.runOnce())

  return {
    services: [owning, firing, rescuing, keeping, reporting],
    firing,
    ownership,
    prepare: () => upkeep.makeDays(),
    jobChanged: () => firing.wake(),
    peerGone() {
      owning.wake()
      rescuing.wake()
    },
    lost: () => ownership.dropAll(),
    async handOver() {
      fire.stop()
      await Promise.all([owning.stop(), firing.stop()])
      await ownership.releaseAll()
    },
  }
}
