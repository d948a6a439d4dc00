import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { LoadedConfig } from '@carillon/server/config'
import { type Check, fail, ok, reasonOf, skip, warn } from './check.js'

/** Checks that need no database: this machine, this Node, these files. */

const oldestNode = [20, 19] as const

export function checkNode(version: string): Check {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [leastMajor, leastMinor] = oldestNode
  if (major > leastMajor || (major === leastMajor && minor >= leastMinor))
    return ok('node', `Node ${version}`)
  return fail(
    'node',
    `Node ${version} is older than ${oldestNode.join('.')}, the oldest that Carillon is tested with`,
    'Install a current Node, for example with nvm or from nodejs.org.',
  )
}

const gibibyte = 2 ** 30
const lowSpace = 2 * gibibyte
const noSpace = 0.1 * gibibyte

export async function checkDisk(config: LoadedConfig): Promise<Check> {
  if (config.databaseUrl !== undefined) {
    return skip('disk', 'not looked at: the data lies in the Postgres of DATABASE_URL, watch its disk there')
  }
  return judgeDisk(await freeBytes(config.dataDir), config.dataDir)
}

export function judgeDisk(free: number, dataDir: string): Check {
  const says = `${(free / gibibyte).toFixed(1)} GiB free for ${dataDir}`
  const todo = 'Free some space there, or name a folder on a larger disk with --data-dir.'
  if (free < noSpace) return fail('disk', `${says}: Postgres stops when none is left`, todo)
  return free < lowSpace
    ? warn('disk', `${says}: little for a ledger that grows every day`, todo)
    : ok('disk', says)
}

/** The folder need not exist yet: then its disk is that of the nearest folder above it that does. */
export async function freeBytes(folder: string): Promise<number> {
  try {
    const { bavail, bsize } = await statfs(folder)
    return bavail * bsize
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(folder) === folder) throw error
    return freeBytes(dirname(folder))
  }
}

const loadWithinMs = 10_000

export async function checkTasks(config: LoadedConfig): Promise<Check> {
  if (config.tasks === undefined) {
    return skip('tasks', 'no task file is set: this worker runs HTTP targets only', null)
  }
  const { loadTasks } = await import('@carillon/server')
  const late = pause(loadWithinMs, null, { ref: false })
  try {
    const registry = await Promise.race([loadTasks(config.tasks), late])
    if (registry !== null) return ok('tasks', `${config.tasks} serves ${registry.names().join(', ')}`)
    return fail(
      'tasks',
      `${config.tasks} did not finish loading within ${loadWithinMs / 1000} s: carillon up would wait for it`,
      'Look for an await at the top of the file that never ends.',
    )
  } catch (error) {
    return fail('tasks', reasonOf(error), 'Correct the file: carillon up does not start without it.')
  }
}
