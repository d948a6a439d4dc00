import { Stats } from '@carillon/contract'
import type { FastifyInstance } from 'fastify'
import type { StatsPort } from '../api.js'
import { commonErrors, operation } from '../openapi.js'
import { refTo } from '../schemas.js'
import { resolveTenant } from '../tenant.js'

const statsOperation = operation({
  operationId: 'getStats',
  summary: 'See how things go, in numbers',
  description:
    'Jobs, runs in flight, and what became of the runs of the last minute and hour. Counted at most once a second, and less ' +
    'often where counting takes long: `now` says when.',
  tag: 'operations',
  answers: { 200: { description: 'The numbers', schema: refTo(Stats) } },
  errors: [...commonErrors],
})

export function addStatsRoute(app: FastifyInstance, stats: StatsPort): void {
  app.get('/stats', {
    schema: statsOperation,
    handler: async (request) => stats.get(await resolveTenant(request)),
  })
}
