import { limits, TargetHost, TargetHostList, TargetLimitsInput } from '@carillon/contract'
import { Type } from 'typebox'
import type { FastifyInstance } from 'fastify'
import type { TargetsPort } from '../api.js'
import { emptyBody } from '../json-body.js'
import { bodyErrors, commonErrors, operation } from '../openapi.js'
import { type PageParameters, pageOf, pageSchema, readIntegers } from '../page.js'
import { refTo } from '../schemas.js'
import { resolveTenant } from '../tenant.js'

const hostParams = Type.Object({
  host: Type.String({ description: 'As in the URL, with its port unless that is the usual one' }),
})
interface HostParams {
  host: string
}

const listOperation = operation({
  operationId: 'listTargets',
  summary: 'List the hosts that jobs call, with their limits and breakers',
  tag: 'targets',
  querystring: pageSchema(limits.page),
  answers: { 200: { description: 'By name', schema: refTo(TargetHostList) } },
  errors: ['validation_failed', 'unknown_field', 'invalid_cursor', ...commonErrors],
})

const getOperation = operation({
  operationId: 'getTarget',
  summary: 'Show one host',
  tag: 'targets',
  params: hostParams,
  answers: { 200: { description: 'The host', schema: refTo(TargetHost) } },
  errors: ['target_not_found', 'validation_failed', ...commonErrors],
})

const putOperation = operation({
  operationId: 'putTargetLimits',
  summary: 'Limit the calls to a host',
  description:
    'Sets the limits that are given; what is left out stays, null takes a limit away. They hold for the whole fleet ' +
    'from the next lease on. What is beyond them waits in the queue and uses up no attempt.',
  tag: 'targets',
  params: hostParams,
  body: refTo(TargetLimitsInput),
  answers: { 200: { description: 'The host as it is now', schema: refTo(TargetHost) } },
  errors: [...bodyErrors, ...commonErrors],
})

const deleteOperation = operation({
  operationId: 'deleteTargetLimits',
  summary: 'Take all limits of a host away',
  tag: 'targets',
  params: hostParams,
  answers: { 204: { description: 'It has none' } },
  errors: ['target_not_found', 'validation_failed', ...commonErrors],
})

const resetOperation = operation({
  operationId: 'resetTarget',
  summary: 'Say that a host is well: its breaker lets runs through again',
  description: 'What is parked leaves at the pace of a drain; then the breaker is closed.',
  tag: 'targets',
  params: hostParams,
  answers: { 200: { description: 'The host as it is now', schema: refTo(TargetHost) } },
  errors: ['target_not_found', 'validation_failed', ...commonErrors],
})

export function addTargetRoutes(app: FastifyInstance, targets: TargetsPort): void {
  app.get<{ Querystring: PageParameters }>('/targets', {
    schema: listOperation,
    preValidation: readIntegers,
    handler: async (request) => targets.list(await resolveTenant(request), pageOf(request.query)),
  })

  app.get<{ Params: HostParams }>('/targets/:host', {
    schema: getOperation,
    handler: async (request) => targets.get(await resolveTenant(request), request.params.host),
  })

  app.put<{ Params: HostParams; Body: TargetLimitsInput }>('/targets/:host', {
    schema: putOperation,
    preValidation: (request, _reply, done) => done(request.body === undefined ? emptyBody() : undefined),
    handler: async (request) => targets.put(await resolveTenant(request), request.params.host, request.body),
  })

  app.delete<{ Params: HostParams }>('/targets/:host', {
    schema: deleteOperation,
    handler: async (request, reply) => {
      await targets.deleteLimits(await resolveTenant(request), request.params.host)
      return reply.code(204).send()
    },
  })

  app.post<{ Params: HostParams }>('/targets/:host/reset', {
    schema: resetOperation,
    handler: async (request) => targets.reset(await resolveTenant(request), request.params.host),
  })
}
