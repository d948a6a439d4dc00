import { CarillonError, limits } from '@carillon/contract'
import Fastify, { type FastifyInstance, LogController } from 'fastify'
import type { Logger } from 'pino'
import { withoutKeys } from '../platform/key.js'
import { inspectAddress } from './address-inspect.js'
import type { AccessPort, ApiPorts, HealthPort, MetricsPort } from './api.js'
import { authenticate } from './authenticate.js'
import { answerClientError } from './client-errors.js'
import { parseJsonBody } from './json-body.js'
import { hideValues } from './hidden-values.js'
import { type KnownRoute, KnownRoutes } from './known-routes.js'
import { collectOpenApi } from './openapi.js'
import { answerError, answerUnknownRoute } from './problems.js'
import { requestIdOf } from './request-id.js'
import { addAccountRoutes } from './routes/account.js'
import { addBackfillRoutes } from './routes/backfills.js'
import { addAlertChannelRoutes } from './routes/alert-channels.js'
import { addAlertRuleRoutes } from './routes/alert-rules.js'
import { addAlertSilenceRoutes } from './routes/alert-silences.js'
import { addAlertRoutes } from './routes/alerts.js'
import { addAuditRoutes } from './routes/audit.js'
import { addBrakeRoutes } from './routes/brake.js'
import { addBulkRoute } from './routes/bulk.js'
import { addClusterRoutes } from './routes/cluster.js'
import { addCalendarRoutes } from './routes/calendars.js'
import { addDeadLetterRoutes } from './routes/dead-letters.js'
import { addDashboard } from './routes/dashboard.js'
import { addHealthRoutes } from './routes/health.js'
import { addJobChangeRoutes } from './routes/job-changes.js'
import { addJobVersionRoutes } from './routes/job-versions.js'
import { addJobRoutes } from './routes/jobs.js'
import { addKeyRoutes } from './routes/keys.js'
import { addNamedJobRoutes } from './routes/named-jobs.js'
import { addRedriveRoutes } from './routes/redrives.js'
import { addReferenceRoutes } from './routes/reference.js'
import { addLeaseRoutes } from './routes/leases.js'
import { addLoadRoutes } from './routes/load.js'
import { addOperationRoutes } from './routes/operations.js'
import { addRunRoutes } from './routes/runs.js'
import { addRunStreamRoute } from './routes/run-stream.js'
import { addScheduleRoutes } from './routes/schedules.js'
import { addSigningSecretRoutes } from './routes/signing-secrets.js'
import { addStatsRoute } from './routes/stats.js'
import { addStatusRoute } from './routes/status.js'
import { addTargetRoutes } from './routes/targets.js'
import { addTickRoutes } from './routes/ticks.js'
import { addTenantRoutes } from './routes/tenants.js'
import { addComponents } from './schemas.js'
import { timeouts } from './timeouts.js'
import { toValidationError } from './validation.js'

export interface AppOptions {
  maxBodyBytes: number
  /** Of POST /jobs/bulk. */
  maxBulkBodyBytes?: number
  version: string
  log: Logger
  health: HealthPort
  metrics: MetricsPort
  access: AccessPort
  /** Null in processes without the api role: health and metrics only. */
  api: ApiPorts | null
  dashboardDir: string | null
}

const defaultBulkBodyBytes = 32 * 1024 * 1024

/** Fastify with everything of ours on it, not yet listening. */
export function buildApp(options: AppOptions): { app: FastifyInstance; routes: readonly KnownRoute[] } {
  const app = createFastify(options)
  const routes = new KnownRoutes(app)
  app.setErrorHandler(answerError)
  app.setNotFoundHandler(answerUnknownRoute(routes))
  app.setSchemaErrorFormatter(toValidationError)
  // The schemas of answers are documentation: what the ports give is sent as it is, never trimmed to fit.
  app.setSerializerCompiler(() => (value) => JSON.stringify(value))
  readOnlyJson(app)
  addCommonHeaders(app, options.log)
  countAnswers(app, options.metrics)
  addComponents(app)
  app.register(async (scope) => {
    await collectOpenApi(scope, options.version)
    const { api, dashboardDir } = options
    await scope.register(async (guarded) => {
      authenticate(guarded, options.access)
      addHealthRoutes(guarded, options.health, options.metrics)
      const { maxBulkBodyBytes = defaultBulkBodyBytes } = options
      if (api === null) return
      const { health } = options
      await guarded.register(addApi, { prefix: '/api/v1', ports: api, health, maxBulkBodyBytes })
    })
    if (api === null) return
    // Its files hold no data: what they show is asked of the API.
    if (dashboardDir !== null) await scope.register(async (pages) => addDashboard(pages, dashboardDir))
  })
  return { app, routes: routes.all }
}

function createFastify({ log, maxBodyBytes }: AppOptions): FastifyInstance {
  return Fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'request_id' }),
    requestIdHeader: false,
    genReqId: requestIdOf,
    bodyLimit: maxBodyBytes,
    connectionTimeout: timeouts.silence,
    keepAliveTimeout: timeouts.keepAlive,
    requestTimeout: timeouts.request,
    http: {
      headersTimeout: timeouts.headers,
      requestTimeout: timeouts.request,
      connectionsCheckingInterval: timeouts.checkEvery,
    },
    // A request that arrives on an open connection while the server closes is served, then the connection ends.
    return503OnClosing: false,
    // A name of the longest kind, each character percent-encoded, still has a route.
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 12 * limits.name },
    clientErrorHandler: answerClientError,
    frameworkErrors: (error, request, reply) => {
      answerError(error, request, reply)
    },
    ajv: {
      customOptions: {
        allErrors: true,
        coerceTypes: false,
        removeAdditional: false,
        useDefaults: false,
        discriminator: true,
        allowUnionTypes: true,
        verbose: true,
      },
    },
  }) as unknown as FastifyInstance
}

function readOnlyJson(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    try {
      done(null, parseJsonBody(body as Buffer, request.headers['content-type']))
    } catch (error) {
      done(error as Error)
    }
  })
}

function addCommonHeaders(app: FastifyInstance, log: Logger): void {
  app.addHook('onRequest', (request, reply, done) => {
    void reply.headers({
      'X-Request-Id': request.id,
      'X-Content-Type-Options': 'nosniff',
      'Referrer-Policy': 'no-referrer',
      'Cache-Control': 'no-store',
    })
    done()
  })
  app.addHook('onResponse', (request, reply, done) => {
    if (!log.isLevelEnabled('debug')) return done()
    const { method, url } = request
    request.log.debug(
      { method, url: withoutKeys(url), status: reply.statusCode, ms: Math.round(reply.elapsedTime) },
      'answered',
    )
    done()
  })
}

function countAnswers(app: FastifyInstance, metrics: MetricsPort): void {
  app.addHook('onResponse', (request, reply, done) => {
    const schema = request.routeOptions.schema as { operationId?: string } | undefined
    metrics.answered?.(schema?.operationId, reply.statusCode, reply.elapsedTime)
    done()
  })
}

function addApi(
  app: FastifyInstance,
  { ports, health, maxBulkBodyBytes }: { ports: ApiPorts; health: HealthPort; maxBulkBodyBytes: number },
  done: () => void,
): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const encoding = request.headers['content-encoding'] ?? 'identity'
    if (encoding.toLowerCase() === 'identity') done()
    else done(refusedEncoding(encoding))
  })
  app.addHook('preValidation', inspectAddress)
  hideValues(app)
  addJobRoutes(app, ports.jobs, ports.idempotency)
  addBulkRoute(app, ports.jobs, ports.idempotency, maxBulkBodyBytes)
  addJobChangeRoutes(app, ports.jobs, ports.idempotency)
  addTickRoutes(app, ports.ticks)
  addBackfillRoutes(app, ports.backfills, ports.idempotency)
  addLoadRoutes(app, ports.load)
  addNamedJobRoutes(app, ports.jobs)
  addJobVersionRoutes(app, ports.jobs)
  addScheduleRoutes(app, ports.schedules)
  addCalendarRoutes(app, ports.calendars)
  addTargetRoutes(app, ports.targets)
  addRunRoutes(app, ports.runs)
  addRunStreamRoute(app, ports.runStreams)
  addOperationRoutes(app, ports.operations, ports.idempotency)
  addStatsRoute(app, ports.stats)
  addStatusRoute(app, health)
  addDeadLetterRoutes(app, ports.deadLetters)
  addRedriveRoutes(app, ports.deadLetters)
  addSigningSecretRoutes(app, ports.signingSecrets)
  addLeaseRoutes(app, ports.leases)
  addAccountRoutes(app, ports.account)
  addClusterRoutes(app, ports.account)
  addBrakeRoutes(app, ports.account)
  addAlertRoutes(app, ports.alerts)
  addAlertSilenceRoutes(app, ports.alertSilences)
  addAlertRuleRoutes(app, ports.alertRules)
  addAlertChannelRoutes(app, ports.alertChannels)
  addReferenceRoutes(app)
  addKeyRoutes(app, ports.keys)
  addTenantRoutes(app, ports.tenants)
  addAuditRoutes(app, ports.audit)
  done()
}

function refusedEncoding(encoding: string): CarillonError {
  return new CarillonError('unsupported_media_type', {
    detail: `The body has the content encoding ${JSON.stringify(encoding)}; compressed bodies are not read.`,
    hint: 'Send the body as it is, without Content-Encoding.',
  })
}
