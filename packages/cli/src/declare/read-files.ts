import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { readInput } from '../read-input.js'
import { UsageError } from '../usage.js'
import { type JobsRead, readJobs } from './read-jobs.js'

const endings = /\.(ya?ml|json)$/i

/** The jobs of files, of all files in folders, and of stdin ("-"), in this order. */
export async function readDeclared(paths: readonly string[]): Promise<JobsRead> {
  const all: JobsRead = { declared: [], remarks: [] }
  const files = paths.flatMap((path) => filesAt(path))
  for (const file of files) {
    const { declared, remarks } = readJobs(await readInput(file), file === '-' ? 'stdin' : file)
    all.declared.push(...declared)
    all.remarks.push(...remarks)
  }
  return all
}

function filesAt(path: string): string[] {
  if (path === '-' || !isFolder(path)) return [path]
  const files = below(path)
  if (files.length === 0) throw new UsageError(`${path} has no .yaml, .yml or .json file in it.`)
  return files
}

function below(folder: string): string[] {
  const entries = readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))
  return entries.flatMap((entry) => {
    if (entry.name.startsWith('.')) return []
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return below(path)
    return endings.test(entry.name) ? [path] : []
  })
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}
