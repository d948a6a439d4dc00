import { ApiError, ConnectionError } from '@carillon/sdk'

/** Stable exit codes, for scripts: 1 failed, 3 not found, 4 conflict, 5 unreachable. Usage errors are 2. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof ConnectionError) return 5
  if (error instanceof ApiError) return error.status === 404 ? 3 : error.status === 409 ? 4 : 1
  return isConfigError(error) ? 2 : 1
}

/** What went wrong, for a person: the message, its causes, and no stack. */
export function explainFailure(error: unknown): string {
  const lines = [`carillon: ${messageOf(error)}`]
  let cause = error instanceof Error ? error.cause : undefined
  for (let depth = 0; depth < 5 && cause !== undefined; depth++) {
    lines.push(`  because: ${messageOf(cause)}`)
    cause = cause instanceof Error ? cause.cause : undefined
  }
  return lines.join('\n')
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  // A connection refused on every address comes as an AggregateError without a message of its own.
  if (error.message === '' && 'errors' in error && Array.isArray(error.errors)) {
    return error.errors.map((inner) => messageOf(inner)).join('; ')
  }
  return error.message
}

function isConfigError(error: unknown): boolean {
  return error instanceof Error && error.name === 'ConfigError'
}
