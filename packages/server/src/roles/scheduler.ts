import { Ownership } from '../cluster/ownership.js'
import { Upkeep } from '../pipeline/archive/upkeep.js'
import type { HandOver } from '../pipeline/fire/hand-over.js'
import { LetterWatch } from '../pipeline/intervene/letter-watch.js'
import { Redriving } from '../pipeline/intervene/redriving.js'
import { UnservedReport } from '../pipeline/queue/unserved.js'
import { Rescue } from '../pipeline/recover/rescue.js'
import { ResumeDue } from '../pipeline/register/resume-due.js'
import type { Service } from '../platform/service.js'
import { composeEvents } from './alerts.js'
import { composeBackground } from './background.js'
import { composeBreakers } from './breakers.js'
import { type Context, type Hints, loop } from './context.js'
import { composeOutbox } from './outbox.js'
import { composeRemoteWatch } from './remote.js'
import { composeFiring } from './firing.js'
import { composeOwning } from './owning.js'

export interface SchedulerRole {
  services: Service[]
  ownership: Ownership
  /** Makes sure that the ledger can take rows, before anything fires. */
  prepare(): Promise<void>
  jobChanged(): void
  operationStarted(): void
  /** What this scheduler says of itself, for people who look at the cluster. */
  report(): Record<string, unknown>
  peerGone(): void
  lost(): void
  /** Fires nothing more and gives the partitions to the others. */
  handOver(): Promise<void>
}

const upkeepMs = 3_600_000
const unservedMs = 5_000
const rescueMs = 1_000
const eventsMs = 5_000
const resumeMs = 500
const redriveMs = 250
const letterWatchMs = 5_000

/** Owns partitions, fires their ticks, takes back what dead processes held, and keeps the ledger's days in order. */
export function composeScheduler(
  context: Context,
  hints: Pick<Hints, 'runFired' | 'runRescued'>,
  handOver: HandOver | null = null,
): SchedulerRole {
  const { config, database, coordination, membership, clock, log, metrics } = context
  // A pass over a great many ticks may outlast a lease: every batch of it that gets through is progress.
  let firedAt = Number.NEGATIVE_INFINITY
  const ownership: Ownership = new Ownership({
    coordination,
    clock,
    log,
    metrics,
    leaseTtlMs: config.leaseTtlSeconds * 1000,
    renewMs: config.leaseRenewSeconds * 1000,
    self: () => membership.incarnation,
    liveSchedulers: () => membership.live('scheduler'),
    sinceFiringMs: () => Math.min(fire.sinceProgressMs(), clock.monotonic() - firedAt),
    offer: (able) => membership.offer('scheduler', able),
  })
  const events = composeEvents(context)
  const fire = composeFiring(context, {
    ownership,
    events,
    onFired(leftFrom) {
      firedAt = clock.monotonic()
      if (leftFrom !== null) hints.runFired(leftFrom)
    },
    ...{ onCaughtUp: () => hints.runFired(), handOver },
  })
  const rescue = new Rescue({ database, log, metrics, onRescued: hints.runRescued })
  const upkeep = new Upkeep({ database, log, ...config })
  const resume = new ResumeDue({ database, log, onChanged: () => fire.lookNow() })
  const redrive = new Redriving({ database, log, onRedriven: hints.runFired })
  const letterWatch = new LetterWatch({
    database,
    raise: (event) => events.raise(event),
    resolve: (fingerprint, tenant) => events.resolve(fingerprint, tenant),
  })
  const unserved = new UnservedReport({ database, clock, log, metrics })

  const { owning, hurry } = composeOwning(context, ownership, () => fire.lookNow())
  const rescuing = loop(context, 'rescue', rescueMs, () => rescue.runOnce())
  const keeping = loop(context, 'upkeep', upkeepMs, () => upkeep.runOnce())
  const reporting = loop(context, 'unserved', unservedMs, () => unserved.runOnce())
  const resuming = loop(context, 'resume', resumeMs, () => resume.runOnce())
  const redriving = loop(context, 'redrive', redriveMs, () => redrive.runOnce())
  const background = composeBackground(context, { lookNow: () => fire.lookNow(), runFired: hints.runFired })
  const watching = loop(context, 'dead-letters', letterWatchMs, () => letterWatch.runOnce())
  const remote = composeRemoteWatch(context, () => rescuing.wake())
  const settling = loop(context, 'events', eventsMs, () => events.runOnce())

  return {
    services: [
      ...[owning, ...fire.services, rescuing, keeping, reporting, resuming, settling, redriving, watching],
      ...background.services,
      ...remote.services,
      composeBreakers(context, events),
      ...composeOutbox(context, events, { jobChanged: () => fire.lookNow(), runFired: hints.runFired }),
    ],
    ownership,
    prepare: () => upkeep.makeDays(),
    jobChanged: () => fire.lookNow(),
    operationStarted: () => background.operationStarted(),
    report: () => fire.report(),
    peerGone() {
      hurry()
      rescuing.wake()
    },
    lost: () => ownership.dropAll(),
    async handOver() {
      const fired = fire.stop()
      remote.giveUp()
      await Promise.all([fired, ...[owning, ...fire.services].map((service) => service.stop())])
      await ownership.releaseAll()
    },
  }
}
