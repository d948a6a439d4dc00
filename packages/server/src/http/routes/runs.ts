import {
  acrossFilter,
  limits,
  RedriveInput,
  RunArray,
  RunDetail,
  RunList,
  runFilter,
} from '@carillon/contract'
import { Type } from 'typebox'
import type { FastifyInstance } from 'fastify'
import type { RunFilter, RunsPort } from '../api.js'
import { bodyMayBeEmpty } from '../json-body.js'
import { bodyErrors, commonErrors, operation } from '../openapi.js'
import { type PageParameters, pageOf, pageSchema, readIntegers, readTags } from '../page.js'
import { refTo } from '../schemas.js'
import { resolveTenant } from '../tenant.js'
import { type JobParams, jobParams } from './jobs.js'

const filterNames = ['status', 'after', 'before'] as const

const listOperation = operation({
  operationId: 'listRunsOfJob',
  summary: 'List what became of the ticks of a job, newest first',
  tag: 'runs',
  params: jobParams,
  querystring: Type.Object(
    { ...pageSchema(limits.runsPage).properties, ...runFilter },
    { additionalProperties: false },
  ),
  answers: {
    200: {
      description: 'A page of runs',
      schema: refTo(RunArray),
      headers: { Link: { type: 'string', description: '<…>; rel="next", where there is another page' } },
    },
  },
  errors: ['job_not_found', 'validation_failed', 'unknown_field', 'invalid_cursor', ...commonErrors],
})

const acrossOperation = operation({
  operationId: 'listRuns',
  summary: 'List runs of all jobs: those in flight, then those that ended, the latest first',
  description:
    'A page looks for a fifth of a second at most. Where few runs match it may come back short, or empty, and yet have a ' +
    'next_cursor: the next page goes on from there.',
  tag: 'runs',
  querystring: Type.Object(
    { ...pageSchema(limits.runsPage).properties, ...acrossFilter },
    { additionalProperties: false },
  ),
  answers: { 200: { description: 'A page of runs', schema: refTo(RunList) } },
  errors: ['job_not_found', 'validation_failed', 'unknown_field', 'invalid_cursor', ...commonErrors],
})

type AcrossQuery = PageParameters & RunFilter & { job_id?: string; tag?: string[] }

export const runParams = Type.Object({ run_id: Type.String({ description: 'run_…, as the server gave it' }) })
export interface RunParams {
  run_id: string
}

const getOperation = operation({
  operationId: 'getRun',
  summary: 'Read one run, with all of its attempts',
  tag: 'runs',
  params: runParams,
  answers: { 200: { description: 'The run', schema: refTo(RunDetail) } },
  errors: ['run_not_found', ...commonErrors],
})

const cancelOperation = operation({
  operationId: 'cancelRun',
  summary: 'Cancel a run that waits or is under way',
  description:
    'One that waits ends at once. Of one that is under way the worker is asked to stop it, and records how it ended: a ' +
    'result that comes all the same is kept. Its status says which it was.',
  tag: 'runs',
  params: runParams,
  body: Type.Object({}, { additionalProperties: false }),
  answers: { 202: { description: 'Cancelled, or asked for', schema: refTo(RunDetail) } },
  errors: [...bodyErrors, 'run_not_found', 'run_ended', 'run_ahead', ...commonErrors],
})

const retryOperation = operation({
  operationId: 'retryRun',
  summary: 'Run a dead run once more: the same as re-driving its dead letter',
  tag: 'runs',
  params: runParams,
  body: refTo(RedriveInput),
  answers: { 202: { description: 'Back in the queue, in a new round', schema: refTo(RunDetail) } },
  errors: [...bodyErrors, 'run_not_found', 'run_not_dead', 'job_deleted', ...commonErrors],
})

export function addRunRoutes(app: FastifyInstance, runs: RunsPort): void {
  app.get<{ Params: JobParams; Querystring: PageParameters & RunFilter }>('/jobs/:job_id/runs', {
    schema: listOperation,
    preValidation: readIntegers,
    handler: async (request, reply) => {
      const { job_id: jobId } = request.params
      const page = { ...filterOf(request.query), ...pageOf(request.query) }
      const found = await runs.listByJob(await resolveTenant(request), jobId, page)
      if (found.next_cursor !== null) {
        void reply.header('Link', nextLink(jobId, page, found.next_cursor))
      }
      return found.runs
    },
  })

  app.get<{ Querystring: AcrossQuery }>('/runs', {
    schema: acrossOperation,
    preValidation: [readTags, readIntegers],
    handler: async (request) => {
      const { job_id: jobId, tag } = request.query
      return runs.list(await resolveTenant(request), {
        ...filterOf(request.query),
        ...pageOf(request.query),
        ...(jobId !== undefined && { job_id: jobId }),
        ...(tag !== undefined && { tags: tag }),
      })
    },
  })

  app.get<{ Params: RunParams }>('/runs/:run_id', {
    schema: getOperation,
    handler: async (request) => runs.get(await resolveTenant(request), request.params.run_id),
  })

  app.post<{ Params: RunParams }>('/runs/:run_id/cancel', {
    schema: cancelOperation,
    preValidation: bodyMayBeEmpty,
    handler: async (request, reply) =>
      reply.code(202).send(await runs.cancel(await resolveTenant(request), request.params.run_id)),
  })

  app.post<{ Params: RunParams; Body: RedriveInput }>('/runs/:run_id/retry', {
    schema: retryOperation,
    preValidation: bodyMayBeEmpty,
    handler: async (request, reply) => {
      const tenant = await resolveTenant(request)
      return reply.code(202).send(await runs.retry(tenant, request.params.run_id, request.body))
    },
  })
}

function filterOf(query: RunFilter): RunFilter {
  return Object.fromEntries(
    filterNames.flatMap((name) => (query[name] === undefined ? [] : [[name, query[name]]])),
  )
}

/** The next page is of the same list: what it is narrowed to goes with it. */
function nextLink(jobId: string, page: RunFilter & { limit: number }, cursor: string): string {
  const query = new URLSearchParams({ ...filterOf(page), limit: String(page.limit), cursor })
  return `</api/v1/jobs/${jobId}/runs?${query.toString()}>; rel="next"`
}
