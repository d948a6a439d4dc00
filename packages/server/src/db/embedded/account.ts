import { chown, lchown, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf, EmbeddedPostgresError, messageOf, OTHER_WAYS_OUT } from './failure.js'
import type { Identity } from './run-program.js'
import { runProgram } from './run-program.js'

/** macOS ships the account under the second name. */
const ACCOUNT_NAMES = ['postgres', '_postgres']

type Command = readonly [program: string, ...args: string[]]

const SHADOW_TOOLS: readonly Command[] = [
  ['useradd', '--system', '--user-group', '--no-create-home', '--shell', '/bin/false', 'postgres'],
  // Where a group of that name is there already, useradd wants to be told to use it.
  ['useradd', '--system', '--gid', 'postgres', '--no-create-home', '--shell', '/bin/false', 'postgres'],
]
const BUSYBOX_TOOLS: readonly Command[] = [
  ['addgroup', '-S', 'postgres'],
  ['adduser', '-S', '-D', '-H', '-G', 'postgres', '-s', '/bin/false', 'postgres'],
]

/** Only root may share the folder of another user: everyone else could neither read the password nor start it. */
export async function refuseForeignFolder(home: string): Promise<void> {
  const self = process.getuid?.() ?? 0
  const { uid } = await stat(home)
  if (self === 0 || self === uid) return
  throw new EmbeddedPostgresError(
    `The folder ${home} belongs to the user with id ${uid}, and this process runs as ${self}: Postgres uses only a ` +
      `folder of its own user. Run as that user or as root. ${OTHER_WAYS_OUT}`,
  )
}

/**
 * The account Postgres runs as: null means as ourselves. Postgres refuses root, so root becomes the account that
 * owns the folder already, or else `postgres`, and everything below the folder is given to that account.
 */
export async function accountFor(home: string): Promise<Identity | null> {
  if (process.getuid?.() !== 0) return null
  const folder = await stat(home)
  if (folder.uid !== 0) return { uid: folder.uid, gid: folder.gid }
  const account = await postgresAccount()
  try {
    await giveAway(home, account)
  } catch (error) {
    throw new EmbeddedPostgresError(
      `Postgres does not run as root, and ${home} cannot be given to the user it runs as (${messageOf(error)}): not ` +
        `every container and network folder lets root change owners. Run as an ordinary user. ${OTHER_WAYS_OUT}`,
      { cause: error },
    )
  }
  return account
}

async function postgresAccount(): Promise<Identity> {
  const existing = await findAccount()
  if (existing) return existing
  const said: string[] = []
  const hasUseradd = (await runProgram('useradd', ['--help'])).spawnError === null
  for (const [program, ...args] of hasUseradd ? SHADOW_TOOLS : BUSYBOX_TOOLS) {
    const { output, spawnError } = await runProgram(program, args)
    said.push(spawnError?.message ?? output.trim().split('\n')[0] ?? '')
    // Asked after every step: another starter may have made the account in the meantime.
    const made = await findAccount()
    if (made) return made
  }
  throw new EmbeddedPostgresError(
    'Postgres does not run as root, and the system user "postgres" could neither be found nor made ' +
      `(${said.join('; ')}). Make that user, run carillon as an ordinary user, or set DATABASE_URL to a PostgreSQL ` +
      'of your own.',
  )
}

async function findAccount(): Promise<Identity | null> {
  for (const name of ACCOUNT_NAMES) {
    const uid = await askId('-u', name)
    const gid = await askId('-g', name)
    if (uid !== null && gid !== null && uid !== 0) return { uid, gid }
  }
  return null
}

async function askId(flag: '-u' | '-g', name: string): Promise<number | null> {
  const { code, output } = await runProgram('id', [flag, name])
  return code === 0 && /^\d+\s*$/.test(output) ? Number(output) : null
}

/** Gives a tree to an account. The folder itself comes last: if this is cut off, the next start does it again. */
export async function giveAway(folder: string, to: Identity): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) await giveAway(path, to)
    else await lchown(path, to.uid, to.gid).catch(ignoreVanished)
  }
  await chown(folder, to.uid, to.gid)
}

/** Starters that wait make and remove lock files meanwhile. */
function ignoreVanished(error: unknown): void {
  if (codeOf(error) !== 'ENOENT') throw error
}
