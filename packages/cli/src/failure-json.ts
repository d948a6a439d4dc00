import { ApiError, ConnectionError } from '@carillon/sdk'
import { CommanderError } from 'commander'
import { exitCodeOf, explainFailure } from './failure.js'
import { NotFoundError } from './usage.js'

/** An error as a program reads it: one object on stderr where --json was asked for. */
export interface FailureObject {
  error: {
    /** Of the server's catalogue, or the command's own: usage, not_found, unreachable, failed, … */
    code: string
    message: string
    exit_code: number
    status?: number
    hint?: string
    errors?: readonly object[]
    request_id?: string
  }
}

/** Null where there is nothing to say: help and version end as errors of commander's. */
export function failureObject(error: unknown): FailureObject | null {
  const exitCode = exitCodeOf(error)
  if (error instanceof CommanderError) {
    if (exitCode === 0) return null
    return { error: { code: 'usage', message: error.message.replace(/^error: /, ''), exit_code: exitCode } }
  }
  const said = { message: textOf(error), exit_code: exitCode }
  if (error instanceof ApiError) {
    return {
      error: {
        ...said,
        code: error.code,
        message: error.detail,
        status: error.status,
        ...(error.hint !== '' && { hint: error.hint }),
        ...(error.errors.length > 0 && { errors: error.errors }),
        ...(error.requestId !== undefined && { request_id: error.requestId }),
      },
    }
  }
  const errors = (error as { errors?: unknown } | null)?.errors
  const list = error instanceof Error && !(error instanceof ConnectionError) && Array.isArray(errors)
  return { error: { code: codeOf(error, exitCode), ...said, ...(list && { errors: errors as object[] }) } }
}

function codeOf(error: unknown, exitCode: number): string {
  if (error instanceof ConnectionError) return 'unreachable'
  if (error instanceof NotFoundError) return 'not_found'
  if (exitCode === 2) return 'usage'
  const own = (error as { code?: unknown } | null)?.code
  return typeof own === 'string' && /^[a-z_]+$/.test(own) ? own : 'failed'
}

/** The same words that a person gets, without the name of the command before them. */
function textOf(error: unknown): string {
  return (explainFailure(error) ?? '').replace(/^carillon: /, '')
}

/** Whether the command line asks for JSON: also where it could not be read otherwise. */
export function wantsJson(args: readonly string[]): boolean {
  const end = args.indexOf('--')
  return (end === -1 ? args : args.slice(0, end)).includes('--json')
}
