import { randomUUID } from 'node:crypto'
import { closeSync, futimesSync, openSync, writeSync } from 'node:fs'
import { readFile, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { performance } from 'node:perf_hooks'
import type { Deadline } from './deadline.js'
import { codeOf, EmbeddedPostgresError, messageOf, OTHER_WAYS_OUT } from './failure.js'
import { pidIsTaken, pidSpace, startTicksOf } from './process-identity.js'

/*
 * Who joins, starts or leaves holds this lock, so that none of it interleaves.
 *
 * The lock is a file made with O_EXCL that names its holder. A holder that died is recognised by its pid and
 * start time. Where those prove nothing (another container, no /proc), by its heartbeat standing still.
 *
 * Removing a dead holder's file is the delicate step: of two processes that both saw it dead, the slower one
 * would remove the file its rival has just made. So the right to remove it is itself a lock, named after the
 * dead holder's token: whoever has that right looks again, and removes the file only if it still bears the token.
 */

const POLL_MS = 20
const HEARTBEAT_MS = 1_000
const STILL_HEART_MS = 10_000

interface Holder {
  readonly token: string
  readonly pid: number
  readonly startTicks: string | null
  readonly pidSpace: string
}

/** What is seen of a lock file. `holder` is null while the file is being written, or if that was cut off. */
interface Sighting {
  readonly token: string
  readonly holder: Holder | null
  readonly heartbeat: bigint
}

export interface StartLock {
  release(): Promise<void>
}

export async function acquireStartLock(path: string, deadline: Deadline): Promise<StartLock> {
  const heart = new HeartWatch()
  for (;;) {
    const lock = await tryToTake(path)
    if (lock) return lock
    const seen = await look(path)
    if (seen && (await isGone(seen, heart))) {
      await removeDead(path, seen.token, deadline)
      continue
    }
    if (deadline.passed) throw new EmbeddedPostgresError(timeoutMessage(path, seen, deadline))
    await deadline.pause(POLL_MS)
  }
}

async function tryToTake(path: string): Promise<StartLock | null> {
  const startTicks = (await startTicksOf(process.pid)) ?? null
  const holder: Holder = { token: randomUUID(), pid: process.pid, startTicks, pidSpace: await pidSpace() }
  let file: number
  try {
    file = openSync(path, 'wx', 0o644)
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return null
    throw new EmbeddedPostgresError(
      `Cannot make the lock file ${path} (${messageOf(error)}). This user must be able to write in ${dirname(path)}. ` +
        OTHER_WAYS_OUT,
      { cause: error },
    )
  }
  try {
    // At once, without giving way in between: a process killed here leaves a file that names nobody.
    writeSync(file, JSON.stringify(holder))
  } catch (error) {
    closeSync(file)
    await rm(path, { force: true })
    const why = `${messageOf(error)}. Is the disk full?`
    throw new EmbeddedPostgresError(`Cannot write the lock file ${path}: ${why}`, { cause: error })
  }
  return held(path, holder.token, file)
}

function held(path: string, token: string, file: number): StartLock {
  // Touches the open file, never the path: should the lock have been taken from us, the rival's stays untouched.
  // Watchers look only for change, so a mere count serves as the time.
  let beat = 0
  const heartbeat = setInterval(() => futimesSync(file, ++beat, beat), HEARTBEAT_MS)
  heartbeat.unref()
  return {
    async release() {
      clearInterval(heartbeat)
      closeSync(file)
      if ((await look(path))?.token === token) await rm(path, { force: true })
    },
  }
}

async function look(path: string): Promise<Sighting | null> {
  try {
    const [text, file] = [await readFile(path, 'utf8'), await stat(path, { bigint: true })]
    const holder = parseHolder(text)
    return { token: holder?.token ?? `nameless-${file.ino}-${file.ctimeNs}`, holder, heartbeat: file.mtimeNs }
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null
    throw error
  }
}

function parseHolder(text: string): Holder | null {
  try {
    const value = JSON.parse(text) as Partial<Holder> | null
    if (typeof value?.token !== 'string' || typeof value.pid !== 'number') return null
    return {
      token: value.token,
      pid: value.pid,
      startTicks: value.startTicks ?? null,
      pidSpace: value.pidSpace ?? '',
    }
  } catch {
    return null
  }
}

async function isGone(seen: Sighting, heart: HeartWatch): Promise<boolean> {
  const verdict = seen.holder ? await judge(seen.holder) : 'unproven'
  return verdict === 'unproven' ? heart.standsStill(seen) : verdict === 'gone'
}

async function judge(holder: Holder): Promise<'alive' | 'gone' | 'unproven'> {
  if (holder.pidSpace !== (await pidSpace())) return 'unproven'
  if (!pidIsTaken(holder.pid)) return 'gone'
  const ticks = await startTicksOf(holder.pid)
  if (ticks === null) return 'gone'
  if (ticks === undefined || holder.startTicks === null) return 'unproven'
  return ticks === holder.startTicks ? 'alive' : 'gone'
}

/** Watches one holder's heartbeat. Compares sightings with each other, so no two clocks have to agree. */
class HeartWatch {
  #last = ''
  #since = 0

  standsStill(seen: Sighting): boolean {
    const now = performance.now()
    const sighting = `${seen.token} ${seen.heartbeat}`
    if (sighting !== this.#last) {
      this.#last = sighting
      this.#since = now
    }
    return now - this.#since >= STILL_HEART_MS
  }
}

async function removeDead(path: string, token: string, deadline: Deadline): Promise<void> {
  const right = await acquireStartLock(`${path}.${token}`, deadline)
  try {
    if ((await look(path))?.token === token) await rm(path, { force: true })
  } finally {
    await right.release()
  }
}

function timeoutMessage(path: string, seen: Sighting | null, deadline: Deadline): string {
  const holder = seen?.holder ? `process ${seen.holder.pid}` : 'another process'
  return (
    `Waited ${Math.round(deadline.totalMs / 1000)} s for ${holder}, which is starting or stopping the embedded ` +
    `Postgres and holds ${path}. Look at what that process is doing, and start again.`
  )
}
