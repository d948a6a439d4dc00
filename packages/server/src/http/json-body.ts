import { isUtf8 } from 'node:buffer'
import { CarillonError } from '@carillon/contract'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { inspectJson } from './json-inspect.js'
import { isPlainJson } from './json-plain.js'
import { locateSyntaxProblem } from './json-syntax.js'
import { refusal } from './refusal.js'

/** The value of a body, or undefined for an empty one. Everything that is no storable JSON ends as a CarillonError. */
export function parseJsonBody(raw: Buffer, contentType: string | undefined): unknown {
  refuseOtherCharset(contentType)
  if (raw.length === 0) return undefined
  if (!isUtf8(raw)) throw new CarillonError('malformed_json', { detail: 'The body is not valid UTF-8.' })
  const value = parse(withoutByteOrderMark(raw.toString('utf8')))
  const problems = isPlainJson(raw) ? [] : inspectJson(value)
  if (problems.length > 0) throw refusal(problems)
  return value
}

export function emptyBody(): CarillonError {
  return new CarillonError('malformed_json', {
    detail: 'The body is empty.',
    hint: 'Send a JSON object, with Content-Type: application/json.',
  })
}

/** For calls of which nothing needs to be said. */
export function bodyMayBeEmpty(request: FastifyRequest, _reply: FastifyReply, done: () => void): void {
  if (request.body === undefined) request.body = {}
  done()
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    const problem = locateSyntaxProblem(text)
    throw new CarillonError('malformed_json', {
      cause,
      ...(problem === null
        ? {}
        : { detail: `Line ${problem.line}, column ${problem.column}: ${problem.message}.` }),
    })
  }
}

function refuseOtherCharset(contentType: string | undefined): void {
  const charset = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(contentType ?? '')?.[1]
  if (charset === undefined || /^utf-?8$/i.test(charset)) return
  throw new CarillonError('unsupported_media_type', {
    detail: `The body is said to be in ${charset}; only UTF-8 is read.`,
  })
}

function withoutByteOrderMark(text: string): string {
  return text.startsWith('\ufeff') ? text.slice(1) : text
}
