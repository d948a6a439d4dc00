import type { Clock } from '../../platform/clock.js'

/** A row of peers.sql. */
export interface PeerRow {
  incarnation: number
  host: string
  pid: number
  roles: string[]
  tasks: string[]
  beat: number
  beat_at: number
  session_lock: boolean
  locked: boolean
  now: number
  server_age_ms: number
}

export interface Suspect {
  incarnation: number
  beat: number
  /** Set when the verdict rests on time: the database must find the last beat older than this. */
  expiredBefore: number | null
  why: 'connection lost' | 'no heartbeat'
}

/** What a look at all peers calls for. */
export interface Verdicts {
  /** Their connection is gone and they are silent: their partitions may go to others, their runs not yet. */
  doubtful: { incarnation: number; beat: number }[]
  dead: Suspect[]
}

export interface PeerTimes {
  heartbeatMs: number
  leaseTtlMs: number
  runLeaseMs: number
}

/**
 * Watches the peers' life signs on this process's own monotonic clock, beside the database's: a step of the database
 * clock must not kill everybody at once.
 *
 * Doubtful: the session lock is gone and two heartbeats are missing. It is not counted on for partitions, which a
 * newcomer takes under a new epoch at no cost; its runs stay its own, because running them again costs a delivery. Dead by
 * hint: the same for a second, the time a process has to connect again. Dead by time: no heartbeat for the run lease, by
 * both clocks. A peer silent for the partition lease is not dead yet, but is no longer counted on for partitions.
 */
export class PeerWatch {
  private readonly seen = new Map<
    number,
    { beat: number; changedAt: number; fresh: boolean; doubtful: boolean }
  >()
  private lookedAt: number | null = null
  private hintsFrom = Number.NEGATIVE_INFINITY

  constructor(
    private readonly clock: Clock,
    private readonly times: PeerTimes,
  ) {}

  /** Takes in one look at all peers. */
  observe(rows: readonly PeerRow[], self: number): Verdicts {
    const now = this.clock.monotonic()
    this.forgiveBlindness(now)
    const present = new Set(rows.map((row) => row.incarnation))
    for (const incarnation of this.seen.keys()) if (!present.has(incarnation)) this.seen.delete(incarnation)
    const verdicts: Verdicts = { doubtful: [], dead: [] }
    for (const row of rows) {
      const last = this.seen.get(row.incarnation)
      if (last?.beat !== row.beat) {
        // Seen for the first time with an old heartbeat: a ghost of before, not somebody to share partitions with.
        const fresh = last !== undefined || row.now - row.beat_at < this.times.leaseTtlMs
        this.seen.set(row.incarnation, { beat: row.beat, changedAt: now, fresh, doubtful: false })
      }
      if (row.incarnation !== self) this.judge(row, now, verdicts)
    }
    return verdicts
  }

  /** This process lost its own session lock and lives: for one lease time, a lost lock says nothing about others. */
  mistrustHints(): void {
    this.hintsFrom = this.clock.monotonic() + this.times.leaseTtlMs
  }

  /** Peers to share partitions with: they gave a life sign within the partition lease. */
  isFresh(incarnation: number): boolean {
    const last = this.seen.get(incarnation)
    return (
      last?.fresh === true &&
      !last.doubtful &&
      this.clock.monotonic() - last.changedAt < this.times.leaseTtlMs
    )
  }

  /**
   * Silence counts only while this process was looking. After an outage of the database, or a freeze of this process,
   * the peers were not silent: nobody could hear them. A look that is merely late is no blindness.
   */
  private forgiveBlindness(now: number): void {
    const gapMs = this.lookedAt === null ? 0 : now - this.lookedAt
    this.lookedAt = now
    if (gapMs <= this.times.leaseTtlMs / 2) return
    for (const last of this.seen.values()) last.changedAt += gapMs - this.times.heartbeatMs
  }

  private judge(row: PeerRow, now: number, verdicts: Verdicts): void {
    const last = this.seen.get(row.incarnation)
    if (last === undefined) return
    const { incarnation, beat } = row
    const silentMs = now - last.changedAt
    const { heartbeatMs, leaseTtlMs, runLeaseMs } = this.times
    // After a restart of the server every lock is gone: for one lease time a missing lock says nothing. Its age does
    // not tell of a recovery after the crash of one of its backends: the loss of this process's own lock does.
    const hintsCount = row.server_age_ms > leaseTtlMs && now >= this.hintsFrom
    const unlocked = hintsCount && row.session_lock && !row.locked
    if (unlocked && silentMs >= Math.max(2 * heartbeatMs, reconnectMs)) {
      verdicts.dead.push({ incarnation, beat, expiredBefore: null, why: 'connection lost' })
    } else if (silentMs >= runLeaseMs && row.now - row.beat_at >= runLeaseMs) {
      const expiredBefore = row.now - runLeaseMs + 1
      verdicts.dead.push({ incarnation, beat, expiredBefore, why: 'no heartbeat' })
    }
    const doubtful = unlocked && silentMs >= 2 * heartbeatMs
    const dying = verdicts.dead.at(-1)?.incarnation === incarnation
    if (doubtful && !last.doubtful && !dying) verdicts.doubtful.push({ incarnation, beat })
    last.doubtful = doubtful
  }
}

/** So long after its last life sign a process whose connections broke may come back and finds its runs as they were. */
const reconnectMs = 1_000
