import { targetLimits } from '@carillon/contract'
import { nearest } from '../time/nearest.js'
import type { Attempt } from './target.js'
import { utcText } from '../time/iso-text.js'

/**
 * A body of the job's own in place of the envelope. A string is sent as text; anything else as JSON, where a string that
 * is one variable and nothing else becomes the variable's value with its type. Values are never read as templates.
 */
export interface BodyTemplate {
  readonly contentType: string
  /** Throws a BodyTooLargeError. */
  render(attempt: Attempt): Buffer
}

/** A template that cannot be read; `pointer` is where, inside the body. */
export class BodyTemplateError extends Error {
  override readonly name = 'BodyTemplateError'

  constructor(
    readonly pointer: string,
    message: string,
    readonly hint: string,
  ) {
    super(message)
  }
}

export class BodyTooLargeError extends Error {
  override readonly name = 'BodyTooLargeError'
}

const mostBytes = 8 * 1024 * 1024

type Variable = (attempt: Attempt) => unknown
type Piece = string | Variable
/** Writes one part of the body, and says how much it wrote. */
type Part = (attempt: Attempt, grown: (length: number) => void) => unknown

const named: Readonly<Record<string, Variable>> = {
  payload: (attempt) => attempt.payload ?? null,
  job_id: (attempt) => attempt.jobId,
  job_name: (attempt) => attempt.jobName,
  run_id: (attempt) => attempt.runId,
  scheduled_at: (attempt) => utcText(attempt.scheduledAt),
  scheduled_at_unix: (attempt) => Math.floor(attempt.scheduledAt / 1000),
  attempt: (attempt) => attempt.attempt,
  fencing_token: (attempt) => attempt.token,
  catch_up: (attempt) => attempt.catchUp,
  idempotency_key: (attempt) => attempt.idempotencyKey,
}
const names = Object.keys(named)
const all = `Variables: ${names.map((name) => `{{${name}}}`).join(' ')}, and {{payload.field}} for a part of it.`

/** Throws a BodyTemplateError that says where, why, and what to do. */
export function parseBody(body: unknown): BodyTemplate {
  const counter = { variables: 0 }
  if (typeof body === 'string') {
    const pieces = piecesOf(body, '', counter)
    return {
      contentType: 'text/plain; charset=utf-8',
      render: (attempt) => bounded((grown) => textOf(pieces, attempt, grown)),
    }
  }
  const part = partOf(body, '', counter)
  return {
    contentType: 'application/json',
    render: (attempt) => bounded((grown) => JSON.stringify(part(attempt, grown))),
  }
}

/** Counted while it grows: a payload that is named many times must not be written out many times first. */
function bounded(write: (grown: (length: number) => void) => string): Buffer {
  let total = 0
  const text = write((length) => {
    total += length
    if (total > mostBytes) throw tooLarge()
  })
  const bytes = Buffer.from(text)
  if (bytes.length > mostBytes) throw tooLarge()
  return bytes
}

function tooLarge(): BodyTooLargeError {
  return new BodyTooLargeError(
    `the body becomes larger than ${mostBytes / 1024 / 1024} MiB: name the payload less often, or send a reference to it`,
  )
}

function partOf(value: unknown, pointer: string, counter: { variables: number }): Part {
  if (typeof value === 'string') return stringPart(value, pointer, counter)
  if (Array.isArray(value)) {
    const parts = value.map((item, index) => partOf(item, `${pointer}/${index}`, counter))
    return (attempt, grown) => parts.map((part) => part(attempt, grown))
  }
  if (typeof value !== 'object' || value === null) return () => value
  const parts = Object.entries(value).map(([key, item]) => {
    const at = `${pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`
    if (key.includes('{{')) {
      throw new BodyTemplateError(
        at,
        `The name ${JSON.stringify(key)} has a variable in it.`,
        'Variables stand in values only.',
      )
    }
    return [key, partOf(item, at, counter)] as const
  })
  return (attempt, grown) => Object.fromEntries(parts.map(([key, part]) => [key, part(attempt, grown)]))
}

function stringPart(text: string, pointer: string, counter: { variables: number }): Part {
  const pieces = piecesOf(text, pointer, counter)
  const [only, ...more] = pieces
  if (typeof only !== 'function' || more.length > 0) return (attempt, grown) => textOf(pieces, attempt, grown)
  return (attempt, grown) => {
    const value = only(attempt) ?? null
    grown(JSON.stringify(value).length)
    return value
  }
}

function textOf(pieces: readonly Piece[], attempt: Attempt, grown: (length: number) => void): string {
  const parts = pieces.map((piece) => {
    const text = typeof piece === 'string' ? piece : inText(piece(attempt))
    grown(text.length)
    return text
  })
  return parts.join('')
}

/** A string as it is, nothing for what is not there, and anything else as JSON. */
function inText(value: unknown): string {
  if (value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function piecesOf(text: string, pointer: string, counter: { variables: number }): Piece[] {
  const pieces: Piece[] = []
  // Odd parts are the insides of {{…}}. A lone "}}" is no mistake: JSON written as text is full of them.
  for (const [index, part] of text.split(/\{\{([^{}]*)\}\}/).entries()) {
    if (index % 2 === 1) {
      pieces.push(variableOf(part.trim(), pointer))
      counter.variables += 1
    } else if (part.includes('{{')) {
      throw new BodyTemplateError(pointer, 'A "{{" is not closed.', `Write a variable as {{run_id}}. ${all}`)
    } else if (part !== '') pieces.push(part)
  }
  if (counter.variables > targetLimits.bodyVariables) {
    throw new BodyTemplateError(
      pointer,
      `The body has more than ${targetLimits.bodyVariables} variables.`,
      'Name {{payload}} once, and let the receiver take it apart.',
    )
  }
  return pieces
}

function variableOf(name: string, pointer: string): Variable {
  const variable = Object.hasOwn(named, name) ? named[name] : undefined
  if (variable !== undefined) return variable
  const path = name.split('.')
  if (path.length > 1 && path[0] === 'payload' && path.every((step) => step !== '')) {
    return (attempt) => path.slice(1).reduce(stepInto, attempt.payload)
  }
  const suggestion = nearest(name, names)
  throw new BodyTemplateError(
    pointer,
    `{{${name.slice(0, 100)}}} is not a variable of the body.`,
    suggestion === null ? all : `Did you mean {{${suggestion}}}? ${all}`,
  )
}

/** Only what the payload itself has: no step leads to what every object has by birth. */
function stepInto(value: unknown, step: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined
  return (value as Record<string, unknown>)[step]
}
