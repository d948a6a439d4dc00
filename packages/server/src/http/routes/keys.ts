import {
  ApiKeyList,
  CarillonError,
  KeyInput,
  limits,
  RevealedKey,
  RotateKeyInput,
  Self,
} from '@carillon/contract'
import { Type } from 'typebox'
import type { FastifyInstance } from 'fastify'
import { keyIdOf } from '../../platform/ids.js'
import type { KeysPort } from '../api.js'
import { emptyBody } from '../json-body.js'
import { bodyErrors, commonErrors, operation } from '../openapi.js'
import { type PageParameters, pageOf, pageSchema, readIntegers } from '../page.js'
import { refTo } from '../schemas.js'
import { callerOf, defaultTenant, resolveTenant } from '../tenant.js'
import { utcText } from '../../time/iso-text.js'

const keyParams = Type.Object({ key_id: Type.String({ description: 'key_…' }) })
interface KeyParams {
  key_id: string
}

const selfOperation = operation({
  operationId: 'getSelf',
  summary: 'Who is calling: tenant, role and key',
  tag: 'access',
  answers: { 200: { description: 'The caller', schema: refTo(Self) } },
  errors: [...commonErrors],
})

const listOperation = operation({
  operationId: 'listKeys',
  summary: 'List the keys of the tenant, without their secrets',
  tag: 'access',
  querystring: pageSchema(limits.page),
  answers: { 200: { description: 'The newest first', schema: refTo(ApiKeyList) } },
  errors: ['validation_failed', 'unknown_field', 'invalid_cursor', ...commonErrors],
})

const createOperation = operation({
  operationId: 'createKey',
  summary: 'Make a key',
  description: 'The answer is the only place where the key itself stands: only its hash is stored.',
  tag: 'access',
  body: refTo(KeyInput),
  answers: { 201: { description: 'The key, once', schema: refTo(RevealedKey) } },
  errors: [...bodyErrors, 'tenant_not_found', 'key_name_taken', ...commonErrors],
})

const rotateOperation = operation({
  operationId: 'rotateKey',
  summary: 'Give a key a new secret',
  description:
    'Its id, name and role stay. The secret before opens beside the new one for the overlap, so that every holder can change over.',
  tag: 'access',
  params: keyParams,
  body: refTo(RotateKeyInput),
  answers: { 201: { description: 'The new secret, once', schema: refTo(RevealedKey) } },
  errors: [...bodyErrors, 'key_not_found', 'key_ended', ...commonErrors],
})

const revokeOperation = operation({
  operationId: 'revokeKey',
  summary: 'Revoke a key for ever',
  description: 'Within a second it opens nothing on any node, and answers that go on for it are ended.',
  tag: 'access',
  params: keyParams,
  answers: { 204: { description: 'Revoked' } },
  errors: ['key_not_found', ...commonErrors],
})

export function addKeyRoutes(app: FastifyInstance, keys: KeysPort): void {
  app.get('/keys/self', {
    schema: selfOperation,
    handler: (request): Self => {
      const { tenantName, role, actor, key, expiresAt } = callerOf(request)
      return {
        tenant: tenantName,
        role,
        actor,
        key_id: key === null ? null : keyIdOf(key),
        expires_at: expiresAt === null ? null : utcText(expiresAt),
      }
    },
  })

  app.get<{ Querystring: PageParameters }>('/keys', {
    schema: listOperation,
    preValidation: readIntegers,
    handler: async (request) => keys.list(await resolveTenant(request), pageOf(request.query)),
  })

  app.post<{ Body: KeyInput }>('/keys', {
    schema: createOperation,
    preValidation: (request, _reply, done) => done(request.body === undefined ? emptyBody() : undefined),
    handler: async (request, reply) => {
      const { tenant: name, ...input } = request.body
      const { tenant, tenantName } = callerOf(request)
      if (name === undefined || name === tenantName)
        return reply.code(201).send(await keys.create(tenant, input))
      if (tenant !== defaultTenant) {
        throw new CarillonError('forbidden', {
          detail: `Keys of another tenant are made with the role admin in the tenant "default"; this key belongs to ${JSON.stringify(tenantName)}.`,
        })
      }
      return reply.code(201).send(await keys.createFor(name, input))
    },
  })

  app.post<{ Params: KeyParams; Body: RotateKeyInput | undefined }>('/keys/:key_id/rotate', {
    schema: rotateOperation,
    preValidation: (request, _reply, done) => {
      request.body ??= {}
      done()
    },
    handler: async (request, reply) => {
      const tenant = await resolveTenant(request)
      return reply.code(201).send(await keys.rotate(tenant, request.params.key_id, request.body ?? {}))
    },
  })

  app.delete<{ Params: KeyParams }>('/keys/:key_id', {
    schema: revokeOperation,
    handler: async (request, reply) => {
      await keys.revoke(await resolveTenant(request), request.params.key_id)
      return reply.code(204).send()
    },
  })
}
