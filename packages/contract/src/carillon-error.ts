import { type ErrorCode, errorCatalogue } from './errors.js'

/** One field at fault. `pointer` is a JSON pointer into the body, or `query:name` / `path:name`. */
export interface FieldProblem {
  pointer: string
  message: string
  hint?: string
}

export interface CarillonErrorOptions {
  detail?: string
  hint?: string
  errors?: FieldProblem[]
  /** Further fields of the problem document. */
  more?: object
  /** When it may be worth another try; sent as Retry-After. */
  retryAfterSeconds?: number
  cause?: unknown
}

/** An error of the catalogue, thrown anywhere inside and mapped to problem+json at the edge. */
export class CarillonError extends Error {
  override readonly name = 'CarillonError'
  readonly code: ErrorCode
  readonly status: number
  readonly hint: string
  readonly errors: readonly FieldProblem[]
  readonly retryAfterSeconds: number | undefined
  readonly more: object

  constructor(code: ErrorCode, options: CarillonErrorOptions = {}) {
    const entry = errorCatalogue[code]
    super(options.detail ?? entry.title, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.status = entry.status
    this.hint = options.hint ?? entry.hint
    this.errors = options.errors ?? []
    this.retryAfterSeconds = options.retryAfterSeconds
    this.more = options.more ?? {}
  }
}
