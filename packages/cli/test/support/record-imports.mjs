// Preloaded with --import: writes the address of every module that the process imports to the file named by
// IMPORTS_FILE. Hooks run on a thread of their own, so they write to a file.
import { appendFileSync } from 'node:fs'
import { register } from 'node:module'
import { isMainThread } from 'node:worker_threads'

if (isMainThread) register(import.meta.url)

export async function resolve(specifier, context, next) {
  const resolved = await next(specifier, context)
  appendFileSync(process.env.IMPORTS_FILE, `${resolved.url}\n`)
  return resolved
}
