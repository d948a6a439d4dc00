import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { limits } from '@carillon/contract'
import type { TaskDefinition } from '@carillon/sdk'

export interface TaskRegistry {
  names(): string[]
  get(name: string): TaskDefinition | undefined
}

/** A task file that cannot be used. The message says which file, why, and what to do. */
export class TaskFileError extends Error {
  override readonly name = 'TaskFileError'
}

type ImportModule = (url: string) => Promise<Record<string, unknown>>
const nativeImport: ImportModule = async (url) => (await import(url)) as Record<string, unknown>

const shapes =
  'Export tasks made with defineTask(), or a default export { name: handler } or [task, …] (see @carillon/sdk).'

/** Loads the tasks of an ES module; a relative path counts from the working directory. */
export async function loadTasks(
  file: string,
  importModule: ImportModule = nativeImport,
): Promise<TaskRegistry> {
  const path = resolve(file)
  const found = await stat(path).catch(() => undefined)
  if (found === undefined) {
    throw new TaskFileError(
      `The task file ${path} does not exist. Check the path; relative ones start at ${process.cwd()}.`,
    )
  }
  if (!found.isFile())
    throw new TaskFileError(`${path} is not a file. Name the module that exports the tasks.`)
  const module = await importModule(pathToFileURL(path).href).catch((error: unknown) => {
    throw new TaskFileError(explainImportFailure(path, error), { cause: error })
  })
  const tasks = collect(module, path)
  if (tasks.size === 0) throw new TaskFileError(`The task file ${path} exports no task. ${shapes}`)
  return createTaskRegistry(tasks.values())
}

export function createTaskRegistry(tasks: Iterable<TaskDefinition>): TaskRegistry {
  const byName = new Map(Array.from(tasks, (task) => [task.id, task]))
  return { names: () => [...byName.keys()].sort(), get: (name) => byName.get(name) }
}

function explainImportFailure(path: string, error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'ERR_UNKNOWN_FILE_EXTENSION' && /\.[cm]?tsx?$/.test(path)) {
    return (
      `The task file ${path} is TypeScript, which Node ${process.version} does not run by itself. ` +
      'Compile it to .js or .mjs and name that file, or use Node 22.18 or later.'
    )
  }
  const why = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
  return `The task file ${path} could not be loaded: ${why}`
}

function collect(module: Record<string, unknown>, path: string): Map<string, TaskDefinition> {
  const tasks = new Map<string, TaskDefinition>()
  const add = (task: TaskDefinition) => {
    if (task.id === '' || task.id.length > limits.name) {
      throw new TaskFileError(
        `The task file ${path} has a task named ${JSON.stringify(task.id.slice(0, limits.name))}. A name has 1 to ${limits.name} characters.`,
      )
    }
    const other = tasks.get(task.id)
    // The same task under two export names is one task.
    if (other !== undefined && other !== task) {
      throw new TaskFileError(
        `The task file ${path} exports two tasks with the id "${task.id}". Give each task an id of its own.`,
      )
    }
    tasks.set(task.id, task)
  }
  for (const task of defaultTasks(module['default'], path)) add(task)
  for (const [name, value] of Object.entries(module)) {
    // Other named exports are helpers and types of the module: none of our business.
    if (name !== 'default' && isTask(value)) add(value)
  }
  return tasks
}

function defaultTasks(exported: unknown, path: string): TaskDefinition[] {
  if (exported === undefined) return []
  if (isTask(exported)) return [exported]
  if (Array.isArray(exported)) return exported.map((item, index) => taskOf(item, `[${index}]`, path))
  if (typeof exported !== 'object' || exported === null) {
    throw new TaskFileError(`The default export of ${path} is ${kindOf(exported)}. ${shapes}`)
  }
  return Object.entries(exported).map(([name, value]) =>
    typeof value === 'function'
      ? { id: name, run: value as TaskDefinition['run'] }
      : taskOf(value, `.${name}`, path),
  )
}

function taskOf(value: unknown, place: string, path: string): TaskDefinition {
  if (isTask(value)) return value
  throw new TaskFileError(
    `default${place} in ${path} is ${kindOf(value)}, not a task or a function. ${shapes}`,
  )
}

/** By shape, not by class: the module may have a copy of the SDK of its own. */
function isTask(value: unknown): value is TaskDefinition {
  if (typeof value !== 'object' || value === null) return false
  return 'id' in value && typeof value.id === 'string' && 'run' in value && typeof value.run === 'function'
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}
