// The peers are no dependencies of the product: they are installed into the cache when a benchmark first needs them.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cache } from '../lib/cache.mjs'
import { progress } from '../lib/progress.mjs'

const here = fileURLToPath(new URL('.', import.meta.url))
const root = fileURLToPath(new URL('../..', import.meta.url))

/** Where they lie or would lie: another lock file is another folder. */
function folderOfPeers() {
  const lock = readFileSync(join(here, 'package-lock.json'))
  return join(cache, `peers-${createHash('sha256').update(lock).digest('hex').slice(0, 12)}`)
}

export function peersInstalled() {
  return existsSync(join(folderOfPeers(), 'node_modules'))
}

/** Answers the folder from which they can be imported. */
export function installPeers() {
  const folder = folderOfPeers()
  if (peersInstalled()) return folder
  progress('installing the peers into the cache')
  const fresh = `${folder}.${process.pid}`
  mkdirSync(fresh, { recursive: true })
  for (const name of ['package.json', 'package-lock.json']) cpSync(join(here, name), join(fresh, name))
  cpSync(join(root, '.npmrc'), join(fresh, '.npmrc'))
  // Not `npm ci`: it wants binaries of every platform in the lock file, of which a registry may have one only.
  const { status, stderr } = spawnSync(
    'npm',
    ['install', '--no-save', '--ignore-scripts', '--loglevel', 'error'],
    {
      cwd: fresh,
      encoding: 'utf8',
    },
  )
  if (status !== 0) {
    rmSync(fresh, { recursive: true, force: true })
    throw new Error(
      `The peers could not be installed: ${String(stderr).trim().split('\n').slice(-3).join(' ')} ` +
        'Without them: --peers none',
    )
  }
  renameSync(fresh, folder)
  return folder
}

/** Their versions, for the record. */
export function versionsOfPeers() {
  return JSON.parse(readFileSync(join(here, 'package.json'), 'utf8')).dependencies
}
