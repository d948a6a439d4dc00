import { Type } from 'typebox'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { HealthPort, MetricsPort } from '../api.js'
import { operation } from '../openapi.js'

const word = (...values: string[]) => Type.Unsafe<string>({ type: 'string', enum: values })

const liveSchema = Type.Object({ status: word('ok', 'failing') })
const readySchema = Type.Object({
  status: word('ready', 'not_ready'),
  checks: Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    additionalProperties: Type.Object({ ok: Type.Boolean(), detail: Type.Optional(Type.String()) }),
  }),
})

const liveOperation = operation({
  operationId: 'getLiveness',
  summary: 'Whether the process works; restart it when it does not',
  tag: 'operations',
  answers: {
    200: { description: 'Alive', schema: liveSchema },
    503: { description: 'A loop of the process has stopped', schema: liveSchema },
  },
  errors: ['internal_error'],
})

const readyOperation = operation({
  operationId: 'getReadiness',
  summary: 'Whether the process can do its work now, check by check',
  tag: 'operations',
  answers: {
    200: { description: 'Ready', schema: readySchema },
    503: { description: 'Not ready; checks say why', schema: readySchema },
  },
  errors: ['internal_error'],
})

const metricsOperation = operation({
  operationId: 'getMetrics',
  summary: 'Metrics of this process, for Prometheus',
  tag: 'operations',
  answers: {
    200: { description: 'Text exposition format', schema: { type: 'string' }, mediaType: 'text/plain' },
  },
  errors: ['unauthenticated', 'forbidden', 'database_unavailable', 'internal_error'],
})

export function addHealthRoutes(app: FastifyInstance, health: HealthPort, metrics: MetricsPort): void {
  app.get('/healthz', { schema: liveOperation }, async (_request, reply) => {
    const live = health.live()
    return reply.code(live ? 200 : 503).send({ status: live ? 'ok' : 'failing' })
  })

  app.get('/readyz', { schema: readyOperation }, async (request, reply) => {
    const { ready, checks } = await readiness(health, request)
    return reply.code(ready ? 200 : 503).send({ status: ready ? 'ready' : 'not_ready', checks })
  })

  app.get('/metrics', { schema: metricsOperation }, async (_request, reply) => {
    return reply.header('Content-Type', metrics.contentType).send(await metrics.render())
  })
}

/** A check that itself fails is a server that is not ready, and never a broken answer. */
async function readiness(health: HealthPort, request: FastifyRequest): ReturnType<HealthPort['ready']> {
  try {
    return await health.ready()
  } catch (error) {
    request.log.error({ err: error }, 'the readiness check itself failed')
    return {
      ready: false,
      checks: { readiness: { ok: false, detail: 'the check itself failed; see the log' } },
    }
  }
}
