import { FleetSamples } from '../pipeline/monitor/fleet-sample.js'
import { JobSeries } from '../pipeline/monitor/job-series.js'
import { nodeRoles } from '../platform/metrics.js'
import { Service } from '../platform/service.js'
import { version } from '../version.js'
import type { Context } from './context.js'

export interface Monitor {
  fleet: FleetSamples
  jobSeries: JobSeries
  start(): void
  stop(): Promise<void>
}

const sampleMs = 5_000
const forgetMs = 60_000

/** What every process knows of the fleet, whatever its roles: a fleet without schedulers has to be told of by the others. */
export function composeMonitor(ground: Omit<Context, 'jobSeries' | 'traces'>): Monitor {
  const { config, database, membership, clock, log, metrics } = ground
  const fleet = new FleetSamples({ database, clock, metrics })
  const jobSeries = new JobSeries({
    database,
    metrics,
    tag: config.monitorTag,
    most: config.maxMonitoredJobs,
  })
  metrics.build.set({ version }, 1)
  metrics.onRender(() => {
    for (const role of nodeRoles) metrics.nodesAlive.set({ role }, membership.live(role).length)
  })
  const loops = [
    new Service({
      ...{ name: 'fleet-sample', intervalMs: sampleMs, runOnce: () => fleet.runOnce() },
      ...{ clock, log, metrics },
    }),
    new Service({
      ...{ name: 'fleet-count', intervalMs: sampleMs, runOnce: () => fleet.countOnce() },
      ...{ clock, log, metrics },
    }),
    new Service({
      ...{ name: 'job-series', intervalMs: forgetMs, runOnce: () => jobSeries.runOnce() },
      ...{ clock, log, metrics },
    }),
  ]
  return {
    fleet,
    jobSeries,
    start: () => loops.forEach((service) => service.start()),
    stop: async () => void (await Promise.all(loops.map((service) => service.stop()))),
  }
}
