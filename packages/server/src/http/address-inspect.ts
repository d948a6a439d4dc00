import type { CarillonError, FieldProblem } from '@carillon/contract'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { unstorable } from './json-inspect.js'
import { refusal } from './refusal.js'

/**
 * What the path and the query say, once decoded, is compared with what is stored: it must be such as could be stored. A
 * route without parameters in its query takes none.
 */
export function inspectAddress(
  request: FastifyRequest,
  _reply: FastifyReply,
  done: (error?: Error) => void,
): void {
  if (isEmpty(request.params) && isEmpty(request.query)) return done()
  done(problemOf(request))
}

function isEmpty(values: unknown): boolean {
  for (const _name in values as object) return false
  return true
}

function problemOf(request: FastifyRequest): CarillonError | undefined {
  const takesQuery = request.routeOptions.schema?.querystring !== undefined
  const [unknown] = takesQuery ? [] : Object.keys(request.query as Record<string, unknown>)
  if (unknown !== undefined) {
    const message = 'is not known here: this call takes no parameters in its query'
    return refusal([{ pointer: `query:${unknown}`, message }], 'unknown_field')
  }
  const problems = [
    ...problemsOf('path', request.params as Record<string, unknown>),
    ...problemsOf('query', request.query as Record<string, unknown>),
  ]
  return problems.length === 0 ? undefined : refusal(problems, 'validation_failed')
}

function problemsOf(place: 'path' | 'query', values: Record<string, unknown>): FieldProblem[] {
  return Object.entries(values).flatMap(([name, value]) =>
    [value].flat().flatMap((text) => {
      const message = typeof text === 'string' ? unstorable(text) : null
      return message === null ? [] : [{ pointer: `${place}:${name}`, message }]
    }),
  )
}
