import { Check, Errors } from 'typebox/schema'

/** A JSON schema, as far as it is looked at. */
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
  allOf?: SchemaNode[]
  minimum?: number
  maximum?: number
  format?: string
  pattern?: string
  default?: unknown
}

interface Response {
  content?: Record<string, { schema: SchemaNode }>
}

export interface DocumentedOperation {
  method: string
  path: string
  operationId: string
  parameters: { name: string; in: string; schema: SchemaNode }[]
  body: SchemaNode | null
  responses: Record<string, Response>
}

interface Document {
  paths: Record<
    string,
    Record<
      string,
      {
        operationId: string
        parameters?: DocumentedOperation['parameters']
        requestBody?: { content: Record<string, { schema: SchemaNode }> }
        responses: Record<string, Response>
      }
    >
  >
  components: { schemas: Record<string, SchemaNode> }
}

async function documentOf(url: string): Promise<Document> {
  return (await (await fetch(`${url}/api/v1/openapi.json`)).json()) as Document
}

/** Every operation of a running server's own document, with references put in place. */
export async function operationsOf(url: string): Promise<DocumentedOperation[]> {
  const document = await documentOf(url)
  const whole = <Node>(node: Node): Node => inPlace(node, document.components.schemas, 0) as Node
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      operationId: operation.operationId,
      parameters: whole(operation.parameters ?? []),
      body: whole(operation.requestBody?.content['application/json']?.schema ?? null),
      responses: whole(operation.responses),
    })),
  )
}

/** Where values are not as a schema of the document says; empty when they are. */
export async function schemaMistakes(
  url: string,
  name: string,
  values: readonly unknown[],
): Promise<string[]> {
  const { schemas } = (await documentOf(url)).components
  const schema = inPlace({ $ref: `#/components/schemas/${name}` }, schemas, 0) as SchemaNode
  return values.flatMap((value) => mistakesIn(schema, value))
}

const deepest = 60

function inPlace(node: unknown, schemas: Record<string, SchemaNode>, depth: number): unknown {
  if (depth > deepest) throw new Error('The document refers to itself without end.')
  if (Array.isArray(node)) return node.map((one) => inPlace(one, schemas, depth + 1))
  if (typeof node !== 'object' || node === null) return node
  const reference = (node as SchemaNode).$ref
  if (typeof reference === 'string') {
    const name = reference.replace('#/components/schemas/', '')
    const found = schemas[name]
    if (found === undefined) throw new Error(`The document has no schema ${reference}.`)
    return inPlace(found, schemas, depth + 1)
  }
  return Object.fromEntries(
    Object.entries(node).flatMap(([key, value]) =>
      key === '$id' ? [] : [[key, inPlace(value, schemas, depth + 1)]],
    ),
  )
}

/** What an answer has that the document does not say, or lacks; empty when it is as documented. */
export function departures(
  operation: DocumentedOperation,
  answer: { status: number; contentType: string; body: string },
): string[] {
  const documented = operation.responses[String(answer.status)]
  if (documented === undefined) return [`status ${answer.status} is not documented`]
  const media = answer.contentType.split(';')[0]?.trim() ?? ''
  if (documented.content === undefined) return answer.body === '' ? [] : ['a body where none is documented']
  const content = documented.content[media]
  if (content === undefined) return [`the content type ${media} is not documented for ${answer.status}`]
  if (!media.endsWith('json')) return []
  return mistakesIn(content.schema, JSON.parse(answer.body))
}

function mistakesIn(schema: SchemaNode, value: unknown): string[] {
  if (Check(schema, value)) return []
  const [, errors] = Errors(schema, value)
  return errors.slice(0, 5).map(({ instancePath, message }) => `${instancePath} ${message}`)
}
