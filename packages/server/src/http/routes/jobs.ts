import {
  DryRunQuery,
  Job,
  JobDryRun,
  JobInput,
  JobList,
  jobOrders,
  jobStates,
  limits,
  stringEnum,
  tagFilter,
} from '@carillon/contract'
import { type Static, Type } from 'typebox'
import type { FastifyInstance } from 'fastify'
import type { IdempotencyPort, JobsPort } from '../api.js'
import { idempotencyErrors, idempotencyHeaders, keptOrRefused, keyedCallOf } from '../idempotent.js'
import { emptyBody } from '../json-body.js'
import { bodyErrors, commonErrors, operation } from '../openapi.js'
import { etagHeader, etagOf, sendJob } from '../etag.js'
import { pageOf, pageSchema, readIntegers, readTags } from '../page.js'
import { refTo } from '../schemas.js'
import { resolveTenant } from '../tenant.js'

export const jobParams = Type.Object({
  job_id: Type.Index(Job, Type.Literal('job_id')),
})
export interface JobParams {
  job_id: string
}

/** Texts of a query may have been encoded from anything; the database has no NUL. */
const words = (max: number, description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: max, pattern: '^[^\\u0000]*$', description }))

const listQuery = Type.Object(
  {
    search: words(
      limits.search,
      'A part of the name or the description, in any case; or the beginning of the id',
    ),
    tag: tagFilter,
    state: Type.Optional(stringEnum(jobStates)),
    target: words(limits.url, '`http`, `task` or `command`; or `http:HOST`, `task:NAME`'),
    managed_by: words(limits.managedBy, 'Who owns the definition'),
    order: Type.Optional(
      stringEnum(jobOrders, {
        default: 'newest',
        description: 'next_run: by the next start, jobs without one at the end',
      }),
    ),
    ...pageSchema(limits.page).properties,
  },
  { additionalProperties: false },
)
type ListQuery = Static<typeof listQuery>

const createOperation = operation({
  operationId: 'createJob',
  summary: 'Register a job',
  tag: 'jobs',
  description:
    'With `dry_run=true` everything is checked and nothing is stored: the answer has the definition with its defaults and the ' +
    'first ticks. A creation rate is not counted, and an Idempotency-Key is not looked at.',
  headers: idempotencyHeaders,
  querystring: DryRunQuery,
  body: refTo(JobInput),
  answers: {
    200: { description: 'dry_run: what it would come to', schema: refTo(JobDryRun) },
    201: {
      description: 'Registered, and kept through any crash',
      schema: refTo(Job),
      headers: { Location: { type: 'string', description: 'Where the job is read' }, ...etagHeader },
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
  description:
    'Every condition that is given has to hold. A cursor holds for the filter and the order that it was given for. A page ' +
    'may have fewer jobs than asked for, or none, and still a next_cursor: a search for less than three letters or digits ' +
    'in a row has no index, and goes through a bounded number of jobs a call.',
  tag: 'jobs',
  querystring: listQuery,
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
  answers: { 200: { description: 'The job', schema: refTo(Job), headers: etagHeader } },
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
  app.post<{ Body: JobInput; Querystring: DryRunQuery }>('/jobs', {
    schema: createOperation,
    preValidation: (request, _reply, done) => done(request.body === undefined ? emptyBody() : undefined),
    handler: async (request, reply) => {
      const tenant = await resolveTenant(request)
      if (request.query.dry_run === 'true') return jobs.tryCreate(tenant, request.body)
      const call = keyedCallOf(request)
      if (call !== null) {
        return keptOrRefused({ idempotency, tenant, call, request, reply }, async () => {
          const given = await jobs.createOnce(tenant, request.body, call)
          // As the body says: the version that a job is created with.
          if (given.answer.status === 201) void reply.header('ETag', etagOf(1))
          return given
        })
      }
      const job = await jobs.create(tenant, request.body)
      return sendJob(reply.code(201).header('Location', `/api/v1/jobs/${job.job_id}`), job)
    },
  })

  app.get<{ Querystring: ListQuery }>('/jobs', {
    schema: listOperation,
    preValidation: [readTags, readIntegers],
    handler: async (request) => {
      const { tag, limit: _limit, cursor: _cursor, ...filter } = request.query
      const tags = tag === undefined ? {} : { tags: tag }
      return jobs.list(await resolveTenant(request), { ...pageOf(request.query), ...filter, ...tags })
    },
  })

  app.get<{ Params: JobParams }>('/jobs/:job_id', {
    schema: getOperation,
    handler: async (request, reply) =>
      sendJob(reply, await jobs.get(await resolveTenant(request), request.params.job_id)),
  })

  app.delete<{ Params: JobParams }>('/jobs/:job_id', {
    schema: deleteOperation,
    handler: async (request, reply) => {
      await jobs.delete(await resolveTenant(request), request.params.job_id)
      return reply.code(204).send()
    },
  })
}
