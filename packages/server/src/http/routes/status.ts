import { ServiceStatus } from '@carillon/contract'
import type { FastifyInstance } from 'fastify'
import type { HealthPort } from '../api.js'
import { commonErrors, operation } from '../openapi.js'
import { refTo } from '../schemas.js'

const statusOperation = operation({
  operationId: 'getStatus',
  summary: 'Whether the fleet does its work, and if not, why',
  description:
    'For people and the dashboard; load balancers and supervisors ask `/readyz` and `/healthz`. Answered from memory, also while the ' +
    'database is away. The status code is 200 whatever the state is.',
  tag: 'operations',
  answers: { 200: { description: 'The state, with reasons', schema: refTo(ServiceStatus) } },
  errors: [...commonErrors],
})

export function addStatusRoute(app: FastifyInstance, health: HealthPort): void {
  app.get('/status', {
    schema: statusOperation,
    handler: async (_request, reply) => reply.send(health.status()),
  })
}
