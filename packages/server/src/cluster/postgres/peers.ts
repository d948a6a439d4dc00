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
  /** So long from now the next of those whose connection is gone is due for a verdict, unless it gives a life sign; null: none is. */
  nextInMs: number | null
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
 * Doubtful: the session lock is gone and its last life sign is two heartbeats old. It is not counted on for partitions, which a
 * newcomer takes under a new epoch at no cost; its runs stay its own, because running them again costs a delivery. Dead by
 * hint: the same for a second, the time a process has to connect again. Dead by time: no heartbeat for the run lease, by
 * both clocks. A peer silent for the partition lease is not dead yet, but is no longer counted on for partitions.
 */
export class PeerWatch {
  private readonly seen = new Map<
    number,
    {
      beat: number
      notBefore: number
      changedAt: number
      fresh: boolean
      doubtful: boolean
      /** Its lock was seen since this server knows any locks: should it be missing later, it was lost since then. */
      lockSeen: boolean
    }
  >()
  private lookedAt: number | null = null
  private hintsFrom = Number.NEGATIVE_INFINITY
  private serverStartedAt = Number.NEGATIVE_INFINITY

  constructor(
    private readonly clock: Clock,
    private readonly times: PeerTimes,
  ) {}

  /** Takes in one look at all peers. */
  observe(rows: readonly PeerRow[], self: number): Verdicts {
    const now = this.clock.monotonic()
    const lookedBefore = this.lookedAt ?? now
    this.forgiveBlindness(now)
    const present = new Set(rows.map((row) => row.incarnation))
    for (const incarnation of this.seen.keys()) if (!present.has(incarnation)) this.seen.delete(incarnation)
    const verdicts: Verdicts = { doubtful: [], dead: [], nextInMs: null }
    this.noticeRestart(rows, now)
    for (const row of rows) {
      const last = this.seen.get(row.incarnation)
      if (last?.beat !== row.beat) {
        // Seen for the first time with an old heartbeat: a ghost of before, not somebody to share partitions with.
        const fresh = last !== undefined || row.now - row.beat_at < this.times.leaseTtlMs
        const notBefore = last === undefined ? now : lookedBefore
        const lockSeen = last?.lockSeen ?? false
        this.seen.set(row.incarnation, {
          ...{ beat: row.beat, notBefore, changedAt: now },
          ...{ fresh, doubtful: false, lockSeen },
        })
      }
      this.noticeLock(row)
      if (row.incarnation !== self) this.judge(row, now, verdicts)
    }
    return verdicts
  }

  /**
   * This process lost its own session lock and lives: for one lease time, a lock that is missing says nothing about others, unless
   * it was seen since.
   */
  mistrustHints(): void {
    this.hintsFrom = this.clock.monotonic() + this.times.leaseTtlMs
    this.forgetLocks()
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

  private forgetLocks(): void {
    for (const last of this.seen.values()) last.lockSeen = false
  }

  private noticeLock({ incarnation, session_lock, locked }: PeerRow): void {
    const last = this.seen.get(incarnation)
    if (last !== undefined && session_lock && locked) last.lockSeen = true
  }

  /** A server that is younger than it was knows no lock of before. So does one whose clock was set back, for one look. */
  private noticeRestart(rows: readonly PeerRow[], now: number): void {
    const [row] = rows
    if (row === undefined) return
    const startedAt = now - row.server_age_ms
    if (startedAt > this.serverStartedAt + sameServerMs) this.forgetLocks()
    this.serverStartedAt = startedAt
  }

  /**
   * Silence counts only while this process was looking. After an outage of the database, or a freeze of this process,
   * the peers were not silent: nobody could hear them. A look that is merely late is no blindness.
   */
  private forgiveBlindness(now: number): void {
    const gapMs = this.lookedAt === null ? 0 : now - this.lookedAt
    this.lookedAt = now
    if (gapMs <= this.times.leaseTtlMs / 2) return
    for (const last of this.seen.values()) {
      last.changedAt += gapMs - this.times.heartbeatMs
      last.notBefore += gapMs - this.times.heartbeatMs
    }
  }

  private judge(row: PeerRow, now: number, verdicts: Verdicts): void {
    const last = this.seen.get(row.incarnation)
    if (last === undefined) return
    const { incarnation, beat } = row
    const silentMs = now - last.changedAt
    const doubtAfterMs = 2 * this.times.heartbeatMs
    const deadAfterMs = Math.max(doubtAfterMs, reconnectMs)
    const { leaseTtlMs, runLeaseMs } = this.times
    // After a restart of the server every lock is gone: for one lease time a missing lock says nothing, unless it was seen
    // since then. Its age does not tell of a recovery after the crash of one of its backends: the loss of this process's own
    // lock does.
    const hintsCount = last.lockSeen || (row.server_age_ms > leaseTtlMs && now >= this.hintsFrom)
    const unlocked = hintsCount && row.session_lock && !row.locked
    if (unlocked && silentMs >= deadAfterMs) {
      verdicts.dead.push({ incarnation, beat, expiredBefore: null, why: 'connection lost' })
    } else if (silentMs >= runLeaseMs && row.now - row.beat_at >= runLeaseMs) {
      const expiredBefore = row.now - runLeaseMs + 1
      verdicts.dead.push({ incarnation, beat, expiredBefore, why: 'no heartbeat' })
    }
    const ageMs = ageOf(row, last, now)
    const doubtful = unlocked && ageMs >= doubtAfterMs
    const dying = verdicts.dead.at(-1)?.incarnation === incarnation
    if (doubtful && !last.doubtful && !dying) verdicts.doubtful.push({ incarnation, beat })
    last.doubtful = doubtful
    if (unlocked && !dying) {
      const inMs = doubtful ? deadAfterMs - silentMs : doubtAfterMs - ageMs
      verdicts.nextInMs = Math.min(inMs, verdicts.nextInMs ?? inMs)
    }
  }
}

/**
 * How old a life sign is. The database knows when it was given, but its clock may have been set; this process knows only between
 * which two of its looks it came. So: the database's word, as far as it fits between them.
 */
function ageOf(row: PeerRow, last: { notBefore: number; changedAt: number }, now: number): number {
  return Math.min(Math.max(row.now - row.beat_at, now - last.changedAt), now - last.notBefore)
}

/** Looks at one server tell its age so exactly. */
const sameServerMs = 200

/** So long after its last life sign a process whose connections broke may come back and finds its runs as they were. */
const reconnectMs = 1_000
