import type { HealthPort } from '../http/api.js'
import type { Service } from '../platform/service.js'
import type { Standing } from '../platform/standing.js'
import type { Context } from './context.js'

/**
 * Ready: in the cluster, and the database answered a heartbeat lately. A node that owns no partition yet is ready; one
 * that is starting or leaving is not, so that a load balancer turns away before the drain ends.
 */
export function composeHealth(
  { config }: Context,
  heartbeat: Service,
  standing: Pick<Standing, 'away'>,
): HealthPort {
  const longestSilenceMs = Math.max(2_000, 4 * config.heartbeatMs)
  return {
    live: () => true,
    ready() {
      const silentMs = Math.round(heartbeat.sinceProgressMs())
      const database =
        silentMs <= longestSilenceMs
          ? { ok: true }
          : { ok: false, detail: `no heartbeat reached the database for ${silentMs} ms` }
      const detail = standing.away
      const process = detail === null ? { ok: true } : { ok: false, detail }
      return Promise.resolve({ ready: database.ok && process.ok, checks: { database, process } })
    },
  }
}
