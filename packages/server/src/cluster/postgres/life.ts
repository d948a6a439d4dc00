import type { Logger } from 'pino'
import type { DatabaseClock } from '../../db/database-clock.js'
import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import type { Clock } from '../../platform/clock.js'
import { incarnationName } from '../../platform/ids.js'
import type { Life, LifeSign, LivePeer } from '../coordination.js'
import { type PeerRow, type PeerTimes, PeerWatch } from './peers.js'
import { SessionLock } from './session-lock.js'

const heartbeatStatement = statement<
  { incarnation: number; session_lock: boolean; roles: string[]; report: string },
  { now: number; alive: boolean }
>(new URL('./heartbeat.sql', import.meta.url))
const peersStatement = statement<Record<string, never>, PeerRow>(new URL('./peers.sql', import.meta.url))
const declareDeadStatement = statement<
  { incarnation: number; beat: number; expired_before: number | null },
  { incarnation: number }
>(new URL('./declare-dead.sql', import.meta.url))
const disownStatement = statement<{ incarnations: number[]; beats: number[] }, { partition: number }>(
  new URL('./disown.sql', import.meta.url),
)
const leaveStatement = statement<{ incarnation: number }, { incarnation: number }>(
  new URL('./leave.sql', import.meta.url),
)

export interface PostgresLifeOptions extends PeerTimes {
  database: Database
  databaseClock: DatabaseClock
  clock: Clock
  log: Logger
}

/** A row of incarnations, with a session lock that goes when the process does. Each heartbeat samples the database clock. */
export class PostgresLife implements Life {
  private readonly lock: SessionLock
  private readonly watch: PeerWatch
  private lockWasHeld = false
  private peers: readonly PeerRow[] = []
  /** Gone, and not told yet: a look that fails half way must not swallow what it saw. */
  private untold: number[] = []
  private nextVerdictInMs: number | null = null

  constructor(
    readonly incarnation: number,
    private readonly options: PostgresLifeOptions,
  ) {
    this.lock = new SessionLock(options.database, incarnation, options.log)
    this.watch = new PeerWatch(options.clock, options)
  }

  /** Takes the lock that tells of a crash. */
  begin(): Promise<void> {
    return this.lock.ensure()
  }

  async beat({ roles, report }: LifeSign): Promise<boolean> {
    const { database, databaseClock } = this.options
    this.tendLock()
    const sample = databaseClock.begin()
    const [row] = await database.run(heartbeatStatement, {
      incarnation: this.incarnation,
      session_lock: this.lock.isClaimed(),
      roles: [...roles],
      report: JSON.stringify(report),
    })
    if (row !== undefined) sample(row.now)
    return row?.alive !== false
  }

  async look(): Promise<readonly number[]> {
    const before = this.peers
    this.peers = await this.options.database.run(peersStatement, {})
    const me = this.peers.find((peer) => peer.incarnation === this.incarnation)
    if (this.lockWasHeld && me?.locked === false) {
      // A new primary knows none of the old one's locks, and a dead connection to the old one may look alive for long.
      this.lock.forget()
      this.watch.mistrustHints()
    }
    const present = new Set(this.peers.map(({ incarnation }) => incarnation))
    this.untold.push(...before.map(({ incarnation }) => incarnation).filter((peer) => !present.has(peer)))
    await this.buryTheDead()
    return this.untold.splice(0)
  }

  nextLookInMs(): number | null {
    return this.nextVerdictInMs
  }

  live(): readonly LivePeer[] {
    return this.peers.filter(
      ({ incarnation }) => incarnation === this.incarnation || this.watch.isFresh(incarnation),
    )
  }

  async leave(): Promise<void> {
    try {
      await this.options.database.run(leaveStatement, { incarnation: this.incarnation })
    } finally {
      await this.drop()
    }
  }

  drop(): Promise<void> {
    return this.lock.release()
  }

  /**
   * Takes the lock again where it was lost, beside the life sign and never before it: a connection that hangs must not
   * make this process look dead. A lock that was lost without a crash may have been lost by everybody.
   */
  private tendLock(): void {
    const held = this.lock.isHeld()
    if (this.lockWasHeld && !held) this.watch.mistrustHints()
    this.lockWasHeld = held
    void this.lock.ensure()
  }

  private async buryTheDead(): Promise<void> {
    const { database, log } = this.options
    const { doubtful, dead: suspects, nextInMs } = this.watch.observe(this.peers, this.incarnation)
    this.nextVerdictInMs = nextInMs
    if (doubtful.length > 0) {
      const incarnations = doubtful.map(({ incarnation }) => incarnation)
      // Told whoever freed their partitions: what falls to this process may be its own to take.
      this.untold.push(...incarnations)
      await database.run(disownStatement, { incarnations, beats: doubtful.map(({ beat }) => beat) })
    }
    for (const suspect of suspects) {
      const [dead] = await database.run(declareDeadStatement, {
        incarnation: suspect.incarnation,
        beat: suspect.beat,
        expired_before: suspect.expiredBefore,
      })
      if (dead === undefined) continue
      this.untold.push(suspect.incarnation)
      log.warn({ node: incarnationName(suspect.incarnation), why: suspect.why }, 'declared a peer dead')
      this.peers = this.peers.filter((peer) => peer.incarnation !== suspect.incarnation)
    }
  }
}
