import { type Static, Type } from 'typebox'
import type { FastifyRequest } from 'fastify'
import type { PageQuery } from './api.js'

const defaultPage = 20
const longestCursor = 1_000

/** `?limit=&cursor=` of every list. */
export function pageSchema(largest: number) {
  return Type.Object(
    {
      limit: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: largest,
          default: defaultPage,
          description: 'Entries on a page',
        }),
      ),
      cursor: Type.Optional(
        Type.String({ minLength: 1, maxLength: longestCursor, description: 'Where the page before ended' }),
      ),
    },
    { additionalProperties: false },
  )
}

export type PageParameters = Static<ReturnType<typeof pageSchema>>

/**
 * A query string has only texts, and the validator converts nothing, because a body must not be converted either.
 * Only what is plainly an integer becomes one: `limit=1e1` or an empty `limit=` stay texts and are refused.
 */
export const readIntegers = integersIn('limit')

export function integersIn(name: string): (request: FastifyRequest) => Promise<void> {
  return (request) => {
    const query = request.query as Record<string, unknown>
    const text = query[name]
    if (typeof text === 'string' && /^-?[0-9]{1,15}$/.test(text)) query[name] = Number(text)
    return Promise.resolve()
  }
}

/** A tag that is given once is a list of one. */
export function readTags(request: FastifyRequest): Promise<void> {
  const query = request.query as Record<string, unknown>
  if (typeof query['tag'] === 'string') query['tag'] = [query['tag']]
  return Promise.resolve()
}

export function pageOf({ limit = defaultPage, cursor }: PageParameters): PageQuery {
  return { limit, cursor: cursor ?? null }
}
