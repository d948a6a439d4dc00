import type { Database } from '../db/pool.js'
import type { ApiPorts } from '../http/api.js'
import { Alerts } from '../pipeline/alert/alerts.js'
import { Channels } from '../pipeline/alert/channels.js'
import { DeadMan } from '../pipeline/alert/dead-man.js'
import { Senders } from '../pipeline/alert/deliver/senders.js'
import { Deliveries } from '../pipeline/alert/deliveries.js'
import { Events } from '../pipeline/alert/events.js'
import { LongRuns, type UnderWay } from '../pipeline/alert/long-runs.js'
import { Routing } from '../pipeline/alert/routing.js'
import { Rules } from '../pipeline/alert/rules.js'
import { Silences } from '../pipeline/alert/silences.js'
import { Watch } from '../pipeline/alert/watch.js'
import { Secrets } from '../pipeline/sign/secrets.js'
import type { Service } from '../platform/service.js'
import { type Context, loop } from './context.js'
import { addressGuardOf } from './worker.js'

export interface AlertsRole {
  services: Service[]
  stop(): Promise<void>
}

const routeMs = 1_000
const deliverMs = 1_000
const longRunsMs = 5_000
/** An Alertmanager forgets what it was not told of for so many intervals. */
const forgottenAfter = 4

/**
 * Whatever roles a process has, it watches, decides whom to tell, and tells: that no scheduler is alive has to be said by whoever is.
 */
export function composeAlerts(
  context: Context,
  { events, worker }: { events: Events; worker: { longest(most: number): UnderWay[] } | null },
): AlertsRole {
  const { config, database, clock, log } = context
  const senders = composeSenders(context)
  const { deadManUrl } = config
  const watch = new Watch({
    ...{ database, clock, log },
    beatMs: Math.max(config.leaseTtlSeconds * 1000, 5 * config.heartbeatMs),
    everyMs: config.alertEverySeconds * 1000,
    resolveDelayMs: config.alertResolveDelaySeconds * 1000,
    ...(deadManUrl !== undefined && {
      deadMan: new DeadMan({
        ...{ database, log, everyMs: config.deadManSeconds * 1000 },
        call: () => senders.call(deadManUrl),
      }),
    }),
  })
  const deliveries = new Deliveries({
    ...{ database, clock, log, resendMs: config.alertResendSeconds * 1000 },
    send: (channel, message) => senders.send(channel, message),
    raise: (event) => events.raise(event),
    resolve: (fingerprint, tenant) => events.resolve(fingerprint, tenant),
  })
  const routing = new Routing({ database, onNews: () => delivering.wake() })
  const longRuns = new LongRuns({
    ...{ database, clock },
    underWay: (most) => worker?.longest(most) ?? [],
    remote: config.roles.includes('api'),
  })
  const watching = loop(context, 'alert-watch', config.alertEverySeconds * 1000, () => watch.runOnce())
  const deciding = loop(context, 'alert-routes', routeMs, () => routing.runOnce())
  const delivering: Service = loop(context, 'alert-deliveries', deliverMs, () => deliveries.runOnce())
  const judging = loop(context, 'long-runs', longRunsMs, () => longRuns.runOnce())
  const keeping = loop(context, 'alert-events', longRunsMs, () => events.runOnce())
  const services = [watching, deciding, delivering, judging, keeping]
  return {
    services,
    async stop() {
      await Promise.all(services.map((service) => service.stop()))
      await senders.close()
      await deliveries.idle()
    },
  }
}

export function composeEvents({
  config,
  database,
  log,
}: Pick<Context, 'config' | 'database' | 'log'>): Events {
  return new Events({ database, log, resolveDelayMs: config.alertResolveDelaySeconds * 1000 })
}

function composeSenders(context: Context): Senders {
  const { config, database } = context
  const secrets = new Secrets(database)
  return new Senders({
    guard: addressGuardOf(config),
    alertLivesMs: forgottenAfter * config.alertResendSeconds * 1000,
    async secretsOf(tenant) {
      const keys = (await secrets.keysOf([tenant])).get(tenant) ?? []
      const now = context.databaseClock.atLeast()
      return keys.filter(({ retiresAt }) => retiresAt === null || retiresAt > now).map(({ secret }) => secret)
    },
  })
}

/** What people do with alerts, over connections that are confined to their tenant. */
export function composeAlertPorts(
  context: Context,
  database: Database,
  jobOf: (tenant: number, jobId: string) => Promise<number>,
): {
  ports: Pick<ApiPorts, 'alerts' | 'alertSilences' | 'alertRules' | 'alertChannels'>
  close(): Promise<void>
} {
  const { database: fleet, databaseClock, config, log } = context
  const senders = composeSenders(context)
  const walls = { database, fleet, log }
  const channels = new Channels({
    ...walls,
    guard: addressGuardOf(config),
    now: () => databaseClock.atLeast(),
    send: (channel, message) => senders.send(channel, message),
  })
  return {
    ports: {
      alerts: new Alerts({ ...walls, jobOf }),
      alertSilences: new Silences({ ...walls, jobOf }),
      alertRules: new Rules({
        ...walls,
        jobOf,
        channelsOf: (runner, tenant) => channels.ids(runner, tenant),
      }),
      alertChannels: channels,
    },
    close: () => senders.close(),
  }
}
