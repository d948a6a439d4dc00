import { type Static, Type } from 'typebox'
import type { CarillonError } from './carillon-error.js'
import { type ErrorCode, errorCatalogue } from './errors.js'

/** RFC 9457 problem document, with the catalogue's code, the fields at fault and the request's id. */
export const Problem = Type.Object(
  {
    type: Type.String({ description: 'urn:carillon:error:CODE' }),
    title: Type.String(),
    status: Type.Integer(),
    code: Type.String({ description: 'Stable; see the error reference.' }),
    detail: Type.String(),
    hint: Type.String(),
    request_id: Type.String(),
    errors: Type.Array(
      Type.Object({
        pointer: Type.String({ description: 'JSON pointer into the body, or query:NAME, or path:NAME' }),
        message: Type.String(),
        hint: Type.Optional(Type.String()),
      }),
    ),
  },
  { $id: 'Problem', description: 'application/problem+json' },
)
export type Problem = Static<typeof Problem>

export function toProblem(error: CarillonError, requestId: string): Problem {
  return {
    type: problemType(error.code),
    title: errorCatalogue[error.code].title,
    status: error.status,
    code: error.code,
    detail: error.message,
    hint: error.hint,
    request_id: requestId,
    errors: [...error.errors],
    ...error.more,
  }
}

export function problemType(code: ErrorCode): string {
  return `urn:carillon:error:${code}`
}
