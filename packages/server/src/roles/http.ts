import { fileURLToPath } from 'node:url'
import type { AccessPort, HealthPort } from '../http/api.js'
import { createHttpServer, type HttpServer } from '../http/server.js'
import type { Standing } from '../platform/standing.js'
import { version } from '../version.js'
import { describeAccess } from './access.js'
import type { ApiRole } from './api.js'
import type { Context } from './context.js'

/** The port of this process: the API and the dashboard where it has that role, health and metrics where it listens anyway. */
export function composeHttp(
  { config, log, metrics }: Context,
  listenAnyway: boolean,
  parts: {
    health: HealthPort
    access: AccessPort
    api: ApiRole | null
    standing: Standing
  },
): HttpServer | null {
  const { health, access, api, standing } = parts
  if (api === null && !listenAnyway) return null
  log.info({ host: config.host }, describeAccess(config))
  return createHttpServer({
    host: config.host,
    port: config.port,
    maxBodyBytes: config.maxBodyBytes,
    maxBulkBodyBytes: config.maxBulkBodyBytes,
    // Part of the drain: requests are short, and runs under way need the time more.
    closeTimeoutMs: Math.min(3_000, config.drainSeconds * 200),
    version,
    log,
    opened: standing.opened,
    health,
    metrics: {
      contentType: metrics.registry.contentType,
      render: () => metrics.render(),
      answered: (operation, status, ms) => metrics.answered(operation, status, ms),
    },
    access,
    api,
    dashboardDir: api === null ? null : dashboardDir(),
  })
}

function dashboardDir(): string {
  return fileURLToPath(new URL('dist/', import.meta.resolve('@carillon/dashboard/package.json')))
}
