import { Service } from '../platform/service.js'
import type { Context } from './context.js'

/** Connections that were all reset can be had again at once: the life sign that met it should not wait for a backoff. */
const againMs = 25

/**
 * Life signs and looks at the peers. Beside the interval there are two more occasions: the moment in which a peer whose
 * connection is gone is due for a verdict, so that a crash does not wait for the next heartbeat to be noticed; and the first
 * failure after a success, so that a reset of the connections is not taken for a crash. Nor is an outage of the database: however
 * long that was, a process that lives says so within two heartbeats of its end, which is sooner than anybody doubts it.
 */
export function composeHeartbeat(context: Context): Service {
  const { config, clock, log, metrics, membership } = context
  let cancel = () => undefined as void
  let failed = false
  let beatAt = Number.NEGATIVE_INFINITY
  const beatInMs = () => beatAt + config.heartbeatMs - clock.monotonic()
  const lookAgainIn = (ms: number) => {
    cancel = clock.after(Math.max(1, Math.ceil(ms)), () => heartbeat.wake())
  }
  const beatOrLook = async () => {
    const begunAt = clock.monotonic()
    // Between two life signs a look is enough: whoever waits for the verdict does not wait for another statement.
    if (beatInMs() > 0) return membership.look()
    await membership.heartbeat()
    beatAt = begunAt
  }
  const beat = async () => {
    cancel()
    try {
      await beatOrLook()
      failed = false
    } catch (error) {
      if (!failed) lookAgainIn(againMs)
      failed = true
      throw error
    }
    const soonMs = Math.min(membership.nextLookInMs() ?? Number.POSITIVE_INFINITY, beatInMs())
    if (soonMs < config.heartbeatMs) lookAgainIn(soonMs)
    return undefined
  }
  const heartbeat: Service = new Service({
    name: 'heartbeat',
    intervalMs: config.heartbeatMs,
    longestBackoffMs: 2 * config.heartbeatMs,
    runOnce: beat,
    ...{ clock, log, metrics },
  })
  return heartbeat
}
