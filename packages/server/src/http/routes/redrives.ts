import { Redrive, RedriveFilter, RedriveList } from '@carillon/contract'
import { Type } from 'typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { DeadLettersPort } from '../api.js'
import { bodyMayBeEmpty } from '../json-body.js'
import { bodyErrors, commonErrors, operation } from '../openapi.js'
import { refTo } from '../schemas.js'
import { resolveTenant } from '../tenant.js'

const redriveParams = Type.Object({ redrive: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }) })
interface RedriveParams {
  redrive: number
}

const startOperation = operation({
  operationId: 'redriveDeadLetters',
  summary: 'Put all dead letters that match back into the queue, at a pace',
  description:
    'Goes on in the background, and survives crashes. With a canary so many go first: the rest follows only if all of these ' +
    'succeed. Taken are letters that are dead when it is asked for; one that dies again is not taken a second time.',
  tag: 'dead letters',
  body: refTo(RedriveFilter),
  answers: { 202: { description: 'It has begun', schema: refTo(Redrive) } },
  errors: [...bodyErrors, 'job_not_found', ...commonErrors],
})

const listOperation = operation({
  operationId: 'listRedrives',
  summary: 'List re-drives of many dead letters, the latest first',
  tag: 'dead letters',
  answers: { 200: { description: 'The last hundred', schema: refTo(RedriveList) } },
  errors: [...commonErrors],
})

const getOperation = operation({
  operationId: 'getRedrive',
  summary: 'See how far a re-drive is',
  tag: 'dead letters',
  params: redriveParams,
  answers: { 200: { description: 'The re-drive', schema: refTo(Redrive) } },
  errors: ['validation_failed', 'redrive_not_found', ...commonErrors],
})

const cancelOperation = operation({
  operationId: 'cancelRedrive',
  summary: 'Cancel a re-drive',
  description: 'What is back in the queue stays there.',
  tag: 'dead letters',
  params: redriveParams,
  body: Type.Object({}, { additionalProperties: false }),
  answers: { 200: { description: 'Nothing more is moved', schema: refTo(Redrive) } },
  errors: [...bodyErrors, 'redrive_not_found', 'redrive_ended', ...commonErrors],
})

export function addRedriveRoutes(app: FastifyInstance, letters: DeadLettersPort): void {
  app.post<{ Body: RedriveFilter }>('/dead-letters/redrive', {
    schema: startOperation,
    preValidation: bodyMayBeEmpty,
    handler: async (request, reply) =>
      reply.code(202).send(await letters.startRedrive(await resolveTenant(request), request.body)),
  })

  app.get('/redrives', {
    schema: listOperation,
    handler: async (request) => letters.listRedrives(await resolveTenant(request)),
  })

  app.get<{ Params: RedriveParams }>('/redrives/:redrive', {
    schema: getOperation,
    preValidation: readNumber,
    handler: async (request) => letters.getRedrive(await resolveTenant(request), request.params.redrive),
  })

  app.post<{ Params: RedriveParams }>('/redrives/:redrive/cancel', {
    schema: cancelOperation,
    preValidation: [readNumber, bodyMayBeEmpty],
    handler: async (request) => letters.cancelRedrive(await resolveTenant(request), request.params.redrive),
  })
}

/** The validator converts nothing, and a path has only texts. */
function readNumber(request: FastifyRequest, _reply: FastifyReply, done: () => void): void {
  const params = request.params as Record<string, unknown>
  const text = params['redrive']
  if (typeof text === 'string' && /^[0-9]{1,15}$/.test(text)) params['redrive'] = Number(text)
  done()
}
