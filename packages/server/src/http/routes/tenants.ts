import { limits, Tenant, TenantInput, TenantList, TenantPatch } from '@carillon/contract'
import { Type } from 'typebox'
import type { FastifyInstance } from 'fastify'
import type { TenantsPort } from '../api.js'
import { emptyBody } from '../json-body.js'
import { bodyErrors, commonErrors, operation } from '../openapi.js'
import { type PageParameters, pageOf, pageSchema, readIntegers } from '../page.js'
import { refTo } from '../schemas.js'

const tenantParams = Type.Object({ tenant_name: Type.String() })
interface TenantParams {
  tenant_name: string
}

const listOperation = operation({
  operationId: 'listTenants',
  summary: 'List the tenants of the fleet',
  tag: 'access',
  querystring: pageSchema(limits.page),
  answers: { 200: { description: 'By name', schema: refTo(TenantList) } },
  errors: ['validation_failed', 'unknown_field', 'invalid_cursor', ...commonErrors],
})

const createOperation = operation({
  operationId: 'createTenant',
  summary: 'Make a tenant',
  description: 'Its first key is made with POST /api/v1/keys and its name as `tenant`.',
  tag: 'access',
  body: refTo(TenantInput),
  answers: { 201: { description: 'The tenant', schema: refTo(Tenant) } },
  errors: [...bodyErrors, 'tenant_name_taken', ...commonErrors],
})

const getOperation = operation({
  operationId: 'getTenant',
  summary: 'Read a tenant',
  tag: 'access',
  params: tenantParams,
  answers: { 200: { description: 'The tenant', schema: refTo(Tenant) } },
  errors: ['tenant_not_found', ...commonErrors],
})

const changeOperation = operation({
  operationId: 'changeTenant',
  summary: "Change a tenant's quotas, weight or cap",
  description: 'What is not given stays as it is. Everything holds from the next call or lease on.',
  tag: 'access',
  params: tenantParams,
  body: refTo(TenantPatch),
  answers: { 200: { description: 'The tenant as it is now', schema: refTo(Tenant) } },
  errors: [...bodyErrors, 'tenant_not_found', ...commonErrors],
})

export function addTenantRoutes(app: FastifyInstance, tenants: TenantsPort): void {
  app.get<{ Querystring: PageParameters }>('/tenants', {
    schema: listOperation,
    preValidation: readIntegers,
    handler: (request) => tenants.list(pageOf(request.query)),
  })

  app.post<{ Body: TenantInput }>('/tenants', {
    schema: createOperation,
    preValidation: (request, _reply, done) => done(request.body === undefined ? emptyBody() : undefined),
    handler: async (request, reply) => reply.code(201).send(await tenants.create(request.body)),
  })

  app.get<{ Params: TenantParams }>('/tenants/:tenant_name', {
    schema: getOperation,
    handler: (request) => tenants.get(request.params.tenant_name),
  })

  app.patch<{ Params: TenantParams; Body: TenantPatch }>('/tenants/:tenant_name', {
    schema: changeOperation,
    preValidation: (request, _reply, done) => done(request.body === undefined ? emptyBody() : undefined),
    handler: (request) => tenants.change(request.params.tenant_name, request.body),
  })
}
