import { AuditList, limits } from '@carillon/contract'
import { Type } from 'typebox'
import type { FastifyInstance } from 'fastify'
import type { AuditFilter, AuditPort } from '../api.js'
import { commonErrors, operation } from '../openapi.js'
import { type PageParameters, pageOf, pageSchema, readIntegers } from '../page.js'
import { refTo } from '../schemas.js'
import { resolveTenant } from '../tenant.js'

const text = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 400, description }))

const listOperation = operation({
  operationId: 'listAudit',
  summary: 'List who changed what in the tenant',
  description:
    'Every change leaves one entry, written with it. Entries are never altered and never removed. A page may have fewer ' +
    'entries than asked for, or none, and still a next_cursor: a call goes through a bounded part of the log.',
  tag: 'access',
  querystring: Type.Object(
    {
      actor: text('The name of a key, its key_…, or `local`'),
      action: text('The operationId of the change'),
      subject: text('The id or the name of what was changed'),
      after: text('From this instant on, ISO-8601 with an offset'),
      before: text('Before this instant'),
      ...pageSchema(limits.page).properties,
    },
    { additionalProperties: false },
  ),
  answers: { 200: { description: 'The latest first', schema: refTo(AuditList) } },
  errors: ['validation_failed', 'unknown_field', 'invalid_cursor', ...commonErrors],
})

export function addAuditRoutes(app: FastifyInstance, audit: AuditPort): void {
  app.get<{ Querystring: PageParameters & AuditFilter }>('/audit', {
    schema: listOperation,
    preValidation: readIntegers,
    handler: async (request) => {
      const { limit: _limit, cursor: _cursor, ...filter } = request.query
      return audit.list(await resolveTenant(request), { ...filter, ...pageOf(request.query) })
    },
  })
}
