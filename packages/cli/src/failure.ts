import { ApiError, ConnectionError } from '@carillon/sdk'
import { CommanderError } from 'commander'
import { cliHint } from './cli-hints.js'
import { visible, visibleLines } from './output/visible.js'
import { NotFoundError, UsageError } from './usage.js'

/** Stable exit codes, for scripts. */
const exitCodes = { failed: 1, usage: 2, notFound: 3, conflict: 4, unreachable: 5 } as const

export function exitCodeOf(error: unknown): number {
  // --help and --version end by an error of commander's, too.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : exitCodes.usage
  if (error instanceof UsageError || isConfigError(error)) return exitCodes.usage
  if (error instanceof NotFoundError) return exitCodes.notFound
  if (error instanceof ConnectionError) return exitCodes.unreachable
  return error instanceof ApiError ? exitCodeOfAnswer(error) : exitCodes.failed
}

function exitCodeOfAnswer({ code, status }: ApiError): number {
  // Something answers there, and it is no Carillon: its 404 says nothing about a job.
  if (code === 'unexpected_answer') return exitCodes.unreachable
  if (status === 404 && code !== 'route_not_found') return exitCodes.notFound
  return status === 409 ? exitCodes.conflict : exitCodes.failed
}

/** What went wrong, for a person: what, why and what to do; no stack. Null where it has been said already. */
export function explainFailure(error: unknown): string | null {
  if (error instanceof CommanderError) return null
  if (error instanceof ApiError) return explainAnswer(error)
  if (error instanceof ConnectionError) return explainNoAnswer(error)
  const lines = [`carillon: ${messageOf(error)}`]
  let cause = error instanceof Error ? error.cause : undefined
  for (let depth = 0; depth < 5 && cause !== undefined; depth++) {
    lines.push(`  because: ${messageOf(cause)}`)
    cause = cause instanceof Error ? cause.cause : undefined
  }
  return withoutPasswords(visibleLines(lines.join('\n')))
}

function explainAnswer(error: ApiError): string {
  const { detail, errors, requestId } = error
  const lines = [`carillon: ${visible(detail)} (${visible(error.code)}, HTTP ${error.status})`]
  for (const { pointer, message, hint } of errors) {
    const where = visible(pointer === '' ? 'the whole body' : pointer)
    // One mistake is often the whole story: its sentence is the headline already.
    if (message === detail) lines.push(`  ${where}${hint === undefined ? '' : `: ${visible(hint)}`}`)
    else
      lines.push(`  ${where}: ${visible(message)}`, ...(hint === undefined ? [] : [`      ${visible(hint)}`]))
  }
  const said = errors.some(({ hint }) => hint === error.hint)
  if (error.hint !== '' && !said) lines.push(`  What to do: ${visible(cliHint(error))}`)
  // What was refused is not logged: only a failure of the server's own can be looked up there.
  const isLogged = requestId !== undefined && error.status >= 500
  if (isLogged) lines.push(`  Request: ${visible(requestId)}, in the server's log`)
  return withoutPasswords(lines.join('\n'))
}

function explainNoAnswer(error: ConnectionError): string {
  const { origin } = new URL(error.url)
  const [method = ''] = error.message.split(' ', 1)
  const why = error.message.slice(`${method} ${error.url}: `.length)
  const lines = [
    `carillon: no Carillon answers at ${origin}: ${visible(why)}`,
    '  Start a server with: npx carillon up',
    '  Or name the one that runs with --url, CARILLON_URL or a profile (carillon profiles add).',
  ]
  if (method === 'POST' && !neverArrived(error.cause)) {
    lines.push('  The answer was lost on its way, so the server may have done it: look before you repeat it.')
  }
  return withoutPasswords(lines.join('\n'))
}

/** Only these say for sure that the server has not seen the call. */
function neverArrived(cause: unknown): boolean {
  const inner = cause instanceof Error && cause.cause !== undefined ? cause.cause : cause
  const errors = inner instanceof AggregateError ? (inner.errors as unknown[]) : [inner]
  const codes = errors.map((error) => (error as { code?: unknown } | null)?.code)
  return codes.every((code) => ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN'].includes(String(code)))
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  // A connection refused on every address comes as an AggregateError without a message of its own.
  if (error.message === '' && 'errors' in error && Array.isArray(error.errors)) {
    return error.errors.map((inner) => messageOf(inner)).join('; ')
  }
  return error.message === '' ? error.name : error.message
}

/** A URL that a library quotes may carry one. */
function withoutPasswords(text: string): string {
  return text.replace(/(:\/\/[^\s/:@]*):[^\s/@]*@/g, '$1:****@')
}

function isConfigError(error: unknown): boolean {
  return error instanceof Error && error.name === 'ConfigError'
}
