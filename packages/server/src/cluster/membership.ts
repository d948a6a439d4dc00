import { hostname } from 'node:os'
import type { Logger } from 'pino'
import type { DatabaseClock } from '../db/database-clock.js'
import type { Database } from '../db/pool.js'
import { statement } from '../db/statement.js'
import type { Clock } from '../platform/clock.js'
import { incarnationName, newIncarnation } from '../platform/ids.js'
import { type PeerRow, type PeerTimes, PeerWatch } from './peers.js'
import { SessionLock } from './session-lock.js'

const joinStatement = statement<
  { incarnation: number; host: string; pid: number; roles: string[]; tasks: string[]; code_version: string },
  { now: number }
>(new URL('./join.sql', import.meta.url))
const heartbeatStatement = statement<
  { incarnation: number; session_lock: boolean; roles: string[] },
  { now: number; alive: boolean }
>(new URL('./heartbeat.sql', import.meta.url))
const peersStatement = statement<Record<string, never>, PeerRow>(new URL('./peers.sql', import.meta.url))
const declareDeadStatement = statement<
  { incarnation: number; beat: number; expired_before: number | null },
  { incarnation: number }
>(new URL('./declare-dead.sql', import.meta.url))
const leaveStatement = statement<{ incarnation: number }, { incarnation: number }>(
  new URL('./leave.sql', import.meta.url),
)

export interface MembershipOptions extends PeerTimes {
  database: Database
  databaseClock: DatabaseClock
  clock: Clock
  log: Logger
  roles: readonly string[]
  tasks: readonly string[]
  codeVersion: string
}

/**
 * This process's place in the cluster. Each heartbeat gives a life sign, samples the database clock and looks at the
 * peers. A process that was declared dead is told so by its next heartbeat: it drops all it holds and comes back under
 * a new id, because a dead incarnation never lives again.
 */
export class Membership {
  private id = 0
  private lock: SessionLock | null = null
  private lockWasHeld = false
  private readonly withheld = new Set<string>()
  private watch: PeerWatch
  private peers: readonly PeerRow[] = []
  private readonly lostListeners: (() => Promise<void> | void)[] = []
  private readonly deathListeners: (() => void)[] = []

  constructor(private readonly options: MembershipOptions) {
    this.watch = new PeerWatch(options.clock, options)
  }

  get incarnation(): number {
    return this.id
  }

  /** Called when this process was declared dead: everything it holds belongs to others now. */
  onLost(listener: () => Promise<void> | void): void {
    this.lostListeners.push(listener)
  }

  /** Called when a peer was found dead or left: its partitions and runs can be taken over at once. */
  onPeerGone(listener: () => void): void {
    this.deathListeners.push(listener)
  }

  async join(): Promise<void> {
    const { database, databaseClock, roles, tasks, codeVersion, log } = this.options
    const id = newIncarnation()
    const sample = databaseClock.begin()
    const [row] = await database.run(joinStatement, {
      incarnation: id,
      host: hostname(),
      pid: process.pid,
      roles: [...roles],
      tasks: [...tasks],
      code_version: codeVersion,
    })
    if (row !== undefined) sample(row.now)
    this.id = id
    this.watch = new PeerWatch(this.options.clock, this.options)
    this.lock = new SessionLock(database, id, log)
    this.lockWasHeld = false
    try {
      await this.lock.ensure()
      await this.heartbeat()
    } catch (error) {
      // The caller takes this process for not joined: neither its row nor its connection may stay behind.
      await this.leave().catch(() => undefined)
      throw error
    }
    log.info({ node: incarnationName(id), roles }, 'joined the cluster')
  }

  /** One life sign and one look around. */
  async heartbeat(): Promise<void> {
    const { database, databaseClock, log, roles } = this.options
    this.tendLock()
    const sample = databaseClock.begin()
    const [row] = await database.run(heartbeatStatement, {
      incarnation: this.id,
      session_lock: this.lockWasHeld,
      roles: roles.filter((role) => !this.withheld.has(role)),
    })
    if (row !== undefined) sample(row.now)
    if (row?.alive === false) {
      log.error(
        { node: incarnationName(this.id) },
        'this process was declared dead: dropping all it holds and joining anew',
      )
      await this.rejoin()
      return
    }
    await this.lookAround()
  }

  /** Whether this process can do what a role asks for. One that cannot lives on, but nobody counts on it for that. */
  offer(role: string, able: boolean): void {
    if (able) this.withheld.delete(role)
    else this.withheld.add(role)
  }

  /** Live processes with a role, as this one sees them; includes itself. */
  live(role: string): number[] {
    return this.peers
      .filter((peer) => peer.roles.includes(role))
      .filter((peer) => peer.incarnation === this.id || this.watch.isFresh(peer.incarnation))
      .map((peer) => peer.incarnation)
  }

  async leave(): Promise<void> {
    try {
      await this.options.database.run(leaveStatement, { incarnation: this.id })
    } finally {
      await this.lock?.release()
    }
  }

  /**
   * Takes the lock again where it was lost, beside the life sign and never before it: a connection that hangs must not
   * make this process look dead. A lock that was lost without a crash may have been lost by everybody.
   */
  private tendLock(): void {
    const held = this.lock?.isHeld() ?? false
    if (this.lockWasHeld && !held) this.watch.mistrustHints()
    this.lockWasHeld = held
    void this.lock?.ensure()
  }

  private async rejoin(): Promise<void> {
    for (const listener of this.lostListeners) await listener()
    await this.lock?.release()
    await this.join()
  }

  private async lookAround(): Promise<void> {
    const { database, log } = this.options
    const before = this.peers
    this.peers = await database.run(peersStatement, {})
    const me = this.peers.find((peer) => peer.incarnation === this.id)
    if (me?.session_lock === true && !me.locked) {
      // A new primary knows none of the old one's locks, and a dead connection to the old one may look alive for long.
      this.lock?.forget()
      this.watch.mistrustHints()
    }
    let gone = before.some((old) => !this.peers.some((peer) => peer.incarnation === old.incarnation))
    for (const suspect of this.watch.observe(this.peers, this.id)) {
      const [dead] = await database.run(declareDeadStatement, {
        incarnation: suspect.incarnation,
        beat: suspect.beat,
        expired_before: suspect.expiredBefore,
      })
      if (dead === undefined) continue
      gone = true
      log.warn({ node: incarnationName(suspect.incarnation), why: suspect.why }, 'declared a peer dead')
      this.peers = this.peers.filter((peer) => peer.incarnation !== suspect.incarnation)
    }
    if (gone) for (const listener of this.deathListeners) listener()
  }
}
