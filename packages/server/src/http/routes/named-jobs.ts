import { Job, type JobInput, JobUpsertInput, limits } from '@carillon/contract'
import { Type } from 'typebox'
import type { FastifyInstance } from 'fastify'
import type { JobsPort } from '../api.js'
import { etagHeader, expectedVersion, ifMatchHeader, sendJob } from '../etag.js'
import { emptyBody } from '../json-body.js'
import { bodyErrors, commonErrors, operation } from '../openapi.js'
import { refusal } from '../refusal.js'
import { refTo } from '../schemas.js'
import { resolveTenant } from '../tenant.js'

const nameParams = Type.Object({ name: Type.String({ description: 'Of the job, percent-encoded' }) })
interface NameParams {
  name: string
}

const getOperation = operation({
  operationId: 'getJobByName',
  summary: 'Read the job of a name',
  description: 'The live one; where there is none, the latest that ended or was cancelled.',
  tag: 'jobs',
  params: nameParams,
  answers: { 200: { description: 'The job', schema: refTo(Job), headers: etagHeader } },
  errors: ['validation_failed', 'job_not_found', ...commonErrors],
})

const putOperation = operation({
  operationId: 'putJobByName',
  summary: 'Make the job of a name have this definition',
  description:
    'Registers it where no live job has the name, gives the live one a new version, or leaves it as it is when it has this ' +
    'definition already; then nothing is written. Fields that are not given have their defaults. A job that has ended with ' +
    'this very definition is left, too. Repeat it as often as you like.',
  tag: 'jobs',
  params: nameParams,
  headers: ifMatchHeader,
  body: refTo(JobUpsertInput),
  answers: {
    200: { description: 'Changed, or as it was', schema: refTo(Job), headers: etagHeader },
    201: {
      description: 'Registered',
      schema: refTo(Job),
      headers: { Location: { type: 'string', description: 'Where the job is read' }, ...etagHeader },
    },
  },
  errors: [
    ...bodyErrors,
    'invalid_if_match',
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

export function addNamedJobRoutes(app: FastifyInstance, jobs: JobsPort): void {
  app.get<{ Params: NameParams }>('/jobs/by-name/:name', {
    schema: getOperation,
    handler: async (request, reply) =>
      sendJob(reply, await jobs.getByName(await resolveTenant(request), nameOf(request.params))),
  })

  app.put<{ Params: NameParams; Body: JobUpsertInput }>('/jobs/by-name/:name', {
    schema: putOperation,
    preValidation: (request, _reply, done) => done(request.body === undefined ? emptyBody() : undefined),
    handler: async (request, reply) => {
      const input = inputOf(nameOf(request.params), request.body)
      const expected = expectedVersion(request.headers['if-match'])
      const { job, created } = await jobs.upsert(await resolveTenant(request), input, expected)
      if (created) void reply.code(201).header('Location', `/api/v1/jobs/${job.job_id}`)
      return sendJob(reply, job)
    },
  })
}

function nameOf({ name }: NameParams): string {
  if (name !== '' && [...name].length <= limits.name && !name.includes('\0')) return name
  throw refusal([
    { pointer: 'path:name', message: `must have 1 to ${limits.name} characters, none of them NUL` },
  ])
}

function inputOf(name: string, body: JobUpsertInput): JobInput {
  if (body.name === undefined || body.name === name) return { ...body, name }
  throw refusal([
    {
      pointer: '/name',
      message: `is ${JSON.stringify(body.name)}, and the path says ${JSON.stringify(name)}`,
    },
  ])
}
