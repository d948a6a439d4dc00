import { CarillonError, Job, JobVersion, JobVersionList, limits, RollbackInput } from '@carillon/contract'
import { Type } from 'typebox'
import type { FastifyInstance } from 'fastify'
import type { JobsPort } from '../api.js'
import { etagHeader, sendJob } from '../etag.js'
import { emptyBody } from '../json-body.js'
import { bodyErrors, commonErrors, operation } from '../openapi.js'
import { type PageParameters, pageOf, pageSchema, readIntegers } from '../page.js'
import { refTo } from '../schemas.js'
import { resolveTenant } from '../tenant.js'
import { type JobParams, jobParams } from './jobs.js'

const versionParams = Type.Object({
  ...jobParams.properties,
  version: Type.String({ description: 'A number from 1 on' }),
})
interface VersionParams extends JobParams {
  version: string
}

const listOperation = operation({
  operationId: 'listJobVersions',
  summary: 'List the versions of a job',
  description: 'Newest first. Every change of the definition makes one; the present one is among them.',
  tag: 'jobs',
  params: jobParams,
  querystring: pageSchema(limits.page),
  answers: {
    200: { description: 'A page; next_cursor is null on the last one', schema: refTo(JobVersionList) },
  },
  errors: ['validation_failed', 'unknown_field', 'invalid_cursor', 'job_not_found', ...commonErrors],
})

const getOperation = operation({
  operationId: 'getJobVersion',
  summary: 'Read a version of a job',
  tag: 'jobs',
  params: versionParams,
  answers: { 200: { description: 'The version', schema: refTo(JobVersion) } },
  errors: ['job_not_found', 'job_version_not_found', ...commonErrors],
})

const rollbackOperation = operation({
  operationId: 'rollbackJob',
  summary: 'Give a job the definition of an older version',
  description:
    'A new version is made, so nothing is lost. It holds from the next tick on, as any change does. Where the job has that ' +
    'definition already, nothing changes.',
  tag: 'jobs',
  params: jobParams,
  body: refTo(RollbackInput),
  answers: { 200: { description: 'The job as it is now', schema: refTo(Job), headers: etagHeader } },
  errors: [
    ...bodyErrors,
    'job_not_found',
    'job_version_not_found',
    'job_ended',
    'job_cancelled',
    'job_name_taken',
    'invalid_schedule',
    'schedule_never_fires',
    'schedule_too_frequent',
    'schedule_in_past',
    'invalid_timezone',
    'invalid_template',
    'invalid_target',
    ...commonErrors,
  ],
})

export function addJobVersionRoutes(app: FastifyInstance, jobs: JobsPort): void {
  app.get<{ Params: JobParams; Querystring: PageParameters }>('/jobs/:job_id/versions', {
    schema: listOperation,
    preValidation: readIntegers,
    handler: async (request) =>
      jobs.versions(await resolveTenant(request), request.params.job_id, pageOf(request.query)),
  })

  app.get<{ Params: VersionParams }>('/jobs/:job_id/versions/:version', {
    schema: getOperation,
    handler: async (request) => {
      const { job_id: jobId, version } = request.params
      return jobs.version(await resolveTenant(request), jobId, versionOf(version))
    },
  })

  app.post<{ Params: JobParams; Body: RollbackInput }>('/jobs/:job_id/rollback', {
    schema: rollbackOperation,
    preValidation: (request, _reply, done) => done(request.body === undefined ? emptyBody() : undefined),
    handler: async (request, reply) =>
      sendJob(reply, await jobs.rollback(await resolveTenant(request), request.params.job_id, request.body)),
  })
}

/** What no version can be called is not found, like any other. */
function versionOf(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw new CarillonError('job_version_not_found', {
    detail: `${JSON.stringify(text.slice(0, 64))} is no version: versions are numbers from 1 on.`,
  })
}
