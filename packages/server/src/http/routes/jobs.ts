import { Job, JobInput, JobList, limits } from '@carillon/contract'
import { Type } from 'typebox'
import type { FastifyInstance } from 'fastify'
import type { IdempotencyPort, JobsPort } from '../api.js'
import { idempotencyErrors, idempotencyHeaders, keptOrRefused, keyedCallOf } from '../idempotent.js'
import { emptyBody } from '../json-body.js'
import { bodyErrors, commonErrors, operation } from '../openapi.js'
import { type PageParameters, pageOf, pageSchema, readIntegers } from '../page.js'
import { refTo } from '../schemas.js'
import { resolveTenant } from '../tenant.js'

export const jobParams = Type.Object({
  job_id: Type.Index(Job, Type.Literal('job_id')),
})
export interface JobParams {
  job_id: string
}

const createOperation = operation({
  operationId: 'createJob',
  summary: 'Register a job',
  tag: 'jobs',
  headers: idempotencyHeaders,
  body: refTo(JobInput),
  answers: {
    201: {
      description: 'Registered, and kept through any crash',
      schema: refTo(Job),
      headers: { Location: { type: 'string', description: 'Where the job is read' } },
    },
  },
  errors: [
    ...bodyErrors,
    'job_name_taken',
    'invalid_schedule',
    'schedule_never_fires',
    'schedule_too_frequent',
    'schedule_in_past',
    'invalid_timezone',
    'invalid_template',
    'invalid_target',
    'job_quota_exceeded',
    'rate_limited',
    ...idempotencyErrors,
    ...commonErrors,
  ],
})

const listOperation = operation({
  operationId: 'listJobs',
  summary: 'List the jobs',
  tag: 'jobs',
  querystring: pageSchema(limits.page),
  answers: {
    200: { description: 'A page; next_cursor is null on the last one', schema: refTo(JobList) },
  },
  errors: ['validation_failed', 'unknown_field', 'invalid_cursor', ...commonErrors],
})

const getOperation = operation({
  operationId: 'getJob',
  summary: 'Read a job',
  tag: 'jobs',
  params: jobParams,
  answers: { 200: { description: 'The job', schema: refTo(Job) } },
  errors: ['job_not_found', ...commonErrors],
})

const deleteOperation = operation({
  operationId: 'deleteJob',
  summary: 'Delete a job',
  description: 'Nothing of it starts any more. What became of its ticks stays under /runs.',
  tag: 'jobs',
  params: jobParams,
  answers: { 204: { description: 'Deleted' } },
  errors: ['job_not_found', ...commonErrors],
})

export function addJobRoutes(app: FastifyInstance, jobs: JobsPort, idempotency: IdempotencyPort): void {
  app.post<{ Body: JobInput }>('/jobs', {
    schema: createOperation,
    preValidation: (request, _reply, done) => done(request.body === undefined ? emptyBody() : undefined),
    handler: async (request, reply) => {
      const tenant = await resolveTenant(request)
      const call = keyedCallOf(request)
      if (call !== null) {
        return keptOrRefused({ idempotency, tenant, call, request, reply }, () =>
          jobs.createOnce(tenant, request.body, call),
        )
      }
      const job = await jobs.create(tenant, request.body)
      return reply.code(201).header('Location', `/api/v1/jobs/${job.job_id}`).send(job)
    },
  })

  app.get<{ Querystring: PageParameters }>('/jobs', {
    schema: listOperation,
    preValidation: readIntegers,
    handler: async (request) => jobs.list(await resolveTenant(request), pageOf(request.query)),
  })

  app.get<{ Params: JobParams }>('/jobs/:job_id', {
    schema: getOperation,
    handler: async (request) => jobs.get(await resolveTenant(request), request.params.job_id),
  })

  app.delete<{ Params: JobParams }>('/jobs/:job_id', {
    schema: deleteOperation,
    handler: async (request, reply) => {
      await jobs.delete(await resolveTenant(request), request.params.job_id)
      return reply.code(204).send()
    },
  })
}
