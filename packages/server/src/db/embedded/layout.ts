import { mkdir, realpath, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { codeOf, EmbeddedPostgresError, messageOf, OTHER_WAYS_OUT } from './failure.js'

/**
 * Where things lie below the data dir:
 *
 *     <dataDir>/postgres/             0700, owned by the account Postgres runs as
 *       data/                         PGDATA. Appears by a rename, so it is either absent or complete
 *       data.new-<random>/            an initdb under way, or one that was cut off: never holds data
 *       binaries-<version>/           copy of the npm package, only where the package itself cannot be used
 *       log/                          server log, pruned
 *       startup.log                   what Postgres says before its log collector runs
 *       start.lock                    held by whoever joins, starts or leaves
 */
export interface Layout {
  readonly dataDir: string
  readonly home: string
  readonly pgdata: string
  readonly logs: string
  readonly startupLog: string
  readonly startLock: string
  readonly pidFile: string
  readonly settingsFile: string
  readonly passwordFile: string
}

export const UNFINISHED_PREFIX = 'data.new-'
export const PASSWORD_FILE = 'carillon.password'
export const SETTINGS_FILE = 'carillon.conf'

/** Makes the folders if they are missing. Real paths, so that two spellings of one folder share one lock. */
export async function openLayout(requestedDir: string): Promise<Layout> {
  const requested = resolve(requestedDir)
  try {
    await makeFolder(requested)
    const dataDir = await realpath(requested)
    const home = join(dataDir, 'postgres')
    await mkdir(home, { mode: 0o700 }).catch((error: unknown) => {
      if (codeOf(error) !== 'EEXIST') throw error
    })
    return layoutBelow(dataDir, home)
  } catch (error) {
    throw new EmbeddedPostgresError(
      `Cannot make the data folder ${requested} (${messageOf(error)}). Let this user write there, or: ${OTHER_WAYS_OUT}`,
      { cause: error },
    )
  }
}

/**
 * Makes a folder and those above it. Node's own way never ends where a file system says that a folder is missing
 * whose parent is there, as /proc does.
 */
async function makeFolder(path: string, deeper = true): Promise<void> {
  try {
    await mkdir(path)
  } catch (error) {
    if (codeOf(error) === 'EEXIST' && (await stat(path)).isDirectory()) return
    if (codeOf(error) !== 'ENOENT' || !deeper || dirname(path) === path) throw error
    await makeFolder(dirname(path))
    await makeFolder(path, false)
  }
}

export function layoutBelow(dataDir: string, home: string): Layout {
  const pgdata = join(home, 'data')
  return {
    dataDir,
    home,
    pgdata,
    logs: join(home, 'log'),
    startupLog: join(home, 'startup.log'),
    startLock: join(home, 'start.lock'),
    pidFile: join(pgdata, 'postmaster.pid'),
    settingsFile: join(pgdata, SETTINGS_FILE),
    passwordFile: join(pgdata, PASSWORD_FILE),
  }
}
