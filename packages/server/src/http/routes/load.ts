import { LoadForecast, LoadSuggestion, tagFilter } from '@carillon/contract'
import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import type { LoadPort } from '../api.js'
import { commonErrors, operation } from '../openapi.js'
import { readTags } from '../page.js'
import { refTo } from '../schemas.js'
import { resolveTenant } from '../tenant.js'

const forecastQuery = Type.Object(
  {
    by: Type.Optional(
      Type.Unsafe<'minute' | 'hour'>({
        type: 'string',
        enum: ['minute', 'hour'],
        default: 'minute',
        description: 'minute: 24 hours by the minute. hour: 7 days by the hour',
      }),
    ),
    from: Type.Optional(
      Type.String({ minLength: 1, maxLength: 64, description: 'An instant; now if left out' }),
    ),
    target: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 300,
        description: 'Only jobs of this target: http, task, command, http:HOST or task:NAME',
      }),
    ),
    tag: tagFilter,
  },
  { additionalProperties: false },
)
type ForecastQuery = Static<typeof forecastQuery>

const forecastOperation = operation({
  operationId: 'forecastLoad',
  summary: 'How many ticks start when',
  description:
    'Computed by the engine that fires them, and kept for a minute. Of very many jobs a part is computed and scaled up; ' +
    '`sampled` says so.',
  tag: 'operations',
  querystring: forecastQuery,
  answers: { 200: { description: 'The coming load', schema: refTo(LoadForecast) } },
  errors: ['validation_failed', 'unknown_field', 'rate_limited', ...commonErrors],
})

const suggestionOperation = operation({
  operationId: 'suggestJitter',
  summary: 'What jitter would do about the hottest seconds of the next 24 hours',
  tag: 'operations',
  answers: { 200: { description: 'Peaks before and after', schema: refTo(LoadSuggestion) } },
  errors: ['rate_limited', ...commonErrors],
})

export function addLoadRoutes(app: FastifyInstance, load: LoadPort): void {
  app.get<{ Querystring: ForecastQuery }>('/load/forecast', {
    schema: forecastOperation,
    preValidation: readTags,
    handler: async (request) => {
      const { by = 'minute', from, target, tag: tags } = request.query
      return load.forecast(await resolveTenant(request), { by, from, target, tags })
    },
  })

  app.get('/load/suggestion', {
    schema: suggestionOperation,
    handler: async (request) => load.suggestion(await resolveTenant(request)),
  })
}
