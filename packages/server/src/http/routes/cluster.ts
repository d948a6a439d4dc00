import { ClusterView, EventList, limits } from '@carillon/contract'
import { Type } from 'typebox'
import type { FastifyInstance } from 'fastify'
import type { AccountPort } from '../api.js'
import { commonErrors, operation } from '../openapi.js'
import { readIntegers } from '../page.js'
import { refTo } from '../schemas.js'
import { resolveTenant } from '../tenant.js'

const clusterOperation = operation({
  operationId: 'getCluster',
  summary: 'Show the fleet: processes, partitions, lag, queue, catch-ups, brake, open events',
  tag: 'operations',
  answers: { 200: { description: 'The fleet at one moment', schema: refTo(ClusterView) } },
  errors: [...commonErrors],
})

const defaultEvents = 50

const eventsOperation = operation({
  operationId: 'listEvents',
  summary: 'List events: those that go on first, then the latest',
  tag: 'operations',
  querystring: Type.Object(
    {
      state: Type.Optional(
        Type.Unsafe<'open' | 'all'>({ type: 'string', enum: ['open', 'all'], default: 'all' }),
      ),
      limit: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: limits.page,
          default: defaultEvents,
          description: 'How many at most',
        }),
      ),
    },
    { additionalProperties: false },
  ),
  answers: { 200: { description: 'Events', schema: refTo(EventList) } },
  errors: ['validation_failed', 'unknown_field', ...commonErrors],
})

export function addClusterRoutes(app: FastifyInstance, account: AccountPort): void {
  app.get('/cluster', {
    schema: clusterOperation,
    handler: async (request) => account.cluster(await resolveTenant(request)),
  })

  app.get<{ Querystring: { state?: 'open' | 'all'; limit?: number } }>('/events', {
    schema: eventsOperation,
    preValidation: readIntegers,
    handler: async (request) => {
      const { state = 'all', limit = defaultEvents } = request.query
      const tenant = await resolveTenant(request)
      return { data: await account.events({ tenant, openOnly: state === 'open', limit }) }
    },
  })
}
