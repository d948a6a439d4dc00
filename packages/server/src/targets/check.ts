import { isIP } from 'node:net'
import {
  CarillonError,
  type CommandTarget,
  type FieldProblem,
  hiddenValue,
  type HttpTarget,
  limits,
  type Target,
} from '@carillon/contract'
import { type AddressGuard, allowHint, blockedAddressMessage } from './address-guard.js'
import { BodyTemplateError, parseBody } from './body-template.js'
import { commandProblems } from './check-command.js'
import { hiddenProblem } from './hidden-problem.js'
import { isHeaderName, isHeaderValue, reservedHeader } from './headers.js'
import { hasBody } from './http-exchange.js'
import { rangeOf } from './success-codes.js'

/**
 * Refuses at registration what could never be delivered. Addresses behind a name are not looked up here: they
 * may differ at the time of delivery, and are checked then.
 */
export function checkTarget(target: Target | CommandTarget, guard: AddressGuard): void {
  const errors = problemsOf(target, guard)
  const [first] = errors
  if (first === undefined) return
  throw new CarillonError('invalid_target', { detail: first.message, errors })
}

function problemsOf(target: Target | CommandTarget, guard: AddressGuard): FieldProblem[] {
  switch (target.type) {
    case 'task':
      return []
    case 'command':
      return commandProblems(target)
    case 'http':
      if (isPlain(target) && isKnownUrl(target.url, guard)) return none
      return [
        ...(isKnownUrl(target.url, guard) ? [] : urlProblems(target.url, guard)),
        ...headerProblems(target.headers ?? {}),
        ...bodyProblems(target),
        ...successCodeProblems(target.success_codes ?? []),
      ]
  }
}

const none: FieldProblem[] = []

/** Nothing of it can be at fault but its URL. */
function isPlain({ headers, body, success_codes: codes }: HttpTarget): boolean {
  return headers === undefined && body === undefined && codes === undefined
}

function urlProblems(text: HttpTarget['url'], guard: AddressGuard): FieldProblem[] {
  const problem = (message: string, hint: string) => [{ pointer: '/target/url', message, hint }]
  if (/[\p{Cc}\s]/u.test(text)) {
    return problem(
      'The URL contains a space or control character.',
      'Percent-encode it, e.g. %20 for a space.',
    )
  }
  if (!URL.canParse(text)) {
    return problem('The URL cannot be read.', 'Give an absolute URL such as https://example.com/hook.')
  }
  const url = new URL(text)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    return problem(
      `The URL has the scheme "${url.protocol.slice(0, -1)}".`,
      'Only http and https are delivered.',
    )
  }
  // "http:example.com" and "http:///example.com" would be read as a host that the writer may not mean.
  if (!/^https?:\/\/[^/\\]/i.test(text)) {
    return problem(
      'The URL names no host after "//".',
      'Give an absolute URL such as https://example.com/hook.',
    )
  }
  if (url.username !== '' || url.password !== '') {
    return problem(
      'The URL contains a user name or password.',
      'Remove it and send credentials in target.headers, e.g. Authorization.',
    )
  }
  const problems = addressProblems(url, guard).flatMap((message) => problem(message, allowHint))
  if (problems.length === 0) remember(text, guard)
  return problems
}

/** URLs that had no problem. Many jobs call few of them. */
const knownUrls = new WeakMap<AddressGuard, Set<string>>()
const mostKnown = 1_000

function isKnownUrl(text: string, guard: AddressGuard): boolean {
  return knownUrls.get(guard)?.has(text) ?? false
}

function remember(text: string, guard: AddressGuard): void {
  const known = knownUrls.get(guard)
  if (known === undefined || known.size >= mostKnown) knownUrls.set(guard, new Set([text]))
  else known.add(text)
}

function addressProblems(url: URL, guard: AddressGuard): string[] {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const refusals = literalAddresses(host).map((address) => ({ address, refusal: guard.refusal(address) }))
  const [first] = refusals
  if (first?.refusal === undefined || refusals.some(({ refusal }) => refusal === undefined)) return []
  return [blockedAddressMessage(host, first.address, first.refusal)]
}

/** The addresses that a host has for certain: its own if it is one, and those that RFC 6761 gives to localhost. */
function literalAddresses(host: string): string[] {
  if (isIP(host) !== 0) return [host]
  return /(^|\.)localhost\.?$/.test(host) ? ['127.0.0.1', '::1'] : []
}

function headerProblems(headers: Readonly<Record<string, string>>): FieldProblem[] {
  const entries = Object.entries(headers)
  const problems: FieldProblem[] = []
  if (entries.length > limits.headers) {
    problems.push({
      pointer: '/target/headers',
      message: `There are ${entries.length} headers; at most ${limits.headers} are sent.`,
      hint: 'Move data into the payload.',
    })
  }
  const seen = new Set<string>()
  for (const [name, value] of entries.slice(0, limits.headers)) {
    const problem = headerProblem(name, value, seen)
    if (problem) problems.push({ pointer: `/target/headers/${escapePointer(name)}`, ...problem })
    seen.add(name.toLowerCase())
  }
  return problems
}

function headerProblem(
  name: string,
  value: string,
  seen: ReadonlySet<string>,
): { message: string; hint: string } | undefined {
  if (!isHeaderName(name)) {
    return {
      message: `${JSON.stringify(name)} is not a header name.`,
      hint: 'A name has letters, digits and - only (RFC 9110 token), no spaces and no colon.',
    }
  }
  const reserved = reservedHeader(name)
  if (reserved !== undefined) return { message: `The header ${name} ${reserved}.`, hint: 'Remove it.' }
  if (seen.has(name.toLowerCase())) {
    return {
      message: `The header ${name} is given twice, in different spellings.`,
      hint: 'Header names have no case: keep one.',
    }
  }
  if (value === hiddenValue) return hiddenProblem
  if (isHeaderValue(value)) return undefined
  return {
    message: `The value of the header ${name} has characters that HTTP cannot carry.`,
    hint: 'No line breaks, no control characters, nothing beyond Latin-1: encode it, e.g. in Base64.',
  }
}

function escapePointer(part: string): string {
  return part.replaceAll('~', '~0').replaceAll('/', '~1')
}

function bodyProblems(target: HttpTarget): FieldProblem[] {
  const { body, method = 'POST' } = target
  if (body === undefined) return []
  if (!hasBody(target)) {
    return [
      {
        pointer: '/target/body',
        message: `A ${method} is sent without a body.`,
        hint: 'Remove the body, or use POST, PUT or PATCH.',
      },
    ]
  }
  try {
    parseBody(body)
    return []
  } catch (error) {
    if (!(error instanceof BodyTemplateError)) throw error
    return [{ pointer: `/target/body${error.pointer}`, message: error.message, hint: error.hint }]
  }
}

function successCodeProblems(codes: NonNullable<HttpTarget['success_codes']>): FieldProblem[] {
  return codes.flatMap((code, index) => {
    if (rangeOf(code) !== undefined) return []
    return {
      pointer: `/target/success_codes/${index}`,
      message: `${JSON.stringify(code)} names no final status.`,
      hint: 'Give a status from 200 to 599, a class such as "2xx", or a range such as "200-204".',
    }
  })
}
