import type { Random } from '../../kit/random.js'
import type { DocumentedOperation, SchemaNode } from './openapi.js'

/** A request as it goes over the wire: the body is text, since JSON.stringify cannot write what it should carry. */
export interface HostileRequest {
  path: string
  headers: Record<string, string>
  body: string | undefined
}

const megabyte = 1_048_576

/** JSON texts that a careless server takes apart wrongly. */
const hostileJson = [
  'null',
  'true',
  '0',
  '-1',
  '1e308',
  '-1e308',
  '1e400',
  '9007199254740993',
  '99999999999999999999999999',
  '0.1',
  '""',
  '"\\u0000"',
  '"a\\u0000b"',
  '"\\ud800"',
  '"\\udc00\\ud800"',
  '"\\u202e\\ufeff"',
  '"__proto__"',
  '"1970-01-01T00:00:00Z"',
  '"+275760-09-13T00:00:00Z"',
  '"9999-99-99T99:99:99Z"',
  '"* * * * *"',
  '"@every 999999999999h"',
  '"0 0 31 2 *"',
  `"${'x'.repeat(5_000)}"`,
  `"${'☃'.repeat(70_000)}"`,
  '[]',
  '{}',
  '[null]',
  '[[[[[[]]]]]]',
  '{"__proto__":{"admin":true}}',
  '{"constructor":{"prototype":{"x":1}}}',
  '{"":""}',
  '{"$ref":"#"}',
  `${'['.repeat(100)}${']'.repeat(100)}`,
]

/** Bodies that are wrong as a whole. */
const hostileBodies = [
  '',
  '{',
  'nul',
  '\u0000',
  '{"a":1,"a":2}',
  '{"__proto__":null}',
  `${'['.repeat(20_000)}${']'.repeat(20_000)}`,
  `${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`,
  `"${'x'.repeat(2 * megabyte)}"`,
  `{"payload":"${'x'.repeat(2 * megabyte)}"}`,
]

const hostileSegments = [
  '%00',
  '..%2f..%2fetc%2fpasswd',
  '%2e%2e',
  '%ff%fe',
  '%',
  '%ed%a0%80',
  'job_',
  'job_00000000000000000000000000',
  'run_000000000000000000000000000000',
  '-1',
  '9999999999999999999999',
  'x'.repeat(2_000),
  '☃',
  "'%3Bdrop%20schema%20carillon%20cascade%3B--",
]

const hostileHeaders: Record<string, string>[] = [
  { 'if-match': '"' },
  { 'if-match': '"99999999999999999999"' },
  { 'if-match': 'W/"1"' },
  { 'if-match': '*' },
  { 'idempotency-key': '' },
  { 'idempotency-key': 'k'.repeat(300) },
  { 'idempotency-key': '\u00ff' },
  { 'content-type': 'text/plain' },
  { 'content-type': 'application/json; charset=utf-16' },
  { 'content-encoding': 'gzip' },
  { 'last-event-id': '\u00ff;drop' },
  { 'last-event-id': '9'.repeat(400) },
  { authorization: 'Bearer ' },
  { authorization: `Bearer car_${'0'.repeat(5_000)}` },
]

/** One request to the operation that is wrong in some way, or strange and right. */
export function hostileRequest(operation: DocumentedOperation, random: Random): HostileRequest {
  const path = operation.path.replace(/\{(\w+)\}/g, () => pick(hostileSegments, random))
  const query = queryOf(operation, random)
  const headers = random.next() < 0.25 ? pick(hostileHeaders, random) : {}
  return {
    path: encodeURI(path).replace(/%25/g, '%') + query,
    headers: { 'content-type': 'application/json', ...asLatin1(headers) },
    body: operation.body === null && random.next() >= 0.1 ? undefined : bodyOf(operation.body, random),
  }
}

/** Header values go out as bytes; beyond those Node refuses to send. */
function asLatin1(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, value.replace(/[^\x00-\xff]/g, '?')]),
  )
}

function queryOf(operation: DocumentedOperation, random: Random): string {
  const known = operation.parameters.filter(({ in: place }) => place === 'query').map(({ name }) => name)
  const names = [...known, ...(random.next() < 0.1 ? ['unknown', '__proto__'] : [])]
  const given = names.filter(() => random.next() < 0.4)
  if (given.length === 0) return ''
  const values = given.map((name) => `${encodeURIComponent(name)}=${pick(hostileSegments, random)}`)
  return `?${encodeURI(values.join('&')).replace(/%25/g, '%')}`
}

function bodyOf(schema: SchemaNode | null, random: Random): string {
  if (schema === null || random.next() < 0.15) return pick(hostileBodies, random)
  return valueOf(schema, random, 0)
}

/** A value that fits the schema for the most part, with something hostile in one place or another. */
function valueOf(schema: SchemaNode, random: Random, depth: number): string {
  if (depth > 6 || random.next() < 0.12) return pick(hostileJson, random)
  const choice = schema.anyOf ?? schema.oneOf
  if (choice !== undefined) return valueOf(pick(choice, random), random, depth + 1)
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum !== undefined) return JSON.stringify(pick(schema.enum, random))
  const type = Array.isArray(schema.type) ? pick(schema.type, random) : schema.type
  switch (type) {
    case 'object':
      return objectOf(schema, random, depth)
    case 'array': {
      const items = schema.items ?? {}
      return `[${Array.from({ length: random.between(0, 3) }, () => valueOf(items, random, depth + 1)).join(',')}]`
    }
    case 'integer':
    case 'number':
      return pick(['0', '1', String(schema.minimum ?? -1), String(schema.maximum ?? 1e15), '7.5'], random)
    case 'boolean':
      return pick(['true', 'false'], random)
    case 'string':
      return pick(['"a"', '"* * * * *"', '"UTC"', '"2099-01-01T00:00:00Z"', '"http://127.0.0.1:9/"'], random)
    default:
      return pick(hostileJson, random)
  }
}

function objectOf(schema: SchemaNode, random: Random, depth: number): string {
  const required = new Set(schema.required)
  const fields = Object.entries(schema.properties ?? {})
    .filter(([name]) => (required.has(name) ? random.next() < 0.95 : random.next() < 0.25))
    .map(([name, field]) => `${JSON.stringify(name)}:${valueOf(field, random, depth + 1)}`)
  if (random.next() < 0.05) fields.push('"__proto__":{"x":1}')
  if (random.next() < 0.05) fields.push('"no_such_field":1')
  return `{${fields.join(',')}}`
}

function pick<Item>(items: readonly Item[], random: Random): Item {
  return items[random.between(0, items.length - 1)] as Item
}
