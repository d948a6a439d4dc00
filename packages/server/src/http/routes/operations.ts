import { limits, Operation, OperationInput, OperationList, OperationPreview } from '@carillon/contract'
import { Type } from 'typebox'
import type { FastifyInstance } from 'fastify'
import type { IdempotencyPort, OperationsPort } from '../api.js'
import { idempotencyErrors, idempotencyHeaders, idempotent } from '../idempotent.js'
import { bodyMayBeEmpty } from '../json-body.js'
import { bodyErrors, commonErrors, operation } from '../openapi.js'
import { type PageParameters, pageOf, pageSchema, readIntegers } from '../page.js'
import { refTo } from '../schemas.js'
import { resolveTenant } from '../tenant.js'

const operationParams = Type.Object({
  operation_id: Type.String({ description: 'op_…, as the server gave it' }),
})
interface OperationParams {
  operation_id: string
}

const startOperation = operation({
  operationId: 'startOperation',
  summary: 'Pause, resume, cancel, delete, trigger, tag or untag all jobs that match',
  description:
    'Goes on in the background, by the order in which the jobs were made, and survives crashes. Jobs made later are not ' +
    'touched. With dry_run nothing is changed: the answer counts what matches. Repeated with the same Idempotency-Key it ' +
    'is not begun a second time.',
  tag: 'bulk changes',
  headers: idempotencyHeaders,
  body: refTo(OperationInput),
  answers: {
    200: { description: 'dry_run: what it would be about', schema: refTo(OperationPreview) },
    202: { description: 'It has begun', schema: refTo(Operation) },
  },
  errors: [...bodyErrors, ...idempotencyErrors, ...commonErrors],
})

const listOperation = operation({
  operationId: 'listOperations',
  summary: 'List operations on many jobs, the latest first',
  tag: 'bulk changes',
  querystring: pageSchema(limits.page),
  answers: { 200: { description: 'A page of operations', schema: refTo(OperationList) } },
  errors: ['validation_failed', 'unknown_field', 'invalid_cursor', ...commonErrors],
})

const getOperation = operation({
  operationId: 'getOperation',
  summary: 'See how far an operation is',
  tag: 'bulk changes',
  params: operationParams,
  answers: { 200: { description: 'The operation', schema: refTo(Operation) } },
  errors: ['operation_not_found', ...commonErrors],
})

const cancelOperation = operation({
  operationId: 'cancelOperation',
  summary: 'Cancel an operation',
  description: 'What it has done stays done.',
  tag: 'bulk changes',
  params: operationParams,
  body: Type.Object({}, { additionalProperties: false }),
  answers: { 200: { description: 'No further job is changed', schema: refTo(Operation) } },
  errors: [...bodyErrors, 'operation_not_found', 'operation_ended', ...commonErrors],
})

export function addOperationRoutes(
  app: FastifyInstance,
  operations: OperationsPort,
  idempotency: IdempotencyPort,
): void {
  app.post<{ Body: OperationInput }>('/operations', {
    schema: startOperation,
    handler: idempotent<{ Body: OperationInput }>(idempotency, async ({ body }, tenant, inside) =>
      body.dry_run === true
        ? { status: 200, body: await operations.preview(tenant, body, inside) }
        : { status: 202, body: await operations.start(tenant, body, inside) },
    ),
  })

  app.get<{ Querystring: PageParameters }>('/operations', {
    schema: listOperation,
    preValidation: readIntegers,
    handler: async (request) => operations.list(await resolveTenant(request), pageOf(request.query)),
  })

  app.get<{ Params: OperationParams }>('/operations/:operation_id', {
    schema: getOperation,
    handler: async (request) => operations.get(await resolveTenant(request), request.params.operation_id),
  })

  app.post<{ Params: OperationParams }>('/operations/:operation_id/cancel', {
    schema: cancelOperation,
    preValidation: bodyMayBeEmpty,
    handler: async (request) => operations.cancel(await resolveTenant(request), request.params.operation_id),
  })
}
