import type { Ownership } from '../cluster/ownership.js'
import type { Events } from '../pipeline/alert/events.js'
import type { HandOver } from '../pipeline/fire/hand-over.js'
import { Rezone } from '../pipeline/fire/rezone.js'
import { FireTier, type FireTierOptions } from '../pipeline/fire/tier.js'
import { incarnationName, jobIdOf } from '../platform/ids.js'
import type { Service } from '../platform/service.js'
import { type Context, loop } from './context.js'
import type { RunSpans } from './run-spans.js'

/** A tick is told as the run that it became. */
function firedSpans(spans: RunSpans, now: () => number): Pick<FireTierOptions, 'told' | 'toldCaughtUp'> {
  return {
    told({ timer, runDue }, at) {
      if (runDue === null) return
      const { job, partition, version, uuid } = timer
      const identity = { due: runDue, job, partition, origin: 0, seq: 0 }
      spans.fired({ ...identity, jobId: jobIdOf(uuid), version, at, catchUp: false })
    },
    toldCaughtUp({ replay, origin, seq }) {
      const { job, partition, version, uuid, cursor_ms: due } = replay
      spans.fired({
        due,
        job,
        partition,
        origin,
        seq,
        jobId: jobIdOf(uuid),
        version,
        at: now(),
        catchUp: true,
      })
    },
  }
}

export interface FiringRole {
  services: Service[]
  /** What an owner's leases hang on. */
  sinceProgressMs(): number
  lookNow(): void
  report(): Record<string, unknown>
  /** Resolves when what has begun has ended. */
  stop(): Promise<void>
}

/** Changes reach the wheel within a second. */
const horizonMs = 500
const catchUpMs = 250
const brakeMs = 1_000

/** The loops that turn ticks into runs: due ones, those of the coming minutes, those that were missed. */
export function composeFiring(
  context: Context,
  parts: {
    ownership: Ownership
    events: Events
    onFired: (leftFrom: number | null) => void
    onCaughtUp: () => void
    handOver: HandOver | null
  },
): FiringRole {
  const { config, database, databaseClock, membership, clock, log, metrics } = context
  const { ownership, events, onFired, onCaughtUp, handOver } = parts
  const tier = new FireTier({
    database,
    databaseClock,
    clock,
    log,
    metrics,
    stageAheadMs: config.stageAheadMs,
    scanIntervalMs: config.scanIntervalMs,
    lateToleranceMs: config.lateToleranceSeconds * 1000,
    // A tick that waited for a takeover is no sign of overload.
    overloadLagMs: Math.max(config.overloadLagSeconds, config.leaseTtlSeconds) * 1000,
    horizonMs: config.horizonSeconds * 1000,
    wheelCapacity: config.wheelCapacity,
    catchUpFloorPerSecond: config.catchUpPerSecond,
    largeCatchUpTicks: config.largeCatchUpTicks,
    self: () => membership.incarnation,
    nodeName: () => incarnationName(membership.incarnation),
    owned: () => ownership.current(),
    disown: (refused) => ownership.disown(refused),
    onFired,
    onCaughtUp,
    ...(handOver !== null && { handOver }),
    ...(context.traces !== null && firedSpans(context.traces.runs, () => databaseClock.atLeast())),
    raise: (event) => events.raise({ tenant: null, ...event }),
    resolve: (fingerprint) => events.resolve(fingerprint),
    wake: () => firing.wake(),
  })
  const rezone = new Rezone({
    database,
    log,
    self: () => membership.incarnation,
    owned: () => ownership.current(),
  })
  // First, and the soonest timers first: a tick shall not fire by zone data that has changed.
  const rezoneSome = () =>
    rezone.runOnce().catch((error: unknown) => {
      log.error({ err: error }, 'cursors could not be computed with the new zone data')
      return false
    })
  const firing: Service = loop(context, 'fire', config.scanIntervalMs, async () => {
    const toRezone = await rezoneSome()
    return (await tier.firing.runOnce()) || toRezone
  })
  const foreseeing = loop(context, 'horizon', horizonMs, async () => {
    const more = await tier.horizon.refresh()
    tier.firing.horizonChanged()
    return more
  })
  const catchingUp = loop(context, 'catch-up', catchUpMs, () => tier.catchUp.runOnce())
  const braking = loop(context, 'brake', brakeMs, () => tier.brake.runOnce())
  return {
    services: [firing, foreseeing, catchingUp, braking],
    sinceProgressMs: () => tier.firing.sinceProgressMs(),
    lookNow() {
      tier.firing.lookNow()
      foreseeing.wake()
    },
    report: () => tier.report(),
    stop: () => tier.firing.stop(),
  }
}
