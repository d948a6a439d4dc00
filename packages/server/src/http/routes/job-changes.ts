import { CancelJobInput, DryRunQuery, Job, JobDryRun, JobPatch, PauseInput, Run } from '@carillon/contract'
import { Type } from 'typebox'
import type { FastifyInstance } from 'fastify'
import type { IdempotencyPort, JobsPort } from '../api.js'
import { idempotencyErrors, idempotencyHeaders, idempotent } from '../idempotent.js'
import { etagHeader, expectedVersion, ifMatchHeader, sendJob } from '../etag.js'
import { bodyMayBeEmpty, emptyBody } from '../json-body.js'
import { bodyErrors, commonErrors, operation } from '../openapi.js'
import { refTo } from '../schemas.js'
import { resolveTenant } from '../tenant.js'
import { type JobParams, jobParams } from './jobs.js'

/** Nothing is asked for; a field that is sent all the same is surely a mistake. */
const noFields = Type.Object({}, { additionalProperties: false })

const pauseOperation = operation({
  operationId: 'pauseJob',
  summary: 'Pause a job',
  description:
    'Nothing of it starts any more, from one second after the answer at the latest. A run under way goes on. What its ' +
    'ticks come to meanwhile is decided by its missed_window when it is resumed. Paused already: the reason and the ' +
    'end are replaced.',
  tag: 'jobs',
  params: jobParams,
  body: refTo(PauseInput),
  answers: { 200: { description: 'Paused', schema: refTo(Job) } },
  errors: [...bodyErrors, 'job_not_found', 'job_ended', 'job_cancelled', 'job_name_taken', ...commonErrors],
})

const resumeOperation = operation({
  operationId: 'resumeJob',
  summary: 'Resume a paused job',
  description:
    'Its missed_window decides about the ticks of the pause. A job that is not paused stays as it is.',
  tag: 'jobs',
  params: jobParams,
  body: noFields,
  answers: { 200: { description: 'Active, or ended where no tick is ahead', schema: refTo(Job) } },
  errors: [...bodyErrors, 'job_not_found', 'job_ended', 'job_cancelled', 'invalid_schedule', ...commonErrors],
})

const triggerOperation = operation({
  operationId: 'triggerJob',
  summary: 'Run a job now, beside its schedule',
  description:
    'No tick is used up, and the run does not count for max_runs. Its overlap_policy holds: a run that is passed over ' +
    'has the status skipped.',
  tag: 'jobs',
  headers: idempotencyHeaders,
  params: jobParams,
  body: noFields,
  answers: { 202: { description: 'The run, or the record that there is none', schema: refTo(Run) } },
  errors: [...bodyErrors, 'job_not_found', 'job_cancelled', ...idempotencyErrors, ...commonErrors],
})

const cancelOperation = operation({
  operationId: 'cancelJob',
  summary: 'Cancel a job',
  description:
    'No tick of it comes any more, and it cannot be resumed. Runs in flight go on; the definition and what became of its ' +
    'ticks stay; its name is free again. Cancelled already: nothing changes.',
  tag: 'jobs',
  params: jobParams,
  body: refTo(CancelJobInput),
  answers: { 200: { description: 'Cancelled', schema: refTo(Job), headers: etagHeader } },
  errors: [...bodyErrors, 'job_not_found', 'job_ended', ...commonErrors],
})

const editOperation = operation({
  operationId: 'editJob',
  summary: 'Change fields of a job',
  description:
    'Fields that are not given stay as they are. The new version holds from the next tick on; runs in flight keep ' +
    'the version that they were fired with. With `dry_run=true` everything is checked and nothing is changed: the answer ' +
    'has the definition that the job would have, and its next ticks.',
  tag: 'jobs',
  params: jobParams,
  headers: ifMatchHeader,
  querystring: DryRunQuery,
  body: refTo(JobPatch),
  answers: {
    200: {
      description: 'The job as it is now; with dry_run: what it would come to',
      schema: { anyOf: [refTo(Job), refTo(JobDryRun)] },
      headers: etagHeader,
    },
  },
  errors: [
    ...bodyErrors,
    'invalid_if_match',
    'job_not_found',
    'job_ended',
    'job_cancelled',
    'job_version_conflict',
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

export function addJobChangeRoutes(app: FastifyInstance, jobs: JobsPort, idempotency: IdempotencyPort): void {
  app.post<{ Params: JobParams; Body: PauseInput }>('/jobs/:job_id/pause', {
    schema: pauseOperation,
    preValidation: bodyMayBeEmpty,
    handler: async (request) => jobs.pause(await resolveTenant(request), request.params.job_id, request.body),
  })

  app.post<{ Params: JobParams }>('/jobs/:job_id/resume', {
    schema: resumeOperation,
    preValidation: bodyMayBeEmpty,
    handler: async (request) => jobs.resume(await resolveTenant(request), request.params.job_id),
  })

  app.post<{ Params: JobParams }>('/jobs/:job_id/trigger', {
    schema: triggerOperation,
    preValidation: bodyMayBeEmpty,
    handler: idempotent<{ Params: JobParams }>(idempotency, async (request, tenant, inside) => ({
      status: 202,
      body: await jobs.trigger(tenant, request.params.job_id, inside),
    })),
  })

  app.post<{ Params: JobParams; Body: CancelJobInput }>('/jobs/:job_id/cancel', {
    schema: cancelOperation,
    preValidation: bodyMayBeEmpty,
    handler: async (request, reply) =>
      sendJob(reply, await jobs.cancel(await resolveTenant(request), request.params.job_id, request.body)),
  })

  app.patch<{ Params: JobParams; Body: JobPatch; Querystring: DryRunQuery }>('/jobs/:job_id', {
    schema: editOperation,
    preValidation: (request, _reply, done) => done(request.body === undefined ? emptyBody() : undefined),
    handler: async (request, reply) => {
      const version = expectedVersion(request.headers['if-match'], request.body.version)
      const patch = typeof version === 'number' ? { ...request.body, version } : request.body
      const tenant = await resolveTenant(request)
      if (request.query.dry_run === 'true') return jobs.tryEdit(tenant, request.params.job_id, patch)
      return sendJob(reply, await jobs.edit(tenant, request.params.job_id, patch))
    },
  })
}
