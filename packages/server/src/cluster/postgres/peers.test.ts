import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../../test/kit/manual-clock.js'
import { type PeerRow, PeerWatch, type Suspect } from './peers.js'

const times = { heartbeatMs: 250, leaseTtlMs: 10_000, runLeaseMs: 30_000 }
const [self, peer, other] = [1, 2, 3]
const epoch = Date.parse('2026-11-02T12:00:00Z')

/** A cluster as one process sees it: peers that beat or are silent, and a database with a clock of its own. */
class Watched {
  readonly clock = new ManualClock(0)
  readonly watch = new PeerWatch(this.clock, times)
  private readonly rows = new Map<number, PeerRow>()
  private stepped = 0
  private serverStartedAt = -3_600_000
  readonly doubted: { incarnation: number; beat: number }[] = []
  /** When the last look asked for another. */
  nextInMs: number | null = null

  constructor(...incarnations: number[]) {
    for (const incarnation of incarnations) this.add(incarnation)
    this.look()
  }

  add(incarnation: number): void {
    const row = { incarnation, host: 'host', pid: 1, roles: ['scheduler'], tasks: [], beat: 1 }
    this.rows.set(incarnation, {
      ...row,
      beat_at: this.databaseNow(),
      session_lock: true,
      locked: true,
      now: 0,
      server_age_ms: 0,
    })
  }

  beat(...incarnations: number[]): void {
    for (const incarnation of incarnations) {
      const { beat } = this.row(incarnation)
      Object.assign(this.row(incarnation), { beat: beat + 1, beat_at: this.databaseNow() })
    }
  }

  /** Its connection broke: the server freed its lock. */
  unlock(incarnation: number): void {
    this.row(incarnation).locked = false
  }

  row(incarnation: number): PeerRow {
    const row = this.rows.get(incarnation)
    if (row === undefined) throw new Error(`no process ${incarnation}`)
    return row
  }

  remove(incarnation: number): void {
    this.rows.delete(incarnation)
  }

  /** The database server was started so long ago. */
  restartServer(agoMs: number): void {
    this.serverStartedAt = this.clock.monotonic() - agoMs
  }

  stepDatabase(ms: number): void {
    this.stepped += ms
  }

  databaseNow(): number {
    return epoch + this.clock.monotonic() + this.stepped
  }

  /** Answers who should be declared dead; who became doubtful is remembered. */
  look(): Suspect[] {
    const rows = [...this.rows.values()].map((row) => ({
      ...row,
      now: this.databaseNow(),
      server_age_ms: this.clock.monotonic() - this.serverStartedAt,
    }))
    const { doubtful, dead, nextInMs } = this.watch.observe(rows, self)
    this.doubted.push(...doubtful)
    this.nextInMs = nextInMs
    return dead
  }

  /** Looks at every heartbeat until then; answers what the last look found. */
  lookAfter(ms: number): Suspect[] {
    for (let left = ms; left > times.heartbeatMs; left -= times.heartbeatMs) {
      this.clock.skip(times.heartbeatMs)
      this.look()
    }
    this.clock.skip(ms % times.heartbeatMs || Math.min(ms, times.heartbeatMs))
    return this.look()
  }
}

describe('a peer whose connection broke', () => {
  it('is doubtful once two heartbeats are missing, and not sooner: nobody counts on it, but it is not dead', () => {
    const cluster = new Watched(self, peer)
    cluster.unlock(peer)
    expect(cluster.lookAfter(499)).toEqual([])
    expect(cluster.doubted).toEqual([])
    expect(cluster.watch.isFresh(peer)).toBe(true)
    expect(cluster.lookAfter(1)).toEqual([])
    expect(cluster.watch.isFresh(peer)).toBe(false)
    cluster.lookAfter(499)
    expect(cluster.doubted).toEqual([{ incarnation: peer, beat: 1 }])
  })

  it('is doubtful by the age of its last life sign, not by when somebody saw that', () => {
    const cluster = new Watched(self, peer)
    cluster.clock.skip(10)
    cluster.beat(peer)
    cluster.unlock(peer)
    cluster.clock.skip(240)
    cluster.look()
    cluster.clock.skip(259)
    cluster.look()
    expect(cluster.doubted).toEqual([])
    cluster.clock.skip(1)
    cluster.look()
    expect(cluster.doubted).toEqual([{ incarnation: peer, beat: 2 }])
    expect(cluster.watch.isFresh(peer)).toBe(false)
  })

  it('is not older than the look before its life sign was seen, wherever the database clock was set', () => {
    const cluster = new Watched(self, peer)
    cluster.clock.skip(240)
    cluster.beat(peer)
    cluster.unlock(peer)
    cluster.clock.skip(10)
    cluster.look()
    cluster.stepDatabase(3_600_000)
    cluster.clock.skip(249)
    cluster.look()
    expect(cluster.doubted).toEqual([])
    cluster.clock.skip(1)
    cluster.look()
    expect(cluster.doubted).toHaveLength(1)
  })

  it('is not younger than when it was seen: a clock that was set back makes nobody younger', () => {
    const cluster = new Watched(self, peer)
    cluster.unlock(peer)
    cluster.stepDatabase(-3_600_000)
    cluster.lookAfter(500)
    expect(cluster.doubted).toHaveLength(1)
  })

  it('asks for the looks that tell of it: when it is doubtful, then when it is dead, then at no time of their own', () => {
    const cluster = new Watched(self, peer, other)
    cluster.look()
    expect(cluster.nextInMs).toBeNull()
    cluster.clock.skip(100)
    cluster.unlock(peer)
    cluster.look()
    expect(cluster.nextInMs).toBe(400)
    cluster.clock.skip(400)
    cluster.look()
    expect(cluster.doubted).toHaveLength(1)
    expect(cluster.nextInMs).toBe(500)
    cluster.clock.skip(500)
    expect(cluster.look()).toHaveLength(1)
    expect(cluster.nextInMs).toBeNull()
  })

  it('is counted on again with its next life sign', () => {
    const cluster = new Watched(self, peer)
    cluster.unlock(peer)
    cluster.lookAfter(750)
    cluster.beat(peer)
    cluster.look()
    expect(cluster.watch.isFresh(peer)).toBe(true)
    cluster.lookAfter(500)
    expect(cluster.doubted).toEqual([
      { incarnation: peer, beat: 1 },
      { incarnation: peer, beat: 2 },
    ])
  })

  it('is dead after a second without a life sign, and not sooner: so long it may take to connect again', () => {
    const cluster = new Watched(self, peer)
    cluster.unlock(peer)
    expect(cluster.look()).toEqual([])
    expect(cluster.lookAfter(999)).toEqual([])
    expect(cluster.lookAfter(1)).toEqual([
      { incarnation: peer, beat: 1, expiredBefore: null, why: 'connection lost' },
    ])
  })

  it('is left alone while it goes on beating without its lock', () => {
    const cluster = new Watched(self, peer)
    cluster.unlock(peer)
    for (let beat = 0; beat < 200; beat++) {
      cluster.beat(peer)
      expect(cluster.lookAfter(250)).toEqual([])
    }
  })

  it('is counted from its last beat: one that comes late starts the count anew', () => {
    const cluster = new Watched(self, peer)
    cluster.unlock(peer)
    cluster.lookAfter(900)
    cluster.beat(peer)
    expect(cluster.look()).toEqual([])
    expect(cluster.lookAfter(999)).toEqual([])
    expect(cluster.lookAfter(1)).toMatchObject([{ incarnation: peer, beat: 2 }])
  })

  it('is not suspected by a newcomer at first sight', () => {
    const cluster = new Watched(self)
    cluster.clock.skip(60_000)
    cluster.add(peer)
    cluster.unlock(peer)
    expect(cluster.look()).toEqual([])
    expect(cluster.lookAfter(1_000)).toHaveLength(1)
  })

  it('is judged by time alone when it never claimed to hold a lock, as behind a pooler', () => {
    const cluster = new Watched(self, peer)
    cluster.unlock(peer)
    cluster.row(peer).session_lock = false
    expect(cluster.lookAfter(29_999)).toEqual([])
    expect(cluster.lookAfter(1)).toMatchObject([{ incarnation: peer, why: 'no heartbeat' }])
  })
})

describe('after a restart of the database server', () => {
  it('a missing lock says nothing for one lease time', () => {
    const cluster = new Watched(self, peer)
    cluster.unlock(peer)
    cluster.restartServer(0)
    expect(cluster.lookAfter(times.leaseTtlMs)).toEqual([])
    expect(cluster.lookAfter(1)).toMatchObject([{ incarnation: peer, why: 'connection lost' }])
  })

  it('the loss of one’s own lock makes the loss of others say nothing for one lease time', () => {
    const cluster = new Watched(self, peer)
    cluster.unlock(peer)
    cluster.watch.mistrustHints()
    expect(cluster.lookAfter(9_999)).toEqual([])
    expect(cluster.lookAfter(1)).toMatchObject([{ incarnation: peer, why: 'connection lost' }])
  })

  it('a lock that was seen since then and is missing was lost: its owner is doubtful and dead like at any other time', () => {
    const cluster = new Watched(self, peer, other)
    cluster.restartServer(100)
    for (const incarnation of [peer, other]) cluster.unlock(incarnation)
    cluster.look()
    cluster.row(peer).locked = true
    cluster.look()
    cluster.unlock(peer)
    cluster.beat(peer, other)
    cluster.look()
    expect(cluster.lookAfter(999)).toEqual([])
    expect(cluster.doubted.map(({ incarnation }) => incarnation)).toEqual([peer])
    expect(cluster.lookAfter(1)).toMatchObject([{ incarnation: peer, why: 'connection lost' }])
  })

  it('what was seen of a lock before the restart says nothing after it', () => {
    const cluster = new Watched(self, peer)
    cluster.look()
    cluster.unlock(peer)
    cluster.restartServer(100)
    expect(cluster.lookAfter(2_000)).toEqual([])
    expect(cluster.doubted).toEqual([])
  })

  it('the loss of one’s own lock does not hide that of a peer whose lock was seen since', () => {
    const cluster = new Watched(self, peer)
    cluster.watch.mistrustHints()
    cluster.look()
    cluster.unlock(peer)
    expect(cluster.lookAfter(1_000)).toMatchObject([{ incarnation: peer, why: 'connection lost' }])
  })

  it('a peer is still found dead by time', () => {
    const cluster = new Watched(self, peer)
    cluster.unlock(peer)
    for (let look = 1; look < 120; look++) {
      cluster.restartServer(1)
      expect(cluster.lookAfter(250)).toEqual([])
    }
    expect(cluster.lookAfter(250)).toMatchObject([{ incarnation: peer, why: 'no heartbeat' }])
  })
})

describe('a peer that is silent while its lock is held', () => {
  it('is suspected after the run lease, by both clocks, with the limit that the database must confirm', () => {
    const cluster = new Watched(self, peer)
    expect(cluster.lookAfter(29_999)).toEqual([])
    const [suspect] = cluster.lookAfter(1)
    expect(suspect).toEqual({
      incarnation: peer,
      beat: 1,
      expiredBefore: epoch + 1,
      why: 'no heartbeat',
    })
    expect(cluster.row(peer).beat_at).toBeLessThan(suspect?.expiredBefore ?? 0)
  })

  it('is not suspected by the database clock alone: a step forward kills nobody', () => {
    const cluster = new Watched(self, peer, other)
    cluster.stepDatabase(86_400_000)
    expect(cluster.look()).toEqual([])
    expect(cluster.lookAfter(29_999)).toEqual([])
  })

  it('is not suspected by the monotonic clock alone: after a step back it has the time that the database says', () => {
    const cluster = new Watched(self, peer)
    cluster.stepDatabase(-5_000)
    expect(cluster.lookAfter(34_999)).toEqual([])
    expect(cluster.lookAfter(1)).toHaveLength(1)
  })

  it('survives steps in both directions as long as it beats', () => {
    const cluster = new Watched(self, peer)
    for (let beat = 0; beat < 400; beat++) {
      cluster.stepDatabase(beat % 2 === 0 ? 3_600_000 : -3_599_000)
      cluster.beat(peer)
      expect(cluster.lookAfter(250)).toEqual([])
    }
  })

  it('is no longer counted on for partitions after the partition lease, long before it is dead', () => {
    const cluster = new Watched(self, peer)
    cluster.clock.skip(9_999)
    expect(cluster.watch.isFresh(peer)).toBe(true)
    cluster.clock.skip(1)
    expect(cluster.watch.isFresh(peer)).toBe(false)
    expect(cluster.look()).toEqual([])
    cluster.beat(peer)
    cluster.look()
    expect(cluster.watch.isFresh(peer)).toBe(true)
  })
})

describe('an observer that could not look', () => {
  it('does not take the time of its own blindness for silence of the others', () => {
    const cluster = new Watched(self, peer)
    cluster.clock.skip(60_000)
    expect(cluster.look()).toEqual([])
    expect(cluster.lookAfter(times.runLeaseMs / 2)).toEqual([])
  })

  it('finds the dead all the same, once it has looked for long enough', () => {
    const cluster = new Watched(self, peer)
    cluster.clock.skip(60_000)
    expect(cluster.look()).toEqual([])
    expect(cluster.lookAfter(times.runLeaseMs)).toMatchObject([{ incarnation: peer, why: 'no heartbeat' }])
  })
})

describe('the watch over the peers', () => {
  it('never suspects the process itself', () => {
    const cluster = new Watched(self)
    cluster.unlock(self)
    expect(cluster.lookAfter(600_000)).toEqual([])
  })

  it('tells the dead from the living in one look', () => {
    const cluster = new Watched(self, peer, other)
    cluster.unlock(peer)
    cluster.beat(self, other)
    expect(cluster.lookAfter(1_000).map(({ incarnation }) => incarnation)).toEqual([peer])
  })

  it('repeats a suspicion until it is settled, and forgets a peer that is gone', () => {
    const cluster = new Watched(self, peer)
    cluster.unlock(peer)
    expect(cluster.lookAfter(1_000)).toHaveLength(1)
    expect(cluster.lookAfter(250)).toHaveLength(1)
    cluster.remove(peer)
    expect(cluster.lookAfter(250)).toEqual([])
    expect(cluster.watch.isFresh(peer)).toBe(false)
  })

  it('does not count on a ghost: one whose last beat was long ago when it was first seen', () => {
    const cluster = new Watched(self)
    cluster.add(peer)
    cluster.add(other)
    cluster.row(peer).beat_at -= times.leaseTtlMs
    cluster.look()
    expect([peer, other].map((incarnation) => cluster.watch.isFresh(incarnation))).toEqual([false, true])
    cluster.beat(peer)
    cluster.look()
    expect(cluster.watch.isFresh(peer)).toBe(true)
  })

  it('does not know a process that it has never seen', () => {
    expect(new Watched(self).watch.isFresh(99)).toBe(false)
  })
})
