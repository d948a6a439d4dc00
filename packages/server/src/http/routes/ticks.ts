import { limits, MoveInput, RestoreInput, SkipInput, Tick, TickList } from '@carillon/contract'
import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import type { TicksPort } from '../api.js'
import { bodyMayBeEmpty } from '../json-body.js'
import { bodyErrors, commonErrors, operation } from '../openapi.js'
import { integersIn } from '../page.js'
import { refTo } from '../schemas.js'
import { resolveTenant } from '../tenant.js'
import { type JobParams, jobParams } from './jobs.js'

const ticksQuery = Type.Object(
  {
    from: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        description: 'Ticks from this instant on; now if left out',
      }),
    ),
    count: Type.Optional(
      Type.Integer({ minimum: 1, maximum: limits.ticksPage, default: 10, description: 'How many' }),
    ),
  },
  { additionalProperties: false },
)
type TicksQuery = Static<typeof ticksQuery>

const listOperation = operation({
  operationId: 'listTicks',
  summary: 'List the coming ticks of a job, as they will be',
  tag: 'jobs',
  params: jobParams,
  querystring: ticksQuery,
  answers: { 200: { description: 'In the order of their instants', schema: refTo(TickList) } },
  errors: ['validation_failed', 'unknown_field', 'job_not_found', 'invalid_schedule', ...commonErrors],
})

const changeErrors = [
  ...bodyErrors,
  'job_not_found',
  'tick_not_found',
  'tick_passed',
  'tick_in_flight',
  'job_ended',
  'job_name_taken',
  'invalid_schedule',
  ...commonErrors,
] as const

const skipOperation = operation({
  operationId: 'skipTick',
  summary: 'Leave one tick out that is ahead',
  description:
    'At its instant the ledger says skipped, with the reason skipped_by_request. Until then it can be restored. A tick ' +
    'that is staged is taken back; one that a worker holds, or that has passed, cannot be skipped.',
  tag: 'jobs',
  params: jobParams,
  body: refTo(SkipInput),
  answers: { 200: { description: 'The tick as it is now', schema: refTo(Tick) } },
  errors: [...changeErrors, 'too_many_tick_changes'],
})

const moveOperation = operation({
  operationId: 'moveTick',
  summary: 'Start one tick at another time',
  description:
    'Earlier or later, but not past the ticks beside it: ticks start in their order. It stays the tick that it is: ' +
    'scheduled_at and the idempotency key are those of its own instant.',
  tag: 'jobs',
  params: jobParams,
  body: refTo(MoveInput),
  answers: { 200: { description: 'The tick as it is now', schema: refTo(Tick) } },
  errors: [...changeErrors, 'too_many_tick_changes'],
})

const restoreOperation = operation({
  operationId: 'restoreTick',
  summary: 'Take back that a tick is skipped or moved',
  tag: 'jobs',
  params: jobParams,
  body: refTo(RestoreInput),
  answers: { 200: { description: 'The tick as it is now', schema: refTo(Tick) } },
  errors: changeErrors,
})

export function addTickRoutes(app: FastifyInstance, ticks: TicksPort): void {
  app.get<{ Params: JobParams; Querystring: TicksQuery }>('/jobs/:job_id/ticks', {
    schema: listOperation,
    preValidation: integersIn('count'),
    handler: async (request) => {
      const { from, count = 10 } = request.query
      return ticks.list(await resolveTenant(request), request.params.job_id, { from, count })
    },
  })

  app.post<{ Params: JobParams; Body: SkipInput }>('/jobs/:job_id/ticks/skip', {
    schema: skipOperation,
    preValidation: bodyMayBeEmpty,
    handler: async (request) => ticks.skip(await resolveTenant(request), request.params.job_id, request.body),
  })

  app.post<{ Params: JobParams; Body: MoveInput }>('/jobs/:job_id/ticks/move', {
    schema: moveOperation,
    preValidation: bodyMayBeEmpty,
    handler: async (request) => ticks.move(await resolveTenant(request), request.params.job_id, request.body),
  })

  app.post<{ Params: JobParams; Body: RestoreInput }>('/jobs/:job_id/ticks/restore', {
    schema: restoreOperation,
    preValidation: bodyMayBeEmpty,
    handler: async (request) =>
      ticks.restore(await resolveTenant(request), request.params.job_id, request.body),
  })
}
