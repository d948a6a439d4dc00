import { JobInput } from '@carillon/contract'
import { type Document, isMap, isSeq, type Node } from 'yaml'
import type { Declared, DeclaredInput, Remark } from './declared.js'
import { type Misfit, misfits, type Schema } from './schema.js'
import { keyNode, nodeAt, readYaml, valueOf, type YamlSource } from './yaml-source.js'

/** Shown by the server, and not for anybody to set: they come along when an answer of the API is put into a file. */
const givenByServer = new Set([
  'job_id',
  'state',
  'version',
  'next_run_at',
  'created_at',
  'updated_at',
  'ended_at',
  'cancelled_at',
  'paused_at',
  'pause_reason',
  'paused_until',
  'last_run_at',
  'last_run_status',
  'warnings',
])

const labels: Record<string, Schema> = {
  description: { type: 'string', maxLength: 1_000 },
  tags: {
    type: 'array',
    maxItems: 20,
    items: { type: 'string', maxLength: 64, pattern: '^[A-Za-z0-9][A-Za-z0-9._:/=-]*$' },
  },
  managed_by: { type: 'string', minLength: 1, maxLength: 100 },
}

const jobSchema: Schema = {
  ...(JobInput as unknown as Schema),
  properties: {
    ...labels,
    ...(JobInput as unknown as { properties: Record<string, Schema> }).properties,
    paused: { type: 'boolean' },
  },
}

export interface JobsRead {
  readonly declared: Declared[]
  readonly remarks: Remark[]
}

/** The jobs of a file: one, a list, or `jobs:` with `defaults:` for all of them; several documents as well. */
export function readJobs(text: string, file: string): JobsRead {
  const source = readYaml(text, file)
  const found: JobsRead = { declared: [], remarks: [...source.errors] }
  if (found.remarks.length > 0) return found
  for (const document of source.documents) {
    if (document.contents !== null) readDocument(document, document.contents, source, found)
  }
  return found
}

function readDocument(document: Document.Parsed, root: Node, source: YamlSource, found: JobsRead): void {
  const error = (node: unknown, text: string, hint?: string) =>
    void found.remarks.push({
      at: source.placeOf(node),
      kind: 'error',
      text,
      ...(hint !== undefined && { hint }),
    })
  const list = isMap(root) && root.has('jobs') ? (root.get('jobs', true) as unknown as Node | null) : null
  const items = isSeq(root) ? root.items : list === null ? [root] : isSeq(list) ? list.items : null
  if (items === null) {
    error(list, 'jobs is not a list', 'Write each job as "- name: …" below jobs:')
    return
  }
  if (list !== null && isMap(root)) {
    for (const item of root.items) {
      const key = item.key as { value?: unknown }
      if (!['jobs', 'defaults'].includes(String(key.value)))
        error(item.key, `${String(key.value)} is no field here`, 'Beside jobs: there is only defaults:')
    }
  }
  const given =
    list === null || !isMap(root) ? undefined : (root.get('defaults', true) as unknown as Node | undefined)
  const defaults = given === undefined ? {} : valueOf(given, document)
  for (const item of items as Node[]) readJob(item, document, defaults as object, source, found)
}

function readJob(
  node: Node,
  document: Document.Parsed,
  defaults: object,
  source: YamlSource,
  found: JobsRead,
): void {
  const own = valueOf(node, document)
  const at = source.placeOf(node)
  if (!isMap(node) || typeof own !== 'object' || own === null) {
    found.remarks.push({
      at,
      kind: 'error',
      text: 'this is no job',
      hint: 'A job has at least a name and a schedule.',
    })
    return
  }
  const fields = withoutNulls({ ...defaults, ...own })
  const placeOf = (pointer: string) => source.placeOf(nodeAt(node, pointer))
  const wrong = misfits(fields, jobSchema)
  for (const misfit of wrong) found.remarks.push(remarkOf(misfit, fields, node, source))
  if (wrong.length > 0) return
  const { paused, ...input } = fields
  found.declared.push({
    input: input as unknown as DeclaredInput,
    at,
    placeOf,
    ...(typeof paused === 'boolean' && { paused }),
  })
}

function remarkOf(misfit: Misfit, fields: object, node: Node, source: YamlSource): Remark {
  const { pointer, message, aboutName } = misfit
  const [, field = ''] = pointer.split('/')
  const isTop = pointer === `/${field}`
  const key =
    aboutName === true
      ? keyNode(nodeAt(node, pointer.slice(0, pointer.lastIndexOf('/'))), lastOf(pointer))
      : null
  const hint = isTop && givenByServer.has(field) ? 'The server gives it: remove it.' : misfit.hint
  const name = (fields as { name?: unknown }).name
  const path = pointer.slice(1).replaceAll('/', '.')
  return {
    at: source.placeOf(key ?? nodeAt(node, pointer)),
    kind: 'error',
    text: `${typeof name === 'string' ? `${name}: ` : ''}${path === '' ? '' : `${path} `}${message}`,
    ...(hint !== undefined && { hint }),
  }
}

function lastOf(pointer: string): string {
  return pointer
    .slice(pointer.lastIndexOf('/') + 1)
    .replaceAll('~1', '/')
    .replaceAll('~0', '~')
}

/** Null is the default, as in the API. A payload of null is the default as well. */
function withoutNulls(fields: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null))
}
