import { performance } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import type pg from 'pg'
import { Deadline } from './deadline.js'
import { messageOf } from './failure.js'
import type { Layout } from './layout.js'
import type { Arrival, Log } from './lifecycle.js'
import { openMember, resign } from './member.js'
import { inspectPostmaster, stopPostmaster } from './postmaster.js'
import type { StartLock } from './start-lock.js'
import { acquireStartLock } from './start-lock.js'

const RETURN_EVERY_MS = 250
/** Long enough for every living member to return after a crash of Postgres has ended all sessions. */
const RETURN_GRACE_MS = 3_000
const RETURN_WITHIN_MS = 10_000
const LEAVE_WITHIN_MS = 60_000

/**
 * This process's place among those who use the embedded Postgres: a member session, renewed when it breaks. It has
 * to be renewed, since a crash of one backend ends every session, and whoever has none is not counted.
 */
export class Membership {
  readonly #layout: Layout
  readonly #log: Log
  #member: pg.Client | null = null
  #returning: Promise<void> | null = null
  #sawCrashAt = Number.NEGATIVE_INFINITY
  #left: Promise<{ stopped: boolean }> | null = null

  constructor(layout: Layout, { member, afterCrash }: Arrival, log: Log) {
    this.#layout = layout
    this.#log = log
    this.#adopt(member)
    if (afterCrash) this.#sawCrashAt = performance.now()
  }

  /** Goes; stops Postgres if nobody stays. Idempotent. */
  leave(): Promise<{ stopped: boolean }> {
    this.#left ??= this.#leave()
    return this.#left
  }

  #adopt(member: pg.Client): void {
    this.#member = member
    member.once('end', () => {
      if (this.#member === member) this.#member = null
      if (this.#left === null) this.#returning ??= this.#comeBack()
    })
  }

  async #comeBack(): Promise<void> {
    this.#log('the member session of the embedded postgres broke; opening a new one')
    while (this.#left === null && this.#member === null) {
      await pause(RETURN_EVERY_MS)
      await this.#tryToReturn()
    }
    this.#returning = null
  }

  /** Under the start lock, like every change of membership. Returns whether there is a Postgres to return to. */
  async #tryToReturn(): Promise<boolean> {
    let lock: StartLock | null = null
    try {
      if ((await inspectPostmaster(this.#layout)).kind !== 'running') return false
      lock = await acquireStartLock(this.#layout.startLock, new Deadline(RETURN_WITHIN_MS))
      const state = await inspectPostmaster(this.#layout)
      if (state.kind !== 'running' || this.#member !== null) return false
      if (!state.ready) return true
      this.#adopt(await openMember(this.#layout, state.port))
      this.#sawCrashAt = performance.now()
    } catch {
      // Not up again yet: the next turn tries again.
    } finally {
      await lock?.release()
    }
    return true
  }

  async #leave(): Promise<{ stopped: boolean }> {
    await this.#returning
    const deadline = new Deadline(LEAVE_WITHIN_MS)
    for (;;) {
      await this.#returnToLeave()
      const member = this.#member
      // Without a session, and none to be had, Postgres is down already or in a state that is not ours to end.
      if (member === null) return { stopped: false }
      const lock = await this.#lockIfPossible(deadline)
      try {
        const others = await this.#resign(member)
        if (others === 0) return { stopped: await this.#stop(deadline) }
        if (others !== null || deadline.passed) return { stopped: false }
      } finally {
        await lock?.release()
      }
    }
  }

  /** Only a session can tell who stays. After a crash the other members get the time to be seen again. */
  async #returnToLeave(): Promise<void> {
    const deadline = new Deadline(RETURN_WITHIN_MS)
    while (this.#member === null && !deadline.passed && (await this.#tryToReturn())) {
      if (this.#member === null) await deadline.pause(RETURN_EVERY_MS)
    }
    const sinceCrash = performance.now() - this.#sawCrashAt
    if (sinceCrash < RETURN_GRACE_MS) await pause(RETURN_GRACE_MS - sinceCrash)
  }

  /** A full or read-only disk takes the lock file from us; leavers are still kept apart by the advisory lock. */
  async #lockIfPossible(deadline: Deadline): Promise<StartLock | null> {
    return acquireStartLock(this.#layout.startLock, deadline).catch((error: unknown) => {
      this.#log('leaving the embedded postgres without the start lock', { reason: messageOf(error) })
      return null
    })
  }

  /** Ends the session. How many others stay, or null if the session broke before it could tell. */
  async #resign(member: pg.Client): Promise<number | null> {
    try {
      return (await resign(member)).others
    } catch (error) {
      this.#log('the session broke while leaving the embedded postgres', { reason: messageOf(error) })
      return null
    } finally {
      this.#member = null
      await member.end().catch(() => undefined)
    }
  }

  async #stop(deadline: Deadline): Promise<boolean> {
    const stopped = await stopPostmaster(this.#layout, deadline)
    this.#log(stopped ? 'stopped the embedded postgres' : 'the embedded postgres is still shutting down')
    return stopped
  }
}
