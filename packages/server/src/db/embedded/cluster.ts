import { randomBytes } from 'node:crypto'
import { open, readdir, readFile, rename, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { BinaryPackage } from './binaries.js'
import type { Deadline } from './deadline.js'
import { codeOf, EmbeddedPostgresError, OTHER_WAYS_OUT } from './failure.js'
import { diskHint } from './hints.js'
import type { Layout } from './layout.js'
import { PASSWORD_FILE, UNFINISHED_PREFIX } from './layout.js'
import { replaceFile } from './settings.js'
import type { Tools } from './tools.js'

export const SUPERUSER = 'carillon'

/** Whether there is a data folder to start. Refuses one that this PostgreSQL cannot read, or that is none. */
export async function clusterExists(layout: Layout, binaries: BinaryPackage): Promise<boolean> {
  const made = await readFile(join(layout.pgdata, 'PG_VERSION'), 'utf8').catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return null
    throw error
  })
  if (made !== null) {
    if (made.trim() !== binaries.major) throw wrongVersion(layout, made.trim(), binaries)
    return true
  }
  const content = await readdir(layout.pgdata).catch(() => null)
  if (content !== null && content.length > 0) {
    throw new EmbeddedPostgresError(
      `The folder ${layout.pgdata} holds files but no PG_VERSION: it is damaged or not a Postgres data folder, and ` +
        `carillon deletes nothing it may not have made. Restore it from a backup, or move it away. ${OTHER_WAYS_OUT}`,
    )
  }
  if (content !== null) await rmdir(layout.pgdata)
  return false
}

/**
 * initdb into a folder of its own, renamed when everything is in it. A start that was cut off leaves only that
 * other folder, which never held data. The caller holds the start lock.
 */
export async function createCluster(layout: Layout, tools: Tools, deadline: Deadline): Promise<void> {
  await removeUnfinished(layout)
  const suffix = randomBytes(6).toString('hex')
  const fresh = join(layout.home, `${UNFINISHED_PREFIX}${suffix}`)
  const password = join(layout.home, `${UNFINISHED_PREFIX}${suffix}.password`)
  await replaceFile(password, `${randomBytes(24).toString('hex')}\n`, tools.account)
  const outcome = await tools.run('initdb', initdbArguments(fresh, password), deadline.leftMs)
  if (outcome.code !== 0) {
    await removeUnfinished(layout)
    const said = outcome.spawnError?.message ?? outcome.output.trim().split('\n').slice(-20).join('\n')
    const late = deadline.passed ? ` It was stopped after ${Math.round(deadline.totalMs / 1000)} s.` : ''
    throw new EmbeddedPostgresError(
      `Making the Postgres data folder ${layout.pgdata} failed.${late}${await diskHint(layout)}\ninitdb said:\n${said}`,
    )
  }
  await rename(password, join(fresh, PASSWORD_FILE))
  await syncFolder(fresh)
  await rename(fresh, layout.pgdata)
  await syncFolder(layout.home)
  await removeUnfinished(layout)
}

function initdbArguments(folder: string, passwordFile: string): string[] {
  return [
    `--pgdata=${folder}`,
    `--username=${SUPERUSER}`,
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    // Postgres' own C.UTF-8: the same order on every system, and no index to rebuild when a libc is upgraded.
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--locale=C',
    '--data-checksums',
  ]
}

/**
 * An initdb whose starter was killed may still be writing there, so that a folder fills again while it is emptied.
 * What cannot be removed yet takes only room; it is tried again when our own initdb has ended.
 */
async function removeUnfinished(layout: Layout): Promise<void> {
  for (const name of await readdir(layout.home)) {
    if (!name.startsWith(UNFINISHED_PREFIX)) continue
    await rm(join(layout.home, name), { recursive: true, force: true, maxRetries: 3 }).catch(() => undefined)
  }
}

/** Makes a rename last through a power cut. Windows cannot open a folder, and needs no such step. */
async function syncFolder(path: string): Promise<void> {
  if (process.platform === 'win32') return
  const folder = await open(path)
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

function wrongVersion(layout: Layout, made: string, binaries: BinaryPackage): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    `The data folder ${layout.pgdata} was made by PostgreSQL ${made}; this carillon brings PostgreSQL ` +
      `${binaries.major}, which cannot read it. Nothing was changed. To keep the data, run it with a PostgreSQL ` +
      `${made} (the carillon that made it, or your own through DATABASE_URL), dump it there with pg_dump and load the ` +
      'dump here. To begin afresh, name another --data-dir.',
  )
}
