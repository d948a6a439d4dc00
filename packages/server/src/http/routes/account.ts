import { Verification, Why } from '@carillon/contract'
import { Type } from 'typebox'
import type { FastifyInstance } from 'fastify'
import type { AccountPort } from '../api.js'
import { commonErrors, operation } from '../openapi.js'
import { refTo } from '../schemas.js'
import { resolveTenant } from '../tenant.js'
import { type JobParams, jobParams } from './jobs.js'

const moment = (description: string) => Type.String({ minLength: 1, maxLength: 64, description })

const whyOperation = operation({
  operationId: 'whyTick',
  summary: 'Say what became of one tick of a job, and why',
  tag: 'runs',
  params: jobParams,
  querystring: Type.Object(
    {
      at: moment("The tick: ISO-8601 with an offset, or without one as the clocks of the job's zone show it"),
    },
    { additionalProperties: false },
  ),
  answers: {
    200: { description: 'What became of it; also where the instant is no tick', schema: refTo(Why) },
  },
  errors: ['job_not_found', 'validation_failed', 'unknown_field', ...commonErrors],
})

const verifyOperation = operation({
  operationId: 'verifyTicks',
  summary: 'Compare the ticks that schedules name in a range with what is on record',
  description:
    'A long verification is answered in parts: while next_cursor is not null, call again with the same query, from and ' +
    'to as they were answered, and the cursor; then add the numbers up.',
  tag: 'runs',
  querystring: Type.Object(
    {
      from: moment('The first instant; ISO-8601, UTC where it has no offset'),
      to: Type.Optional(
        moment('The first instant that does not belong to the range; now where it is left out'),
      ),
      job_id: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: 'Only this job' })),
      cursor: Type.Optional(
        Type.String({ minLength: 1, maxLength: 1_000, description: 'Where the part before ended' }),
      ),
    },
    { additionalProperties: false },
  ),
  answers: {
    200: { description: 'The numbers, and the first hundred findings', schema: refTo(Verification) },
  },
  errors: ['job_not_found', 'validation_failed', 'unknown_field', 'invalid_cursor', ...commonErrors],
})

export function addAccountRoutes(app: FastifyInstance, account: AccountPort): void {
  app.get<{ Params: JobParams; Querystring: { at: string } }>('/jobs/:job_id/why', {
    schema: whyOperation,
    handler: async (request) =>
      account.why(await resolveTenant(request), request.params.job_id, request.query.at),
  })

  app.get<{ Querystring: { from: string; to?: string; job_id?: string; cursor?: string } }>('/verify', {
    schema: verifyOperation,
    handler: async (request) => {
      const { from, to, job_id: jobId, cursor } = request.query
      return account.verify(await resolveTenant(request), { from, to, jobId, cursor })
    },
  })
}
