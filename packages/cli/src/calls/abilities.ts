import type { Server } from '../client.js'

/** What a server can do, by its own description: an older one knows fewer fields and routes than this command. */
export interface Abilities {
  takes(field: string): boolean
  has(method: string, path: string): boolean
}

interface OpenApi {
  paths?: Record<string, Record<string, unknown>>
  components?: { schemas?: Record<string, { properties?: Record<string, unknown> }> }
}

const patienceMs = 10_000

export async function abilitiesOf({ url, apiKey }: Server): Promise<Abilities> {
  const document = await described(url, apiKey)
  // One that does not tell is taken for able: what it cannot do it will say itself.
  if (document === null) return { takes: () => true, has: () => true }
  const fields = new Set(Object.keys(jobInputOf(document)))
  const paths = document.paths ?? {}
  return {
    takes: (field) => fields.has(field),
    has: (method, path) => paths[`/api/v1${path}`]?.[method.toLowerCase()] !== undefined,
  }
}

async function described(url: string, apiKey: string | undefined): Promise<OpenApi | null> {
  const document = new URL(url)
  document.pathname = `${document.pathname.replace(/\/+$/, '')}/api/v1/openapi.json`
  try {
    const response = await fetch(document, {
      headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` },
      redirect: 'manual',
      signal: AbortSignal.timeout(patienceMs),
    })
    return response.ok ? ((await response.json()) as OpenApi) : null
  } catch {
    return null
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
