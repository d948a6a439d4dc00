import { CarillonError, type FieldProblem } from '@carillon/contract'
import type { FastifySchemaValidationError } from 'fastify/types/schema.js'
import { nearestName } from './nearest-name.js'
import { childPointer, quoted, shown } from './pointer.js'
import { refusal } from './refusal.js'
import { componentOf } from './schemas.js'

/** What Ajv tells with `verbose`: the value at fault and the schema around the broken keyword. */
interface SchemaFault extends FastifySchemaValidationError {
  data?: unknown
  parentSchema?: SchemaNode
}

interface SchemaNode {
  type?: string | readonly string[]
  minimum?: number
  maximum?: number
  maxLength?: number
  enum?: readonly (string | null)[]
  properties?: Record<string, SchemaNode>
  const?: string
  oneOf?: readonly { $ref: string }[]
}

const mostProblems = 50

/** Ajv's faults in plain language: one entry per field, the first fault of each. */
export function toValidationError(
  faults: readonly FastifySchemaValidationError[],
  part: string,
): CarillonError {
  if (part === 'params') return unknownJob(faults)
  const unknown = faults.filter(({ keyword }) => keyword === 'additionalProperties')
  const others = faults.filter(({ keyword }) => keyword !== 'additionalProperties')
  const found = new Map<string, FieldProblem>()
  // A misspelt name explains why the right one is missing: it comes first.
  for (const fault of [...unknown, ...others]) {
    if (found.size >= mostProblems) break
    const problem = describe(fault)
    if (problem !== null && !found.has(problem.pointer)) found.set(problem.pointer, problem)
  }
  const problems = [...found.values()].map((problem) => inPart(part, problem))
  return refusal(problems, unknown.length > 0 ? 'unknown_field' : 'validation_failed')
}

/** An id that no job can have is not found, like any other: the caller need not tell the two apart. */
function unknownJob(faults: readonly SchemaFault[]): CarillonError {
  return new CarillonError('job_not_found', {
    detail: `${shown(faults[0]?.data)} is not the id of a job: ids begin with job_ and have 26 characters more.`,
  })
}

function inPart(part: string, problem: FieldProblem): FieldProblem {
  const place = { querystring: 'query', headers: 'header' }[part]
  return place === undefined ? problem : { ...problem, pointer: `${place}:${problem.pointer.slice(1)}` }
}

function describe(fault: SchemaFault): FieldProblem | null {
  const { instancePath: pointer, keyword, params } = fault
  switch (keyword) {
    case 'additionalProperties':
      return unknownField(fault)
    case 'required':
      return { pointer: childPointer(pointer, String(params['missingProperty'])), message: 'is required' }
    case 'discriminator':
      return unknownType(fault)
    case 'enum':
      return wrongWord(fault)
    default:
      return { pointer, message: expectation(fault) }
  }
}

function expectation(fault: SchemaFault): string {
  const { keyword, data, parentSchema: schema = {} } = fault
  const type = typeOf(schema)
  if (type === 'integer') return `must be ${integerRange(schema)}, got ${shown(data)}`
  switch (keyword) {
    case 'type':
      return `must be ${type === 'object' || type === 'array' ? 'an' : 'a'} ${type}, got ${shown(data)}`
    case 'minLength':
      return 'must not be empty'
    case 'maxLength':
      return `must have at most ${schema.maxLength} characters, got ${[...String(data)].length}`
    default:
      return fault.message ?? `breaks the rule ${keyword}`
  }
}

/** What a value has to be; that it may be null, too, does not help whoever sent something else. */
function typeOf({ type }: SchemaNode): string {
  return [type ?? []]
    .flat()
    .filter((name) => name !== 'null')
    .join()
}

function integerRange({ minimum, maximum }: SchemaNode): string {
  if (minimum !== undefined && maximum !== undefined) return `an integer from ${minimum} to ${maximum}`
  if (minimum !== undefined) return `an integer of at least ${minimum}`
  return maximum === undefined ? 'an integer' : `an integer of at most ${maximum}`
}

function unknownField(fault: SchemaFault): FieldProblem {
  const name = String(fault.params['additionalProperty'])
  const known = Object.keys(fault.parentSchema?.properties ?? {})
  const nearest = nearestName(name, known)
  return {
    pointer: childPointer(fault.instancePath, name),
    message: 'is not a known field',
    hint: nearest === undefined ? `Known here: ${known.join(', ')}.` : `Did you mean ${nearest}?`,
  }
}

function wrongWord(fault: SchemaFault): FieldProblem {
  const words = (fault.parentSchema?.enum ?? []).filter((word) => word !== null)
  const nearest = typeof fault.data === 'string' ? nearestName(fault.data, words) : undefined
  return {
    pointer: fault.instancePath,
    message: `must be ${oneOf(words)}, got ${shown(fault.data)}`,
    ...(nearest === undefined ? {} : { hint: `Did you mean ${quoted(nearest)}?` }),
  }
}

/** `type` of a union is missing or names no branch: the branches' own faults would only confuse. */
function unknownType(fault: SchemaFault): FieldProblem {
  const tag = String(fault.params['tag'])
  const branches = (fault.parentSchema?.oneOf ?? []).map(
    ({ $ref }) => componentOf($ref) as SchemaNode | undefined,
  )
  const types = branches.flatMap((branch) => branch?.properties?.[tag]?.const ?? [])
  const given = fault.params['tagValue']
  const nearest = typeof given === 'string' ? nearestName(given, types) : undefined
  return {
    pointer: childPointer(fault.instancePath, tag),
    message:
      given === undefined ? `is required: ${oneOf(types)}` : `must be ${oneOf(types)}, got ${shown(given)}`,
    ...(nearest === undefined ? {} : { hint: `Did you mean ${quoted(nearest)}?` }),
  }
}

function oneOf(words: readonly string[]): string {
  return `one of ${words.map((word) => JSON.stringify(word)).join(', ')}`
}
