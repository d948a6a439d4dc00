import swagger from '@fastify/swagger'
import { type ErrorCode, errorCatalogue, Problem } from '@carillon/contract'
import type { FastifyInstance, FastifySchema } from 'fastify'
import { type Need, needs } from './access.js'
import { refTo } from './schemas.js'

/** Collects every route that is registered after it into one OpenAPI 3.1 document. */
export async function collectOpenApi(app: FastifyInstance, version: string): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Carillon',
        version,
        description:
          'Register jobs and see what became of every tick. Errors are problem documents (RFC 9457).',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      // Relative: the document is right whatever name the server is reached by.
      servers: [{ url: '/' }],
      tags: [
        { name: 'jobs', description: 'What to run and when' },
        { name: 'bulk changes', description: 'One action on many jobs' },
        { name: 'runs', description: 'What became of every tick' },
        { name: 'dead letters', description: 'Runs that used up their attempts' },
        { name: 'alerts', description: 'Events that people are told of: rules, silences, channels' },
        { name: 'workers', description: 'Runs for workers in any language' },
        { name: 'targets', description: 'The hosts that jobs call: limits and breakers' },
        { name: 'calendars', description: 'Days and stretches of time that jobs leave out' },
        { name: 'webhooks', description: 'What webhooks are signed with' },
        { name: 'access', description: 'Tenants, keys and the audit' },
        { name: 'operations', description: 'For probes, scrapers and tools' },
      ],
      components: {
        securitySchemes: {
          key: { type: 'http', scheme: 'bearer', bearerFormat: 'car_…', description: 'An API key' },
        },
      },
    },
    convertConstToEnum: false,
    transform: ({ schema, url }) => ({ schema: documented(schema as Documented), url }),
    refResolver: { buildLocalReference: (schema) => schema['$id'] as string },
  })
}

type Documented = FastifySchema & { documentedBody?: object }

/** A body that is checked piece by piece is shown whole. */
function documented({ documentedBody, ...schema }: Documented): FastifySchema {
  return documentedBody === undefined ? schema : { ...schema, body: documentedBody }
}

interface Answer {
  description: string
  /** Absent for an answer without a body. */
  schema?: object
  mediaType?: string
  headers?: Record<string, { type: string; description: string }>
}

export interface Operation {
  operationId: string
  summary: string
  tag:
    | 'jobs'
    | 'bulk changes'
    | 'runs'
    | 'dead letters'
    | 'alerts'
    | 'workers'
    | 'targets'
    | 'calendars'
    | 'webhooks'
    | 'access'
    | 'operations'
  description?: string
  headers?: object
  body?: object
  /** What readers of the document see in place of `body`. */
  documentedBody?: object
  querystring?: object
  params?: object
  answers: Record<number, Answer>
  errors: readonly ErrorCode[]
}

/** A route's schema: validates the request, and is its entry in the OpenAPI document. */
export function operation({ tag, answers, errors, ...request }: Operation) {
  const documented = Object.entries(answers).map(([status, answer]) => [status, responseOf(answer)] as const)
  const need = needs[request.operationId]
  return {
    ...request,
    tags: [tag],
    ...(need !== undefined && need !== 'open' && { security: [{ key: [] }], 'x-role': roleNeeded(need) }),
    response: { ...problemResponses(errors), ...Object.fromEntries(documented) },
  }
}

/** What every call of the API can answer with, whatever it does. */
export const commonErrors = [
  'malformed_request',
  'validation_failed',
  'unknown_field',
  'unauthenticated',
  'forbidden',
  'request_timeout',
  'headers_too_large',
  'internal_error',
  'database_unavailable',
] as const satisfies readonly ErrorCode[]

export const bodyErrors = [
  'malformed_json',
  'body_too_large',
  'unsupported_media_type',
  'validation_failed',
  'unknown_field',
] as const satisfies readonly ErrorCode[]

/** As the detail of a 403 says it. */
function roleNeeded({ role, worker, fleet }: Need): string {
  return `${role}${worker === true ? ' or worker' : ''}${fleet === true ? ' of the tenant default' : ''}`
}

function responseOf({ schema, mediaType = 'application/json', ...rest }: Answer): object {
  return schema === undefined ? { ...rest, type: 'null' } : { ...rest, content: { [mediaType]: { schema } } }
}

function problemResponses(codes: readonly ErrorCode[]): Record<number, object> {
  const byStatus = new Map<number, ErrorCode[]>()
  for (const code of new Set(codes)) {
    const { status } = errorCatalogue[code]
    byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  const content = { 'application/problem+json': { schema: refTo(Problem) } }
  const described = [...byStatus].map(([status, sameStatus]) => {
    const lines = sameStatus.map((code) => `\`${code}\`: ${errorCatalogue[code].title}.`)
    return [status, { description: lines.join('\n'), content }]
  })
  return Object.fromEntries(described) as Record<number, object>
}
