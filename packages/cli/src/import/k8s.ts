import { isMap, isSeq, type Node } from 'yaml'
import type { Declared, DeclaredInput, Remark } from '../declare/declared.js'
import { readYaml, valueOf, type YamlSource } from '../declare/yaml-source.js'
import type { Mapped } from './crontab.js'
import { commandOf } from './k8s-container.js'
import { Reader } from './k8s-reader.js'

export interface K8sOptions {
  readonly file: string
  /** For CronJobs that name none. */
  readonly timezone: string
  readonly prefix?: string
  /** Put over what the manifests say. */
  readonly fields?: Partial<DeclaredInput>
}

/** The jobs that the CronJobs of a manifest mean, and what of them cannot be had. */
export function jobsOfK8s(text: string, options: K8sOptions): Mapped {
  const source = readYaml(text, options.file)
  if (source.errors.length > 0) return { declared: [], remarks: [...source.errors] }
  const remarks: Remark[] = []
  const declared: Declared[] = []
  for (const document of source.documents) {
    const { contents } = document
    if (contents === null) continue
    for (const object of objectsOf(contents)) {
      const reader = new Reader(object, source, remarks, (node) => valueOf(node, document))
      const one = cronJob(reader, source, object, options)
      if (one !== null) declared.push(one)
    }
  }
  return { declared, remarks: remarks.sort((a, b) => a.at.line - b.at.line) }
}

/** Lists hold objects; kubectl get -o yaml writes one. */
function objectsOf(node: Node): Node[] {
  if (isSeq(node)) return node.items.flatMap((item) => objectsOf(item as Node))
  if (!isMap(node)) return [node]
  const kind = node.get('kind')
  const items = node.get('items', true) as unknown
  return typeof kind === 'string' && kind.endsWith('List') && isSeq(items) ? objectsOf(items) : [node]
}

const policies: Readonly<Record<string, DeclaredInput['overlap_policy']>> = {
  Allow: 'ALLOW',
  Forbid: 'SKIP',
  Replace: 'REPLACE',
}

const longestTimeout = 86_400
const defaultBackoffLimit = 6
const mostRetries = 100

function cronJob(reader: Reader, source: YamlSource, object: Node, options: K8sOptions): Declared | null {
  const kind = reader.text('kind')
  if (kind !== 'CronJob') {
    reader.note('', `a ${kind ?? 'document without a kind'} is no CronJob: left out`)
    return null
  }
  const name = reader.text('metadata.name')
  const schedule = reader.text('spec.schedule')
  if (name === undefined || schedule === undefined) {
    reader.error('', `the CronJob has no ${name === undefined ? 'metadata.name' : 'spec.schedule'}`)
    return null
  }
  const target = commandOf(reader)
  if (target === null) return null
  const suspend = reader.value('spec.suspend')
  const input: DeclaredInput = {
    name: nameOf(name, reader, options),
    ...scheduleFields(schedule, reader, options),
    target,
    ...tagsOf(reader),
    ...policyFields(reader),
    ...options.fields,
  }
  reader.noteTheRest()
  return {
    input,
    at: source.placeOf(object),
    placeOf: (pointer) => reader.placeOf(fieldPaths[pointer] ?? ''),
    ...(typeof suspend === 'boolean' && { paused: suspend }),
  }
}

/** Where a mistake in a field of the job comes from. */
const fieldPaths: Readonly<Record<string, string>> = {
  '/schedule': 'spec.schedule',
  '/timezone': 'spec.timeZone',
  '/name': 'metadata.name',
  '/misfire_grace_seconds': 'spec.startingDeadlineSeconds',
}

function nameOf(name: string, reader: Reader, { prefix = '' }: K8sOptions): string {
  const namespace = reader.text('metadata.namespace')
  return `${prefix}${namespace === undefined || namespace === 'default' ? '' : `${namespace}/`}${name}`
}

function scheduleFields(schedule: string, reader: Reader, options: K8sOptions) {
  const zone = reader.text('spec.timeZone')
  const inline = /^(?:CRON_)?TZ=(\S+)\s+(.*)$/.exec(schedule)
  if (inline !== null)
    reader.note('spec.schedule', `the zone in front of the schedule became timezone ${inline[1]}`)
  return { schedule: inline?.[2] ?? schedule, timezone: zone ?? inline?.[1] ?? options.timezone }
}

function policyFields(reader: Reader): Partial<DeclaredInput> {
  const policy = reader.text('spec.concurrencyPolicy') ?? 'Allow'
  if (policies[policy] === undefined)
    reader.error('spec.concurrencyPolicy', `"${policy}" is no concurrencyPolicy: Allow, Forbid or Replace`)
  const deadline = reader.number('spec.startingDeadlineSeconds')
  const limit = reader.number('spec.jobTemplate.spec.backoffLimit') ?? defaultBackoffLimit
  const seconds = [
    reader.number('spec.jobTemplate.spec.activeDeadlineSeconds'),
    reader.number('spec.jobTemplate.spec.template.spec.activeDeadlineSeconds'),
  ].filter((one) => one !== undefined)
  const timeout = Math.min(...seconds, longestTimeout)
  if (seconds.length > 0 && limit > 0)
    reader.note(
      'spec.jobTemplate.spec.activeDeadlineSeconds',
      `${timeout} s are the time of each attempt here; in Kubernetes they are that of all together`,
    )
  if (limit > mostRetries)
    reader.note('spec.jobTemplate.spec.backoffLimit', `at most ${mostRetries} retries are made`)
  return {
    overlap_policy: policies[policy] ?? 'ALLOW',
    // The controller runs the latest start that it missed, and no other.
    missed_window: 'RUN_ONCE',
    ...(deadline !== undefined && { misfire_grace_seconds: deadline }),
    max_retries: Math.min(limit, mostRetries),
    timeout_seconds: Math.max(1, timeout),
  }
}

const tagPattern = /^[A-Za-z0-9][A-Za-z0-9._:/=-]{0,63}$/
const mostTags = 20

function tagsOf(reader: Reader): { tags?: string[] } {
  const labels = reader.value('metadata.labels')
  if (typeof labels !== 'object' || labels === null) return {}
  const tags = Object.entries(labels).map(([name, value]) => `${name}=${String(value)}`)
  const fit = tags.filter((tag) => tagPattern.test(tag)).slice(0, mostTags)
  if (fit.length < tags.length) reader.note('metadata.labels', 'labels that are no tags are left out')
  return fit.length === 0 ? {} : { tags: fit }
}
