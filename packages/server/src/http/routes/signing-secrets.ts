import { RevealedSigningSecret, RotateInput, SigningSecretList } from '@carillon/contract'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import type { SigningSecretsPort } from '../api.js'
import { emptyBody } from '../json-body.js'
import { bodyErrors, commonErrors, operation } from '../openapi.js'
import { refTo } from '../schemas.js'
import { resolveTenant } from '../tenant.js'

const secretParams = Type.Object({ id: Type.String({ description: 'sgn_…' }) })

const listOperation = operation({
  operationId: 'listSigningSecrets',
  summary: 'List the secrets that webhooks are signed with',
  description: 'The current one first, then those that retire. The secrets themselves are not in the answer.',
  tag: 'webhooks',
  answers: { 200: { description: 'Those that sign', schema: refTo(SigningSecretList) } },
  errors: [...commonErrors],
})

const currentOperation = operation({
  operationId: 'revealSigningSecret',
  summary: 'Show the current secret, for a receiver',
  tag: 'webhooks',
  answers: {
    200: { description: 'In clear: keep it where secrets are kept', schema: refTo(RevealedSigningSecret) },
  },
  errors: [...commonErrors],
})

const rotateOperation = operation({
  operationId: 'rotateSigningSecret',
  summary: 'Make a new secret; the one before signs beside it for a time',
  description:
    'Until the one before retires, each request carries a signature by both: receivers may have either. A receiver that ' +
    'has only the new one can count on it from `signs_by` on.',
  tag: 'webhooks',
  body: refTo(RotateInput),
  answers: { 201: { description: 'The new one, in clear', schema: refTo(RevealedSigningSecret) } },
  errors: [...bodyErrors, 'too_many_signing_secrets', ...commonErrors],
})

const retireOperation = operation({
  operationId: 'retireSigningSecret',
  summary: 'End a secret that retires, before its time',
  tag: 'webhooks',
  params: secretParams,
  answers: { 204: { description: 'Within five seconds nothing is signed with it any more' } },
  errors: ['signing_secret_not_found', 'signing_secret_current', ...commonErrors],
})

export function addSigningSecretRoutes(app: FastifyInstance, secrets: SigningSecretsPort): void {
  app.get('/signing-secrets', {
    schema: listOperation,
    handler: async (request) => secrets.list(await resolveTenant(request)),
  })

  app.get('/signing-secrets/current', {
    schema: currentOperation,
    handler: async (request) => secrets.current(await resolveTenant(request)),
  })

  app.post<{ Body: RotateInput }>('/signing-secrets/rotate', {
    schema: rotateOperation,
    preValidation: (request, _reply, done) => done(request.body === undefined ? emptyBody() : undefined),
    handler: async (request, reply) =>
      reply.code(201).send(await secrets.rotate(await resolveTenant(request), request.body)),
  })

  app.delete<{ Params: { id: string } }>('/signing-secrets/:id', {
    schema: retireOperation,
    handler: async (request, reply) => {
      await secrets.retire(await resolveTenant(request), request.params.id)
      return reply.code(204).send()
    },
  })
}
