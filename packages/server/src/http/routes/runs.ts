import { limits, RunArray } from '@carillon/contract'
import type { FastifyInstance } from 'fastify'
import type { RunsPort } from '../api.js'
import { commonErrors, operation } from '../openapi.js'
import { type PageParameters, pageOf, pageSchema, readIntegers } from '../page.js'
import { refTo } from '../schemas.js'
import { resolveTenant } from '../tenant.js'
import { type JobParams, jobParams } from './jobs.js'

const listOperation = operation({
  operationId: 'listRunsOfJob',
  summary: 'List what became of the ticks of a job, newest first',
  tag: 'runs',
  params: jobParams,
  querystring: pageSchema(limits.runsPage),
  answers: {
    200: {
      description: 'A page of runs',
      schema: refTo(RunArray),
      headers: { Link: { type: 'string', description: '<…>; rel="next", where there is another page' } },
    },
  },
  errors: ['job_not_found', 'validation_failed', 'unknown_field', 'invalid_cursor', ...commonErrors],
})

export function addRunRoutes(app: FastifyInstance, runs: RunsPort): void {
  app.get<{ Params: JobParams; Querystring: PageParameters }>('/jobs/:job_id/runs', {
    schema: listOperation,
    preValidation: readIntegers,
    handler: async (request, reply) => {
      const { job_id: jobId } = request.params
      const page = pageOf(request.query)
      const found = await runs.listByJob(await resolveTenant(request), jobId, page)
      if (found.next_cursor !== null) {
        void reply.header('Link', nextLink(jobId, page.limit, found.next_cursor))
      }
      return found.runs
    },
  })
}

function nextLink(jobId: string, limit: number, cursor: string): string {
  const query = new URLSearchParams({ limit: String(limit), cursor })
  return `</api/v1/jobs/${jobId}/runs?${query.toString()}>; rel="next"`
}
