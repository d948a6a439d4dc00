import type { ErrorCode, FieldProblem } from '@carillon/contract'

export interface ApiErrorFields {
  status: number
  code: ApiErrorCode
  detail: string
  hint: string
  errors: readonly FieldProblem[]
  requestId: string | undefined
  retryAfterSeconds?: number | undefined
  body?: Readonly<Record<string, unknown>>
}

/** A code of the error reference; a newer server may know more; `unexpected_answer` is the client's own. */
export type ApiErrorCode = ErrorCode | 'unexpected_answer' | (string & {})

/** The server answered, and said no. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number
  readonly code: ApiErrorCode
  readonly detail: string
  /** What to do about it. */
  readonly hint: string
  /** The fields at fault, each by JSON pointer. */
  readonly errors: readonly FieldProblem[]
  /** Finds the call in the server's log. */
  readonly requestId: string | undefined
  /** How long the server asked to wait, where it did. */
  readonly retryAfterSeconds: number | undefined
  /** The whole problem document: some have more to say, e.g. the results of a bulk create. */
  readonly body: Readonly<Record<string, unknown>>

  constructor(fields: ApiErrorFields) {
    super(`${fields.detail} (${fields.code}, HTTP ${fields.status})`)
    this.status = fields.status
    this.code = fields.code
    this.detail = fields.detail
    this.hint = fields.hint
    this.errors = fields.errors
    this.requestId = fields.requestId
    this.retryAfterSeconds = fields.retryAfterSeconds
    this.body = fields.body ?? {}
  }
}

/** No answer came, or not all of it. Whether the server did what was asked is unknown. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError'
  readonly url: string
  readonly hint: string

  constructor(method: string, url: string, why: string, cause: unknown) {
    super(`${method} ${url}: ${why}`, { cause })
    this.url = url
    this.hint =
      `Check that Carillon runs and is reached at ${new URL(url).origin} (GET /readyz answers 200), ` +
      'and that nothing between here and there blocks it.'
  }
}
