import { Alert, AlertList, type AlertState, alertStates, limits } from '@carillon/contract'
import { Type } from 'typebox'
import type { FastifyInstance } from 'fastify'
import type { AlertsPort } from '../api.js'
import { commonErrors, operation } from '../openapi.js'
import { type PageParameters, pageOf, pageSchema, readIntegers } from '../page.js'
import { refTo } from '../schemas.js'
import { resolveTenant } from '../tenant.js'

const alertParams = Type.Object({ alert_id: Type.String({ description: 'alert_…' }) })
interface AlertParams {
  alert_id: string
}

const listOperation = operation({
  operationId: 'listAlerts',
  summary: 'List alerts, the latest first',
  description: 'Those of the tenant and those of the fleet. One whose rule is off is not listed.',
  tag: 'alerts',
  querystring: Type.Object(
    {
      ...pageSchema(limits.page).properties,
      state: Type.Optional(Type.Unsafe<AlertState>({ type: 'string', enum: [...alertStates] })),
      kind: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
      job_id: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
    },
    { additionalProperties: false },
  ),
  answers: { 200: { description: 'A page', schema: refTo(AlertList) } },
  errors: ['job_not_found', 'validation_failed', 'unknown_field', 'invalid_cursor', ...commonErrors],
})

const getOperation = operation({
  operationId: 'getAlert',
  summary: 'Show one alert, and who was told of it',
  tag: 'alerts',
  params: alertParams,
  answers: { 200: { description: 'The alert', schema: refTo(Alert) } },
  errors: ['alert_not_found', ...commonErrors],
})

const resolveOperation = operation({
  operationId: 'resolveAlert',
  summary: 'Say that an alert is over',
  description:
    'Channels that were told of it hear so at once. Found again, it is raised again: what goes on and is not to be heard of needs ' +
    'a silence. One that is over stays as it is.',
  tag: 'alerts',
  params: alertParams,
  answers: { 200: { description: 'The alert as it is now', schema: refTo(Alert) } },
  errors: ['alert_not_found', ...commonErrors],
})

export function addAlertRoutes(app: FastifyInstance, alerts: AlertsPort): void {
  app.get<{ Querystring: PageParameters & { state?: AlertState; kind?: string; job_id?: string } }>(
    '/alerts',
    {
      schema: listOperation,
      preValidation: readIntegers,
      handler: async (request) => {
        const { state, kind, job_id: jobId } = request.query
        return alerts.list(await resolveTenant(request), {
          ...pageOf(request.query),
          ...(state !== undefined && { state }),
          ...(kind !== undefined && { kind }),
          ...(jobId !== undefined && { job_id: jobId }),
        })
      },
    },
  )

  app.get<{ Params: AlertParams }>('/alerts/:alert_id', {
    schema: getOperation,
    handler: async (request) => alerts.get(await resolveTenant(request), request.params.alert_id),
  })

  app.post<{ Params: AlertParams }>('/alerts/:alert_id/resolve', {
    schema: resolveOperation,
    handler: async (request) => alerts.resolve(await resolveTenant(request), request.params.alert_id),
  })
}
