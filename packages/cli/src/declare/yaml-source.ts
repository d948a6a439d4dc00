import {
  type Document,
  isMap,
  isPair,
  isScalar,
  LineCounter,
  type Node,
  type Pair,
  parseAllDocuments,
} from 'yaml'
import type { Place, Remark } from './declared.js'

/** YAML (and JSON, which is YAML) whose every value knows its line. */
export interface YamlSource {
  readonly documents: readonly Document.Parsed[]
  readonly errors: readonly Remark[]
  placeOf(node: unknown): Place
}

/** A file of a few kilobytes must not unfold to gigabytes. */
const mostAliases = 100

export function readYaml(text: string, file: string): YamlSource {
  const lines = new LineCounter()
  const parsed = parseAllDocuments(text, { lineCounter: lines, prettyErrors: false })
  const documents = 'empty' in parsed ? [] : parsed
  const placeAt = (offset: number): Place => {
    const { line, col } = lines.linePos(offset)
    return { file, line, column: col }
  }
  const errors = documents.flatMap((document) =>
    document.errors.map(
      (error): Remark => ({
        at: placeAt(error.pos[0]),
        kind: 'error',
        text: error.message,
        hint: text.includes('{{')
          ? 'It looks like a template: render it first, e.g. with helm template.'
          : 'Quote texts that begin with * or @, or that have ": " in them.',
      }),
    ),
  )
  return {
    documents,
    // One slip makes the parser stumble over the rest of its line.
    errors: errors.filter(({ at }, index) => errors[index - 1]?.at.line !== at.line),
    placeOf: (node) => placeAt((node as { range?: readonly number[] } | null)?.range?.[0] ?? 0),
  }
}

export function valueOf(node: Node, document: Document.Parsed): unknown {
  return node.toJS(document, { maxAliasCount: mostAliases })
}

/** The node that a JSON pointer leads to, or the last one on the way that there is. */
export function nodeAt(root: Node, pointer: string): Node {
  const names = pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
  let at: Node = root
  for (const name of names) {
    const next = childOf(at, name)
    if (next === null) return at
    at = next
  }
  return at
}

/** The key of a field, where it is there: mistakes are about the name, too. */
export function keyNode(root: Node, name: string): Node | null {
  const pair = isMap(root) ? root.items.find((item) => keyOf(item) === name) : undefined
  return (pair?.key as Node | undefined) ?? null
}

function childOf(node: Node, name: string): Node | null {
  if (isMap(node)) {
    const pair = node.items.find((item) => keyOf(item) === name)
    return (pair?.value ?? pair?.key ?? null) as Node | null
  }
  const items = (node as { items?: readonly unknown[] }).items
  const item = items?.[Number(name)]
  return item === undefined || isPair(item) ? null : (item as Node)
}

export function keyOf({ key }: Pair): string {
  return String(isScalar(key) ? key.value : key)
}
