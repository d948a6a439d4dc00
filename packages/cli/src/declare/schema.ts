import { editDistance } from '@carillon/server/config'

/** The part of JSON Schema that the contract is written in. */
export interface Schema {
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly minItems?: number
  readonly maxItems?: number
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | Schema
  readonly oneOf?: readonly Schema[]
  readonly anyOf?: readonly Schema[]
  readonly discriminator?: { readonly propertyName: string }
}

export interface Misfit {
  readonly pointer: string
  readonly message: string
  readonly hint?: string
  /** It is about the name of the field, not its value. */
  readonly aboutName?: true
}

/** What does not fit a schema, each with the repair. */
export function misfits(value: unknown, schema: Schema, pointer = ''): Misfit[] {
  if (schema.oneOf !== undefined) return oneOfMisfits(value, schema, pointer)
  if (schema.anyOf !== undefined) {
    const branches = schema.anyOf.map((branch) => misfits(value, branch, pointer))
    return branches.some((found) => found.length === 0) ? [] : (branches[0] ?? [])
  }
  if (!hasType(value, schema) || !inEnum(value, schema) || !inRange(value, schema)) {
    return [{ pointer, message: `is ${shown(value)}, and should be ${expected(schema)}` }]
  }
  if (Array.isArray(value)) {
    const items = value as unknown[]
    const inner =
      schema.items === undefined
        ? []
        : items.flatMap((item, at) => misfits(item, schema.items ?? {}, `${pointer}/${at}`))
    return [...countMisfit(items, schema, pointer), ...inner]
  }
  return isRecord(value) ? objectMisfits(value, schema, pointer) : []
}

/** The branch that the discriminator names: a mistake is told against that one, and not against all. */
function oneOfMisfits(value: unknown, schema: Schema, pointer: string): Misfit[] {
  const name = schema.discriminator?.propertyName ?? 'type'
  const branches = schema.oneOf ?? []
  const wordOf = (branch: Schema) => branch.properties?.[name]?.const
  const words = branches.map((branch) => String(wordOf(branch)))
  if (!isRecord(value))
    return [{ pointer, message: `is ${shown(value)}, and should be an object with ${name}` }]
  const branch = branches.find((one) => wordOf(one) === value[name])
  if (branch !== undefined) return misfits(value, branch, pointer)
  const given = value[name] === undefined ? 'is missing' : `is ${shown(value[name])}`
  return [
    {
      pointer: value[name] === undefined ? pointer : `${pointer}/${name}`,
      message: `${name} ${given}: use ${words.join(', ')}`,
    },
  ]
}

function objectMisfits(value: Record<string, unknown>, schema: Schema, pointer: string): Misfit[] {
  const known = schema.properties ?? {}
  const missing = (schema.required ?? [])
    .filter((name) => value[name] === undefined)
    .map((name): Misfit => ({ pointer, message: `${name} is missing` }))
  const inner = Object.entries(value).flatMap(([name, item]): Misfit[] => {
    const at = `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
    const own = Object.hasOwn(known, name) ? known[name] : undefined
    if (own !== undefined) return misfits(item, own, at)
    if (typeof schema.additionalProperties === 'object') return misfits(item, schema.additionalProperties, at)
    if (schema.additionalProperties !== false) return []
    return [
      { pointer: at, message: 'is no field here', ...nearest(name, Object.keys(known)), aboutName: true },
    ]
  })
  return [...missing, ...inner]
}

function nearest(name: string, known: readonly string[]): { hint: string } {
  const [first] = known
    .map((one) => ({ one, distance: distance(name, one) }))
    .sort((a, b) => a.distance - b.distance)
  if (first !== undefined && first.distance <= 0.4) return { hint: `Did you mean ${first.one}?` }
  return { hint: `The fields are ${[...known].sort().join(', ')}.` }
}

/** startsAt, starts-at and starts_at are the same slip of the pen. */
function distance(given: string, known: string): number {
  const plain = (text: string) => text.replace(/[-_]/g, '').toLowerCase()
  const [a, b] = [plain(given).slice(0, 64), plain(known)]
  return editDistance(a, b) / Math.max(a.length, b.length, 1)
}

function hasType(value: unknown, { type }: Schema): boolean {
  if (type === undefined) return true
  const types = typeof type === 'string' ? [type] : type
  return types.some((one) => isOfType(value, one))
}

function isOfType(value: unknown, type: string): boolean {
  switch (type) {
    case 'integer':
      return Number.isInteger(value)
    case 'array':
      return Array.isArray(value)
    case 'object':
      return isRecord(value)
    case 'null':
      return value === null
    default:
      return typeof value === type
  }
}

function inEnum(value: unknown, schema: Schema): boolean {
  if (schema.const !== undefined && schema.const !== value) return false
  return schema.enum === undefined || schema.enum.includes(value)
}

function inRange(value: unknown, { minimum, maximum, minLength, maxLength, pattern }: Schema): boolean {
  if (typeof value === 'number') {
    return value >= (minimum ?? Number.NEGATIVE_INFINITY) && value <= (maximum ?? Number.POSITIVE_INFINITY)
  }
  if (typeof value !== 'string') return true
  const fits = value.length >= (minLength ?? 0) && value.length <= (maxLength ?? Number.POSITIVE_INFINITY)
  return fits && (pattern === undefined || new RegExp(pattern, 'u').test(value))
}

function countMisfit(
  items: readonly unknown[],
  { minItems = 0, maxItems }: Schema,
  pointer: string,
): Misfit[] {
  const most = maxItems ?? Number.POSITIVE_INFINITY
  if (items.length >= minItems && items.length <= most) return []
  return [{ pointer, message: `has ${items.length} entries, and should have ${minItems} to ${most}` }]
}

const typeWords: Readonly<Record<string, string>> = {
  integer: 'a whole number',
  number: 'a number',
  string: 'a text',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  null: 'null',
}

function expected(schema: Schema): string {
  if (schema.const !== undefined) return shown(schema.const)
  if (schema.enum !== undefined) return schema.enum.map(shown).join(', ')
  const types = schema.type === undefined ? [] : [schema.type].flat()
  const words = types.map((type) => typeWords[type] ?? type).join(' or ')
  if (schema.minimum !== undefined && schema.maximum !== undefined) {
    return `${words} from ${schema.minimum} to ${schema.maximum}`
  }
  if (types.includes('string') && schema.pattern !== undefined)
    return `${words} that matches ${schema.pattern}`
  return schema.maxLength === undefined
    ? words
    : `${words} of ${schema.minLength ?? 0} to ${schema.maxLength} characters`
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
