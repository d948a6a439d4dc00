import { readdir, readFile, rm, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { findBinaryPackage, programPath } from './binaries.js'
import type { Deadline } from './deadline.js'
import { codeOf } from './failure.js'
import type { Layout } from './layout.js'
import { pidIsTaken } from './process-identity.js'
import { runProgram } from './run-program.js'

/**
 * What the data folder says about its server.
 * - absent: nothing uses the folder; a start may be tried.
 * - running: its postmaster lives.
 * - orphaned: the postmaster was killed and children of it still hold the shared memory. They leave by themselves.
 */
export type PostmasterState =
  | { readonly kind: 'absent' }
  | { readonly kind: 'running'; readonly pid: number; readonly port: number; readonly ready: boolean }
  | { readonly kind: 'orphaned'; readonly pids: readonly number[] }

const STOP_POLL_MS = 10

export async function inspectPostmaster(layout: Layout): Promise<PostmasterState> {
  const recorded = await readPidFile(layout.pidFile)
  if (!recorded) return { kind: 'absent' }
  if (pidIsTaken(recorded.pid) && (await servesFolder(recorded.pid, layout.pgdata)) !== 'no') {
    return { kind: 'running', ...recorded }
  }
  const pids = await processesServing(layout.pgdata)
  return pids.length > 0 ? { kind: 'orphaned', pids } : { kind: 'absent' }
}

/** Of an absent server: whether it ended without shutting down, which takes its pid file away. */
export async function endedByCrash(layout: Layout): Promise<boolean> {
  return (await readPidFile(layout.pidFile)) !== null
}

/**
 * Postgres itself clears a pid file whose process is gone. It refuses to start when the pid is taken, though the
 * taker may be a zombie that nobody reaps, or a stranger: both are common where a container came back. Then the
 * file is ours to clear. Orphans that we may not see still keep Postgres from starting: it tests its shared memory
 * with and without the file. The caller holds the start lock.
 */
export async function clearMisleadingPidFile(layout: Layout): Promise<void> {
  const recorded = await readPidFile(layout.pidFile)
  if (!recorded || !pidIsTaken(recorded.pid)) return
  if ((await inspectPostmaster(layout)).kind === 'absent') await rm(layout.pidFile, { force: true })
}

/**
 * Fast shutdown, as `pg_ctl stop -m fast` does it: SIGINT to the postmaster, then wait. Returns whether it is down.
 * Done without pg_ctl, so that leaving needs no binaries, no account and no folder but the data folder.
 */
export async function stopPostmaster(layout: Layout, deadline: Deadline): Promise<boolean> {
  const state = await inspectPostmaster(layout)
  if (state.kind !== 'running') return state.kind === 'absent'
  await askToStop(state.pid, layout)
  for (;;) {
    const now = await inspectPostmaster(layout)
    if (now.kind === 'absent' || (now.kind === 'running' && now.pid !== state.pid)) return true
    if (deadline.passed) return false
    await deadline.pause(STOP_POLL_MS)
  }
}

async function askToStop(pid: number, layout: Layout): Promise<void> {
  if (process.platform === 'win32') {
    // Windows has no signals: Node would kill the process outright.
    const { native } = await findBinaryPackage()
    await runProgram(programPath(native, 'pg_ctl'), ['stop', '-m', 'fast', '-W', '-D', layout.pgdata])
    return
  }
  try {
    process.kill(pid, 'SIGINT')
  } catch (error) {
    if (codeOf(error) !== 'ESRCH') throw error
  }
}

async function readPidFile(path: string): Promise<{ pid: number; port: number; ready: boolean } | null> {
  let lines: string[]
  try {
    lines = (await readFile(path, 'utf8')).split('\n')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null
    throw error
  }
  const pid = Number(lines[0])
  // A file just being written has no pid yet. It cannot be told from one cut off by a full disk: both are no server.
  if (!Number.isInteger(pid) || pid <= 1) return null
  return { pid, port: Number(lines[3] ?? 0), ready: (lines[7] ?? '').trim() === 'ready' }
}

/** Every process of a Postgres server stands in its data folder and is called postgres. */
async function servesFolder(pid: number, pgdata: string): Promise<'yes' | 'no' | 'unknown'> {
  if (process.platform !== 'linux') return 'unknown'
  const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
  // A zombie has no command line any more.
  if (!basename(command.split('\0')[0] ?? '').startsWith('postgres')) return 'no'
  try {
    const [stands, folder] = await Promise.all([stat(`/proc/${pid}/cwd`), stat(pgdata)])
    return stands.dev === folder.dev && stands.ino === folder.ino ? 'yes' : 'no'
  } catch (error) {
    // Root in a container may not look into another user's process.
    return codeOf(error) === 'ENOENT' ? 'no' : 'unknown'
  }
}

async function processesServing(pgdata: string): Promise<number[]> {
  if (process.platform !== 'linux') return []
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
  const serving: number[] = []
  for (const pid of pids) {
    if ((await servesFolder(pid, pgdata)) === 'yes') serving.push(pid)
  }
  return serving
}
