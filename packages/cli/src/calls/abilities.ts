import type { Caller } from './call.js'

/** What a server can do, by its own description: an older one knows fewer fields and routes than this command. */
export interface Abilities {
  takes(field: string): boolean
  has(method: string, path: string): boolean
}

interface OpenApi {
  paths?: Record<string, Record<string, unknown>>
  components?: { schemas?: Record<string, { properties?: Record<string, unknown> }> }
}

export async function abilitiesOf(caller: Caller): Promise<Abilities> {
  const document = await caller.call<OpenApi>({ method: 'GET', path: '/openapi.json' })
  const fields = new Set(Object.keys(jobInputOf(document)))
  const paths = document.paths ?? {}
  return {
    takes: (field) => fields.has(field),
    has: (method, path) => paths[`/api/v1${path}`]?.[method.toLowerCase()] !== undefined,
  }
}

function jobInputOf({ components, paths }: OpenApi): Record<string, unknown> {
  const named = components?.schemas?.['JobInput']?.properties
  if (named !== undefined) return named
  // Where the schema stands in the route itself.
  const post = paths?.['/api/v1/jobs']?.['post'] as
    | { requestBody?: { content?: Record<string, { schema?: { properties?: Record<string, unknown> } }> } }
    | undefined
  return post?.requestBody?.content?.['application/json']?.schema?.properties ?? {}
}
