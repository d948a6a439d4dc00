import type { Target } from '@carillon/sdk'
import type { Reader } from './k8s-reader.js'

type CommandTarget = Extract<Target, { type: 'command' }>

const pod = 'spec.jobTemplate.spec.template.spec'

/** The command of the pod's container; null, with the reason reported, where there is none that a worker could run. */
export function commandOf(reader: Reader): CommandTarget | null {
  const containers = reader.peek(`${pod}.containers`)
  const [container, ...more] = Array.isArray(containers) ? (containers as unknown[]) : []
  if (typeof container !== 'object' || container === null) {
    reader.note(pod, 'the pod has no container: left out')
    return null
  }
  if (more.length > 0) {
    reader.note(
      `${pod}.containers.1`,
      `the pod has ${more.length + 1} containers, and a job runs one command: left out`,
    )
    return null
  }
  return ofContainer(reader, `${pod}.containers.0`)
}

function ofContainer(reader: Reader, path: string): CommandTarget | null {
  const [command, args] = [words(reader, `${path}.command`), words(reader, `${path}.args`)]
  const image = reader.text(`${path}.image`)
  if (command.length === 0) {
    reader.note(
      `${path}.image`,
      `the container runs the entry point of its image ${image ?? ''}, which the manifest does not tell: left out; add its command`,
    )
    return null
  }
  if (image !== undefined)
    reader.note(`${path}.image`, `the command runs on a worker's machine, not in the image ${image}`)
  const env = environment(reader, path)
  const folder = reader.text(`${path}.workingDir`)
  return {
    type: 'command',
    argv: [...command, ...args].map((word) => expanded(word, env)),
    ...(Object.keys(env).length > 0 && { env }),
    ...(folder !== undefined && { cwd: folder }),
  }
}

function words(reader: Reader, path: string): string[] {
  const value = reader.value(path)
  if (value === undefined || value === null) return []
  if (Array.isArray(value)) return value.map(String)
  reader.error(path, `${path} is not a list`)
  return []
}

function environment(reader: Reader, path: string): Record<string, string> {
  const list = reader.value(`${path}.env`)
  const env: Record<string, string> = {}
  if (!Array.isArray(list)) return env
  for (const [index, item] of (
    list as ({ name?: unknown; value?: unknown; valueFrom?: unknown } | null)[]
  ).entries()) {
    const at = `${path}.env.${index}`
    if (typeof item?.name !== 'string') {
      reader.error(at, `${at} is no variable: it has no name`)
      continue
    }
    const { name } = item
    if (item.valueFrom !== undefined)
      reader.note(
        at,
        `the variable ${name} comes from the cluster: give it to the worker, or to the job's env`,
      )
    else if (/^(carillon_|traceparent$)/i.test(name))
      reader.note(at, `${name} is set by Carillon itself: left out`)
    else env[name] = expanded(textOf(item.value), env)
  }
  return env
}

/** $(NAME) stands for a variable of the container, $$(NAME) for itself; a name that is not there stays. */
function expanded(text: string, env: Readonly<Record<string, string>>): string {
  return text.replace(/\$(\$)?\(([^)]*)\)/g, (all, escape: string | undefined, name: string) =>
    escape !== undefined ? all.slice(1) : (env[name] ?? all),
  )
}

/** YAML reads 1 and true where Kubernetes would ask for quotes. */
function textOf(value: unknown): string {
  return value === undefined || value === null
    ? ''
    : typeof value === 'string'
      ? value
      : JSON.stringify(value)
}
