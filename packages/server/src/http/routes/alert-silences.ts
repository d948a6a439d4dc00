import { AlertSilence, AlertSilenceInput, AlertSilenceList } from '@carillon/contract'
import { Type } from 'typebox'
import type { FastifyInstance } from 'fastify'
import type { AlertSilencesPort } from '../api.js'
import { emptyBody } from '../json-body.js'
import { bodyErrors, commonErrors, operation } from '../openapi.js'
import { refTo } from '../schemas.js'
import { resolveTenant } from '../tenant.js'

const listOperation = operation({
  operationId: 'listAlertSilences',
  summary: 'List the silences that have not ended',
  tag: 'alerts',
  answers: { 200: { description: 'The one that ends first first', schema: refTo(AlertSilenceList) } },
  errors: [...commonErrors],
})

const createOperation = operation({
  operationId: 'createAlertSilence',
  summary: 'Tell nobody of some alerts for a time',
  description:
    'By kind, by job, by tag; what is left out stands for all. Alerts are raised and shown all the same. What is open when the ' +
    'silence ends is told then.',
  tag: 'alerts',
  body: refTo(AlertSilenceInput),
  answers: { 201: { description: 'The silence', schema: refTo(AlertSilence) } },
  errors: ['job_not_found', 'alert_limit_reached', ...bodyErrors, ...commonErrors],
})

const deleteOperation = operation({
  operationId: 'deleteAlertSilence',
  summary: 'End a silence',
  tag: 'alerts',
  params: Type.Object({ silence_id: Type.String({ description: 'sil_…' }) }),
  answers: { 204: { description: 'It has ended' } },
  errors: ['alert_silence_not_found', ...commonErrors],
})

export function addAlertSilenceRoutes(app: FastifyInstance, silences: AlertSilencesPort): void {
  app.get('/alert-silences', {
    schema: listOperation,
    handler: async (request) => silences.list(await resolveTenant(request)),
  })

  app.post<{ Body: AlertSilenceInput }>('/alert-silences', {
    schema: createOperation,
    preValidation: (request, _reply, done) => done(request.body === undefined ? emptyBody() : undefined),
    handler: async (request, reply) =>
      reply.code(201).send(await silences.create(await resolveTenant(request), request.body)),
  })

  app.delete<{ Params: { silence_id: string } }>('/alert-silences/:silence_id', {
    schema: deleteOperation,
    handler: async (request, reply) => {
      await silences.delete(await resolveTenant(request), request.params.silence_id)
      return reply.code(204).send()
    },
  })
}
