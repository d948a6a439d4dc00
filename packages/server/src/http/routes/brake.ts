import { Brake, BrakeInput, BrakeState } from '@carillon/contract'
import type { FastifyInstance } from 'fastify'
import type { AccountPort } from '../api.js'
import { emptyBody } from '../json-body.js'
import { bodyErrors, commonErrors, operation } from '../openapi.js'
import { refTo } from '../schemas.js'

const getOperation = operation({
  operationId: 'getBrake',
  summary: 'Show the brake, where one is in force',
  tag: 'operations',
  answers: { 200: { description: 'The brake, or null', schema: refTo(BrakeState) } },
  errors: [...commonErrors],
})

const setOperation = operation({
  operationId: 'setBrake',
  summary: 'Widen fire windows and slow catch-up down, for a time',
  description: 'There is one brake for the whole fleet: setting it again replaces it. It always has an end.',
  tag: 'operations',
  body: refTo(BrakeInput),
  answers: { 200: { description: 'In force; every scheduler follows within seconds', schema: refTo(Brake) } },
  errors: [...bodyErrors, ...commonErrors],
})

const clearOperation = operation({
  operationId: 'clearBrake',
  summary: 'Take the brake off before its end',
  tag: 'operations',
  answers: { 204: { description: 'None is in force' } },
  errors: [...commonErrors],
})

export function addBrakeRoutes(app: FastifyInstance, account: AccountPort): void {
  app.get('/brake', {
    schema: getOperation,
    handler: async () => ({ brake: await account.brake() }),
  })

  app.put<{ Body: BrakeInput }>('/brake', {
    schema: setOperation,
    preValidation: (request, _reply, done) => done(request.body === undefined ? emptyBody() : undefined),
    handler: (request) => account.setBrake(request.body),
  })

  app.delete('/brake', {
    schema: clearOperation,
    handler: async (_request, reply) => {
      await account.clearBrake()
      return reply.code(204).send()
    },
  })
}
