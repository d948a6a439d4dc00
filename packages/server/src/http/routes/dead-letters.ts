import {
  DeadLetterDetail,
  type DeadLetterFilter,
  deadLetterFilter,
  DeadLetterGroupList,
  DeadLetterList,
  Discarded,
  limits,
  RedriveInput,
  RunDetail,
} from '@carillon/contract'
import { Type } from 'typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { DeadLettersPort } from '../api.js'
import { bodyMayBeEmpty } from '../json-body.js'
import { bodyErrors, commonErrors, operation } from '../openapi.js'
import { type PageParameters, pageOf, pageSchema, readIntegers } from '../page.js'
import { refusal } from '../refusal.js'
import { refTo } from '../schemas.js'
import { resolveTenant } from '../tenant.js'
import { type RunParams, runParams } from './runs.js'

const { job_id: jobId, fingerprint } = deadLetterFilter

const listOperation = operation({
  operationId: 'listDeadLetters',
  summary: 'List runs that used up their attempts, the latest first',
  tag: 'dead letters',
  querystring: Type.Object(
    { ...pageSchema(limits.page).properties, job_id: jobId, fingerprint },
    { additionalProperties: false },
  ),
  answers: { 200: { description: 'A page of dead letters', schema: refTo(DeadLetterList) } },
  errors: ['job_not_found', 'validation_failed', 'unknown_field', 'invalid_cursor', ...commonErrors],
})

const groupsOperation = operation({
  operationId: 'groupDeadLetters',
  summary: 'Group dead letters by what their errors say',
  description: 'Errors that differ only in ids, numbers and addresses are one group.',
  tag: 'dead letters',
  querystring: Type.Object({ job_id: jobId }, { additionalProperties: false }),
  answers: { 200: { description: 'The groups, the largest first', schema: refTo(DeadLetterGroupList) } },
  errors: ['job_not_found', 'validation_failed', 'unknown_field', ...commonErrors],
})

const getOperation = operation({
  operationId: 'getDeadLetter',
  summary: 'Read a dead letter with all that is needed to understand it',
  tag: 'dead letters',
  params: runParams,
  answers: {
    200: {
      description: 'Its error, attempts, payload, target and definition',
      schema: refTo(DeadLetterDetail),
    },
  },
  errors: ['dead_letter_not_found', ...commonErrors],
})

const redriveOperation = operation({
  operationId: 'redriveDeadLetter',
  summary: 'Put a dead letter back into the queue',
  description:
    'As the first attempt of a new round. The run keeps its id, its tick and its idempotency key. Of a paused job it waits ' +
    'until that is resumed. A payload that is given is delivered in place of the one of the job, in this run alone.',
  tag: 'dead letters',
  params: runParams,
  body: refTo(RedriveInput),
  answers: { 202: { description: 'The run, back in the queue', schema: refTo(RunDetail) } },
  errors: [...bodyErrors, 'dead_letter_not_found', 'job_deleted', ...commonErrors],
})

const discardOperation = operation({
  operationId: 'discardDeadLetter',
  summary: 'Discard a dead letter',
  description: 'The run can not be re-driven any more. What became of its tick stays on record.',
  tag: 'dead letters',
  params: runParams,
  answers: { 204: { description: 'Discarded' } },
  errors: ['dead_letter_not_found', ...commonErrors],
})

const discardManyOperation = operation({
  operationId: 'discardDeadLetters',
  summary: 'Discard all dead letters that match',
  description: 'At least one field of the filter is needed. What became of their ticks stays on record.',
  tag: 'dead letters',
  querystring: Type.Object(deadLetterFilter, { additionalProperties: false }),
  answers: { 200: { description: 'How many were discarded', schema: refTo(Discarded) } },
  errors: ['job_not_found', 'validation_failed', 'unknown_field', ...commonErrors],
})

export function addDeadLetterRoutes(app: FastifyInstance, letters: DeadLettersPort): void {
  app.get<{ Querystring: PageParameters & Pick<DeadLetterFilter, 'job_id' | 'fingerprint'> }>(
    '/dead-letters',
    {
      schema: listOperation,
      preValidation: readIntegers,
      handler: async (request) =>
        letters.list(await resolveTenant(request), { ...request.query, ...pageOf(request.query) }),
    },
  )

  app.get<{ Querystring: Pick<DeadLetterFilter, 'job_id'> }>('/dead-letters/groups', {
    schema: groupsOperation,
    handler: async (request) => letters.groups(await resolveTenant(request), request.query),
  })

  app.get<{ Params: RunParams }>('/dead-letters/:run_id', {
    schema: getOperation,
    handler: async (request) => letters.get(await resolveTenant(request), request.params.run_id),
  })

  app.post<{ Params: RunParams; Body: RedriveInput }>('/dead-letters/:run_id/redrive', {
    schema: redriveOperation,
    preValidation: bodyMayBeEmpty,
    handler: async (request, reply) => {
      const tenant = await resolveTenant(request)
      return reply.code(202).send(await letters.redrive(tenant, request.params.run_id, request.body))
    },
  })

  app.delete<{ Params: RunParams }>('/dead-letters/:run_id', {
    schema: discardOperation,
    handler: async (request, reply) => {
      await letters.discard(await resolveTenant(request), request.params.run_id)
      return reply.code(204).send()
    },
  })

  app.delete<{ Querystring: DeadLetterFilter }>('/dead-letters', {
    schema: discardManyOperation,
    preHandler: someFilter,
    handler: async (request) => ({
      discarded: await letters.discardMany(await resolveTenant(request), request.query),
    }),
  })
}

/** What is discarded is gone: a call without a filter is more likely a mistake than meant for all. */
function someFilter(request: FastifyRequest, _reply: FastifyReply, done: (error?: Error) => void): void {
  if (Object.keys(request.query as object).length > 0) return done()
  const message = 'is needed, or another field of the filter: fingerprint, after, before'
  done(refusal([{ pointer: 'query:job_id', message }]))
}
