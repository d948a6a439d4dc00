/** The OpenAPI document, as far as the reference pages look at it. */
export interface OpenApiDocument {
  info: { title: string; version: string; description?: string }
  tags?: { name: string; description?: string }[]
  paths: Record<string, Record<string, OperationObject>>
  components: { schemas: Record<string, SchemaNode> }
}

export interface OperationObject {
  operationId: string
  summary: string
  description?: string
  tags: string[]
  parameters?: { name: string; in: string; required?: boolean; description?: string; schema: SchemaNode }[]
  requestBody?: { content: Record<string, { schema: SchemaNode }> }
  responses: Record<
    string,
    {
      description: string
      content?: Record<string, { schema: SchemaNode }>
      headers?: Record<string, { description?: string }>
    }
  >
}

export interface SchemaNode {
  $ref?: string
  type?: string | string[]
  enum?: unknown[]
  const?: unknown
  properties?: Record<string, SchemaNode>
  required?: string[]
  items?: SchemaNode
  anyOf?: SchemaNode[]
  oneOf?: SchemaNode[]
  description?: string
  default?: unknown
  minimum?: number
  maximum?: number
  maxLength?: number
  maxItems?: number
  format?: string
}

export interface Field {
  name: string
  type: string
  required: boolean
  text: string
}

export interface Call {
  id: string
  method: string
  path: string
  summary: string
  description: string
  parameters: (Field & { place: string })[]
  /** Its schema in words, and its fields where it has no name of its own. */
  body: { type: string; fields: Field[] } | null
  answers: { status: string; type: string | null; text: string }[]
  errors: { status: string; codes: string[] }[]
}

export interface Reference {
  title: string
  version: string
  description: string
  groups: { name: string; text: string; calls: Call[] }[]
  shapes: { name: string; text: string; fields: Field[] }[]
}

/** The document put in order for a reader: calls by tag, then the shapes of what goes in and comes out. */
export function referenceOf({ info, tags = [], paths, components }: OpenApiDocument): Reference {
  const calls = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      tag: operation.tags[0] ?? '',
      call: callOf(method, path, operation),
    })),
  )
  return {
    title: info.title,
    version: info.version,
    description: info.description ?? '',
    groups: tags.map(({ name, description = '' }) => ({
      name,
      text: description,
      calls: calls.flatMap(({ tag, call }) => (tag === name ? [call] : [])),
    })),
    shapes: Object.entries(components.schemas)
      .map(([name, schema]) => ({ name, text: schema.description ?? '', fields: fieldsOf(schema) }))
      .sort((one, other) => one.name.localeCompare(other.name, 'en')),
  }
}

function callOf(method: string, path: string, operation: OperationObject): Call {
  const { operationId, summary, description = '', parameters = [], requestBody, responses } = operation
  const body = requestBody?.content['application/json']?.schema
  const answers = Object.entries(responses)
  return {
    id: operationId,
    method: method.toUpperCase(),
    path,
    summary,
    description,
    parameters: parameters.map((parameter) => ({
      place: parameter.in,
      name: parameter.name,
      type: typeOf(parameter.schema),
      required: parameter.required === true,
      text: parameter.description ?? textOf(parameter.schema),
    })),
    body: body === undefined ? null : { type: typeOf(body), fields: body.$ref ? [] : fieldsOf(body) },
    answers: answers
      .filter(([status]) => Number(status) < 400)
      .map(([status, answer]) => {
        const schema = Object.values(answer.content ?? {})[0]?.schema
        return { status, type: schema === undefined ? null : typeOf(schema), text: answer.description }
      }),
    errors: answers
      .filter(([status]) => Number(status) >= 400)
      .map(([status, answer]) => ({
        status,
        codes: [...answer.description.matchAll(/`(\w+)`:/g)].map(([, code]) => code ?? ''),
      })),
  }
}

function fieldsOf({ properties = {}, required = [] }: SchemaNode): Field[] {
  return Object.entries(properties).map(([name, field]) => ({
    name,
    type: typeOf(field),
    required: required.includes(name),
    text: textOf(field),
  }))
}

/** A schema in a few words: `Job`, `string | null`, `"a" | "b"`, `string[]`. */
export function typeOf(schema: SchemaNode): string {
  if (schema.$ref !== undefined) return schema.$ref.replace('#/components/schemas/', '')
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum !== undefined) return schema.enum.map((word) => JSON.stringify(word)).join(' | ')
  const choices = schema.anyOf ?? schema.oneOf
  if (choices !== undefined) return [...new Set(choices.map(typeOf))].join(' | ')
  if (schema.type === 'array') return many(typeOf(schema.items ?? {}))
  if (Array.isArray(schema.type)) return schema.type.join(' | ')
  return schema.type ?? 'any'
}

function many(one: string): string {
  return one.includes(' | ') ? `(${one})[]` : `${one}[]`
}

function textOf(schema: SchemaNode): string {
  const notes = [
    schema.default === undefined ? null : `default ${JSON.stringify(schema.default)}`,
    schema.minimum === undefined ? null : `at least ${schema.minimum}`,
    schema.maximum === undefined ? null : `at most ${schema.maximum}`,
    schema.maxLength === undefined ? null : `at most ${schema.maxLength} characters`,
    schema.maxItems === undefined ? null : `at most ${schema.maxItems} entries`,
  ].filter((note) => note !== null)
  const described = schema.description ?? schema.anyOf?.find(({ description }) => description)?.description
  return [described, notes.join(', ')].filter((part) => part !== undefined && part !== '').join('; ')
}
