import { Backfill, BackfillInput, BackfillList, BackfillPlan, limits } from '@carillon/contract'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import type { BackfillsPort, IdempotencyPort } from '../api.js'
import { idempotencyErrors, idempotencyHeaders, idempotent } from '../idempotent.js'
import { bodyMayBeEmpty } from '../json-body.js'
import { bodyErrors, commonErrors, operation } from '../openapi.js'
import { type PageParameters, pageOf, pageSchema, readIntegers } from '../page.js'
import { refTo } from '../schemas.js'
import { resolveTenant } from '../tenant.js'
import { type JobParams, jobParams } from './jobs.js'

const backfillParams = Type.Object({
  backfill_id: Type.String({ minLength: 1, maxLength: 64, description: 'bf_…' }),
})
interface BackfillParams {
  backfill_id: string
}

const startOperation = operation({
  operationId: 'startBackfill',
  summary: 'Run ticks of a job that have passed',
  description:
    "By the job's present schedule, also for ticks before it was registered. The runs have keys of their own, are marked " +
    'as catching up, come one after another and behind fresh ticks, and heed the overlap_policy. With only_missing, what ' +
    'has succeeded is left out. It goes on after a crash, and waits while the job is paused. Repeated with the same ' +
    'Idempotency-Key it is not begun a second time.',
  tag: 'jobs',
  params: jobParams,
  headers: idempotencyHeaders,
  body: refTo(BackfillInput),
  answers: {
    200: { description: 'dry_run: what it would come to', schema: refTo(BackfillPlan) },
    202: { description: 'It has begun', schema: refTo(Backfill) },
  },
  errors: [
    ...bodyErrors,
    'job_not_found',
    'invalid_schedule',
    'too_many_ticks',
    ...idempotencyErrors,
    ...commonErrors,
  ],
})

const ofJobOperation = operation({
  operationId: 'listBackfillsOfJob',
  summary: 'List the backfills of a job, the latest first',
  tag: 'jobs',
  params: jobParams,
  querystring: pageSchema(limits.page),
  answers: { 200: { description: 'A page of them', schema: refTo(BackfillList) } },
  errors: ['validation_failed', 'unknown_field', 'invalid_cursor', 'job_not_found', ...commonErrors],
})

const listOperation = operation({
  operationId: 'listBackfills',
  summary: 'List backfills of all jobs, the latest first',
  tag: 'jobs',
  querystring: pageSchema(limits.page),
  answers: { 200: { description: 'A page of them', schema: refTo(BackfillList) } },
  errors: ['validation_failed', 'unknown_field', 'invalid_cursor', ...commonErrors],
})

const getOperation = operation({
  operationId: 'getBackfill',
  summary: 'See how far a backfill is',
  tag: 'jobs',
  params: backfillParams,
  answers: { 200: { description: 'The backfill', schema: refTo(Backfill) } },
  errors: ['backfill_not_found', ...commonErrors],
})

const cancelOperation = operation({
  operationId: 'cancelBackfill',
  summary: 'Cancel a backfill',
  description: 'It makes no further run. A run of it that is under way goes on.',
  tag: 'jobs',
  params: backfillParams,
  body: Type.Object({}, { additionalProperties: false }),
  answers: { 200: { description: 'No further run is made', schema: refTo(Backfill) } },
  errors: [...bodyErrors, 'backfill_not_found', 'backfill_ended', ...commonErrors],
})

export function addBackfillRoutes(
  app: FastifyInstance,
  backfills: BackfillsPort,
  idempotency: IdempotencyPort,
): void {
  app.post<{ Params: JobParams; Body: BackfillInput }>('/jobs/:job_id/backfills', {
    schema: startOperation,
    preValidation: bodyMayBeEmpty,
    handler: idempotent<{ Params: JobParams; Body: BackfillInput }>(
      idempotency,
      async ({ params: { job_id: jobId }, body: { dry_run: dryRun, ...input } }, tenant, inside) =>
        dryRun === true
          ? { status: 200, body: await backfills.plan(tenant, jobId, input, inside) }
          : { status: 202, body: await backfills.start(tenant, jobId, input, inside) },
    ),
  })

  app.get<{ Params: JobParams; Querystring: PageParameters }>('/jobs/:job_id/backfills', {
    schema: ofJobOperation,
    preValidation: readIntegers,
    handler: async (request) =>
      backfills.list(await resolveTenant(request), {
        ...pageOf(request.query),
        jobId: request.params.job_id,
      }),
  })

  app.get<{ Querystring: PageParameters }>('/backfills', {
    schema: listOperation,
    preValidation: readIntegers,
    handler: async (request) => backfills.list(await resolveTenant(request), pageOf(request.query)),
  })

  app.get<{ Params: BackfillParams }>('/backfills/:backfill_id', {
    schema: getOperation,
    handler: async (request) => backfills.get(await resolveTenant(request), request.params.backfill_id),
  })

  app.post<{ Params: BackfillParams }>('/backfills/:backfill_id/cancel', {
    schema: cancelOperation,
    preValidation: bodyMayBeEmpty,
    handler: async (request) => backfills.cancel(await resolveTenant(request), request.params.backfill_id),
  })
}
