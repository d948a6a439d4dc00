import { ExplainInput, PreviewInput, ScheduleExplanation, SchedulePreview } from '@carillon/contract'
import type { FastifyInstance } from 'fastify'
import type { SchedulesPort } from '../api.js'
import { emptyBody } from '../json-body.js'
import { bodyErrors, commonErrors, operation } from '../openapi.js'
import { refTo } from '../schemas.js'
import { resolveTenant } from '../tenant.js'

const errors = [
  ...bodyErrors,
  ...(['invalid_schedule', 'schedule_never_fires', 'invalid_timezone', 'invalid_calendar'] as const),
  ...commonErrors,
]

const previewOperation = operation({
  operationId: 'previewSchedule',
  summary: 'The next ticks of a schedule, before a job has it',
  description: 'Computed by the engine that fires them. Nothing is stored.',
  tag: 'jobs',
  body: refTo(PreviewInput),
  answers: { 200: { description: 'The ticks, in order', schema: refTo(SchedulePreview) } },
  errors,
})

const explainOperation = operation({
  operationId: 'explainSchedule',
  summary: 'A schedule in words',
  tag: 'jobs',
  body: refTo(ExplainInput),
  answers: { 200: { description: 'What it means', schema: refTo(ScheduleExplanation) } },
  errors,
})

export function addScheduleRoutes(app: FastifyInstance, schedules: SchedulesPort): void {
  app.post<{ Body: PreviewInput }>('/preview', {
    schema: previewOperation,
    preValidation: (request, _reply, done) => done(request.body === undefined ? emptyBody() : undefined),
    handler: async (request) => schedules.preview(await resolveTenant(request), request.body),
  })

  app.post<{ Body: ExplainInput }>('/explain', {
    schema: explainOperation,
    preValidation: (request, _reply, done) => done(request.body === undefined ? emptyBody() : undefined),
    handler: async (request) => schedules.explain(await resolveTenant(request), request.body),
  })
}
