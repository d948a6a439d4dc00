import { Calendar, CalendarInput, CalendarList } from '@carillon/contract'
import { Type } from 'typebox'
import type { FastifyInstance } from 'fastify'
import type { CalendarsPort } from '../api.js'
import { emptyBody } from '../json-body.js'
import { bodyErrors, commonErrors, operation } from '../openapi.js'
import { refTo } from '../schemas.js'
import { resolveTenant } from '../tenant.js'

const calendarParams = Type.Object({ name: Type.String({ description: 'As jobs name it in `exclude`' }) })
interface CalendarParams {
  name: string
}

const listOperation = operation({
  operationId: 'listCalendars',
  summary: 'List the calendars',
  tag: 'calendars',
  answers: { 200: { description: 'All of them, by name', schema: refTo(CalendarList) } },
  errors: [...commonErrors],
})

const getOperation = operation({
  operationId: 'getCalendar',
  summary: 'Read a calendar',
  tag: 'calendars',
  params: calendarParams,
  answers: { 200: { description: 'The calendar', schema: refTo(Calendar) } },
  errors: ['calendar_not_found', ...commonErrors],
})

const putOperation = operation({
  operationId: 'putCalendar',
  summary: 'Make or replace a calendar',
  description:
    'Every live job that names it follows before this is answered: staged runs are taken back and the next ticks are ' +
    'computed anew. What has run stays.',
  tag: 'calendars',
  params: calendarParams,
  body: refTo(CalendarInput),
  answers: { 200: { description: 'The calendar as it is now', schema: refTo(Calendar) } },
  errors: [...bodyErrors, 'invalid_calendar', ...commonErrors],
})

const deleteOperation = operation({
  operationId: 'deleteCalendar',
  summary: 'Delete a calendar that no live job names',
  tag: 'calendars',
  params: calendarParams,
  answers: { 204: { description: 'Deleted' } },
  errors: ['calendar_not_found', 'calendar_in_use', ...commonErrors],
})

export function addCalendarRoutes(app: FastifyInstance, calendars: CalendarsPort): void {
  app.get('/calendars', {
    schema: listOperation,
    handler: async (request) => calendars.list(await resolveTenant(request)),
  })

  app.get<{ Params: CalendarParams }>('/calendars/:name', {
    schema: getOperation,
    handler: async (request) => calendars.get(await resolveTenant(request), request.params.name),
  })

  app.put<{ Params: CalendarParams; Body: CalendarInput }>('/calendars/:name', {
    schema: putOperation,
    preValidation: (request, _reply, done) => done(request.body === undefined ? emptyBody() : undefined),
    handler: async (request) =>
      calendars.put(await resolveTenant(request), request.params.name, request.body),
  })

  app.delete<{ Params: CalendarParams }>('/calendars/:name', {
    schema: deleteOperation,
    handler: async (request, reply) => {
      await calendars.delete(await resolveTenant(request), request.params.name)
      return reply.code(204).send()
    },
  })
}
