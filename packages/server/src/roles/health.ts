import type { Ownership } from '../cluster/ownership.js'
import type { HealthCheck, HealthPort } from '../http/api.js'
import type { FleetSamples } from '../pipeline/monitor/fleet-sample.js'
import { incarnationName } from '../platform/ids.js'
import { nodeRoles } from '../platform/metrics.js'
import type { Service } from '../platform/service.js'
import type { Standing } from '../platform/standing.js'
import { version } from '../version.js'
import type { Context } from './context.js'
import { describeOwnsNothing, judgeStatus } from './status.js'

export interface HealthParts {
  heartbeat: Service
  standing: Pick<Standing, 'away'>
  fleet: Pick<FleetSamples, 'latest'>
  /** Null in processes that own nothing by their roles. */
  ownership: Pick<Ownership, 'withoutMs' | 'isSpare' | 'current'> | null
  loops: readonly Service[]
}

/** Loops whose passes are a few statements with deadlines: one that goes on for longer than this hangs for ever. */
const watchedLoops: ReadonlySet<string> = new Set(['own', 'fire', 'lease', 'revocations'])
const longestPassMs = 300_000

/**
 * Live: no loop hangs; a restart would help. A database that is away is no reason for one.
 *
 * Ready: in the cluster, the database answered a heartbeat lately, and a process that is only a scheduler holds partitions where its
 * assignment has some. One that also serves the API goes on serving it without them. A process that is starting or leaving is not ready, so
 * that a load balancer turns away before the drain ends.
 */
export function composeHealth(
  { config, clock, membership }: Pick<Context, 'config' | 'clock' | 'membership'>,
  { heartbeat, standing, fleet, ownership, loops }: HealthParts,
): HealthPort {
  const begun = clock.monotonic()
  const longestSilenceMs = Math.max(2_000, 4 * config.heartbeatMs)
  const graceMs = 2 * config.leaseTtlSeconds * 1000
  const watched = [heartbeat, ...loops.filter(({ name }) => watchedLoops.has(name))]
  const schedulers = () => membership.live('scheduler').length
  const owning = (held: NonNullable<HealthParts['ownership']>): HealthCheck => {
    if (clock.monotonic() - begun <= graceMs) return { ok: true }
    const withoutMs = held.withoutMs()
    if (withoutMs > graceMs) return { ok: false, detail: describeOwnsNothing(withoutMs, schedulers()) }
    // Spare, because others have all: unless nobody has any.
    const deserted = held.isSpare() && fleet.latest()?.sample.owners === 0
    return deserted ? { ok: false, detail: 'no scheduler owns a partition' } : { ok: true }
  }
  return {
    live: () => watched.every((service) => service.inPassMs() <= longestPassMs),
    ready() {
      const silentMs = Math.round(heartbeat.sinceProgressMs())
      const database: HealthCheck =
        silentMs <= longestSilenceMs
          ? { ok: true }
          : { ok: false, detail: `no heartbeat reached the database for ${silentMs} ms` }
      const detail = standing.away
      const process: HealthCheck = detail === null ? { ok: true } : { ok: false, detail }
      const checks: Record<string, HealthCheck> = { database, process }
      if (ownership !== null && !config.roles.includes('api')) checks['ownership'] = owning(ownership)
      return Promise.resolve({ ready: Object.values(checks).every(({ ok }) => ok), checks })
    },
    status() {
      const counted = fleet.latest()
      const [api, scheduler, worker] = nodeRoles.map((role) => membership.live(role).length)
      const alive = { api: api ?? 0, scheduler: scheduler ?? 0, worker: worker ?? 0 }
      const silentMs = heartbeat.sinceProgressMs()
      const facts = {
        ...{ silentMs, longestSilenceMs, away: standing.away, alive, counted },
        lagBoundMs: config.overloadLagSeconds * 1000,
        ownership: ownership === null ? null : { withoutMs: ownership.withoutMs(), graceMs },
      }
      return {
        ...judgeStatus(facts),
        lag_ms: counted?.sample.oldest_due_ms ?? null,
        oldest_ready_ms: counted?.sample.oldest_ready_ms ?? null,
        partitions_unowned: counted?.sample.unowned ?? null,
        counted_ms_ago: counted === null ? null : Math.round(counted.ageMs),
        alive,
        node: {
          node: incarnationName(membership.incarnation),
          roles: [...config.roles],
          version,
          partitions: ownership?.current().length ?? 0,
        },
      }
    },
  }
}
