import { isMap, isSeq, type Node } from 'yaml'
import type { Place, Remark } from '../declare/declared.js'
import { keyOf, nodeAt, type YamlSource } from '../declare/yaml-source.js'

/** Set by the cluster or about the cluster: they say nothing about when or what is run. */
const silent = [
  'apiVersion',
  'kind',
  'status',
  'metadata.name',
  'metadata.namespace',
  'metadata.labels',
  'metadata.annotations',
  'metadata.uid',
  'metadata.resourceVersion',
  'metadata.generation',
  'metadata.creationTimestamp',
  'metadata.managedFields',
  'metadata.selfLink',
  'spec.jobTemplate.metadata',
  'spec.jobTemplate.spec.template.metadata',
  'spec.jobTemplate.spec.template.spec.restartPolicy',
  'spec.jobTemplate.spec.template.spec.terminationGracePeriodSeconds',
  'spec.jobTemplate.spec.template.spec.dnsPolicy',
  'spec.jobTemplate.spec.template.spec.schedulerName',
  'spec.jobTemplate.spec.template.spec.securityContext',
  'spec.jobTemplate.spec.template.spec.containers.0.name',
  'spec.jobTemplate.spec.template.spec.containers.0.imagePullPolicy',
  'spec.jobTemplate.spec.template.spec.containers.0.terminationMessagePath',
  'spec.jobTemplate.spec.template.spec.containers.0.terminationMessagePolicy',
]

/** Reads fields of one object by path, and remembers which: whatever nobody asked for is reported in the end. */
export class Reader {
  private readonly read = new Set<string>(silent)

  constructor(
    private readonly root: Node,
    private readonly source: YamlSource,
    private readonly remarks: Remark[],
    private readonly toValue: (node: Node) => unknown,
  ) {}

  value(path: string): unknown {
    this.read.add(path)
    const node = this.nodeOf(path)
    return node === null ? undefined : this.toValue(node)
  }

  /** The same, and what is inside still has to be looked at. */
  peek(path: string): unknown {
    const node = this.nodeOf(path)
    return node === null ? undefined : this.toValue(node)
  }

  text(path: string): string | undefined {
    const value = this.value(path)
    if (value === undefined || value === null) return undefined
    if (typeof value === 'string' || typeof value === 'number') return String(value)
    this.error(path, `${path} is not a text`)
    return undefined
  }

  number(path: string): number | undefined {
    const value = this.value(path)
    if (value === undefined || value === null) return undefined
    if (typeof value === 'number' && Number.isInteger(value) && value >= 0) return value
    this.error(path, `${path} is not a whole number`)
    return undefined
  }

  note(path: string, text: string): void {
    this.read.add(path)
    this.remarks.push({ at: this.placeOf(path), kind: 'note', text: this.named(text) })
  }

  error(path: string, text: string): void {
    this.remarks.push({ at: this.placeOf(path), kind: 'error', text: this.named(text) })
  }

  placeOf(path: string): Place {
    return this.source.placeOf(nodeAt(this.root, pointerOf(path)))
  }

  /** Every field that was not looked at: it has no counterpart, and its author should know. */
  noteTheRest(): void {
    for (const path of this.unread(this.root, '')) this.note(path, `${path} has no counterpart: left out`)
  }

  private unread(node: Node, path: string): string[] {
    if (this.read.has(path) && path !== '') return []
    const below = [...this.read].some((one) => path === '' || one.startsWith(`${path}.`))
    if (!below) return [path]
    const inner: [string, Node][] = isMap(node)
      ? node.items.map((item) => [keyOf(item), (item.value ?? item.key) as Node])
      : isSeq(node)
        ? node.items.map((item, index) => [String(index), item as Node])
        : []
    return inner.flatMap(([name, child]) => this.unread(child, path === '' ? name : `${path}.${name}`))
  }

  private named(text: string): string {
    const name = this.nodeOf('metadata.name')
    return name === null ? text : `${String(this.toValue(name))}: ${text}`
  }

  private nodeOf(path: string): Node | null {
    const pointer = pointerOf(path)
    const parent = pointer.slice(0, pointer.lastIndexOf('/'))
    const node = nodeAt(this.root, pointer)
    const above = pointer === '' ? null : nodeAt(this.root, parent)
    return node === above ? null : node
  }
}

function pointerOf(path: string): string {
  return path === '' ? '' : `/${path.replaceAll('.', '/')}`
}
