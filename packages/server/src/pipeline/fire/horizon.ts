import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { NumberMap } from '../../platform/number-map.js'
import { TimingWheel } from '../../time/wheel.js'

interface SeenTimer {
  job: number
  partition: number
  start_at: number
}

const loadStatement = statement<
  {
    partitions: number[]
    after_starts: number[]
    after_jobs: number[]
    horizon_ms: number
    most_per_partition: number
  },
  SeenTimer
>(new URL('./load-horizon.sql', import.meta.url))
const changedStatement = statement<
  { partitions: number[]; since: number; after: number; horizon_ms: number; most: number },
  { job: number; partition: number; start_at: number | null; changed_at: number; now: number }
>(new URL('./changed.sql', import.meta.url))

/** Where a timer is found in the table. */
export interface Whereabouts {
  partition: number
  startAt: number
}

export interface HorizonOptions {
  database: Database
  databaseNow: () => number
  owned: () => readonly { partition: number; epoch: number }[]
  horizonMs: number
  /** Most timers that are kept: the horizon shrinks when more are due in it. */
  capacity: number
}

/** What comes at once is taken in at once, and holds up everything else in this process: a few milliseconds of it at most. */
const pageRows = 5_000
const mostChanges = 2_000
/** A transaction may take so long from its change to its commit, and is still heard of by the feed. */
const lateCommitMs = 3_000

/**
 * The coming minutes of the owned partitions: which timers start when. `far` has them by their start; `near` has those
 * that were looked at and have to wait for a moment of their own. Only a cache: what it does not know, a scan finds, and
 * what it knows wrongly, the firing statement refuses. Losing it loses nothing.
 */
export class Horizon {
  private far: TimingWheel
  private near: TimingWheel
  /** Of those in `near`: when they start, which is where the table has them. */
  private readonly nearStarts = new NumberMap<number>()
  private begun = false
  /** By partition: the epoch it was read under, and the start up to which it was read; of that start, up to the job. */
  private readonly read = new Map<number, { epoch: number; through: number; job: number }>()
  private heardThrough: number | null = null
  /** Where a look at the feed that needs several pages stands. */
  private round: { begunAt: number; since: number; after: number } | null = null

  constructor(private readonly options: HorizonOptions) {
    this.far = this.newWheel(0)
    this.near = this.newWheel(0)
  }

  get size(): number {
    return this.far.size + this.near.size
  }

  /** Reads on: changes first, then what the horizon has grown by. Answers true when there is more to read. */
  async refresh(): Promise<boolean> {
    this.begin()
    const owned = this.options.owned()
    this.forgetLost(owned)
    if (owned.length === 0) return false
    const heardAll = await this.hear(owned.map(({ partition }) => partition))
    const readAll = await this.readOn(owned)
    return !heardAll || !readAll
  }

  /**
   * Timers to look at now: those that start within `aheadMs`, and those whose moment has come. Of more than `most` half are of either
   * kind: jobs that are behind, and come up again at once, must not keep out those that were never looked at.
   */
  take(now: number, aheadMs: number, most: number): Map<number, Whereabouts> {
    this.begin()
    const taken = new Map<number, Whereabouts>()
    const comingUp = Math.min(this.far.countThrough(now + aheadMs), Math.floor(most / 2))
    this.takeNear(now, most - comingUp, taken)
    this.far.advance(now + aheadMs, most - taken.size, (job, startAt, partition) => {
      taken.set(job, { partition, startAt })
    })
    if (taken.size < most) this.takeNear(now, most - taken.size, taken)
    return taken
  }

  /** Up to here, and up to `most`, nothing that is known to start is left to come up: `take` hands out the earliest first. */
  takenThrough(most: number): number {
    const next = this.far.nextAt()
    return next === null ? most : Math.min(most, next - 1)
  }

  /** Timers that were taken, and were not looked at after all. What the wheel has heard of them since is newer. */
  putBack(taken: ReadonlyMap<number, Whereabouts>): void {
    for (const [job, { partition, startAt }] of taken)
      if (!this.far.has(job) && !this.near.has(job)) this.startsAt(job, partition, startAt)
  }

  private takeNear(now: number, most: number, taken: Map<number, Whereabouts>): void {
    this.near.advance(now, most, (job, _at, partition) => {
      const startAt = this.nearStarts.delete(job)
      if (startAt !== undefined) taken.set(job, { partition, startAt })
    })
  }

  /** Whether the timer will come up as the tick that starts then, or waits for a moment of its own as that. */
  knows(job: number, startAt: number): boolean {
    return this.waits(job, startAt) || this.far.at(job) === startAt
  }

  private waits(job: number, startAt: number): boolean {
    return this.nearStarts.get(job) === startAt
  }

  /** A timer whose next start is known. */
  startsAt(job: number, partition: number, startAt: number): void {
    this.forgetNear(job)
    if (startAt <= this.options.databaseNow() + this.options.horizonMs)
      this.far.insert(job, startAt, partition)
    else this.far.cancel(job)
  }

  /** A timer that is to be looked at again at this moment, not before. */
  lookAgainAt(job: number, { partition, startAt }: Whereabouts, at: number): void {
    this.far.cancel(job)
    if (this.near.insert(job, at, partition)) this.nearStarts.set(job, startAt)
    else this.forgetNear(job)
  }

  private forgetNear(job: number): void {
    this.near.cancel(job)
    this.nearStarts.delete(job)
  }

  /**
   * Whether so many of the timers start up to this instant. The wheels count by slots of a second: what shares the slot of the instant
   * is gone through where it decides. Counted as a whole, an even flow would look like half as much again at some moments of each second.
   */
  startBy(instant: number, many: number): boolean {
    const both = (count: (wheel: TimingWheel) => number) => count(this.far) + count(this.near)
    const most = both((wheel) => wheel.countThrough(instant))
    if (most < many) return false
    if (most - both((wheel) => wheel.countBeside(instant)) >= many) return true
    return most - both((wheel) => wheel.countAfter(instant)) >= many
  }

  /** How long the timer that has waited longest could have been looked at already, and was not: there were too many. */
  overdueMs(now: number): number {
    const earliest = Math.min(this.near.nextAt() ?? now, this.far.nextAt() ?? now)
    return Math.max(0, now - earliest)
  }

  /**
   * When `take` has something next, about; null when nothing is known. What starts ahead may be left lying for `gatherMs`, so
   * that others come up with it; what waits for a moment of its own may not.
   */
  nextLookAt(aheadMs: number, gatherMs: number): number | null {
    const near = this.near.nextAt()
    const far = this.far.nextAt()
    if (far === null) return near
    const gathered = far - aheadMs + gatherMs
    return near === null ? gathered : Math.min(near, gathered)
  }

  /** The wheels begin to turn at the first look: before it nobody has asked the database for its time. */
  private begin(): void {
    if (this.begun) return
    this.begun = true
    const now = this.options.databaseNow()
    this.far = this.newWheel(now)
    this.near = this.newWheel(now)
  }

  private newWheel(startsAt: number): TimingWheel {
    return new TimingWheel({ startsAt, capacity: this.options.capacity })
  }

  /** Their timers stay in the wheel until they come up, and are passed over then. */
  private forgetLost(owned: readonly { partition: number; epoch: number }[]): void {
    const epochs = new Map(owned.map(({ partition, epoch }) => [partition, epoch]))
    for (const [partition, { epoch }] of this.read) {
      if (epochs.get(partition) !== epoch) this.read.delete(partition)
    }
  }

  /** Answers true when everything that changed so far was heard. A round of several pages ends with a short one. */
  private async hear(partitions: number[]): Promise<boolean> {
    const now = this.options.databaseNow()
    this.round ??= { begunAt: now, since: (this.heardThrough ?? now) - lateCommitMs, after: 0 }
    const { begunAt, since, after } = this.round
    const changes = await this.options.database.run(changedStatement, {
      partitions,
      since,
      after,
      horizon_ms: this.options.horizonMs,
      most: mostChanges,
    })
    for (const { job, partition, start_at: startAt } of changes) {
      if (startAt !== null) this.startsAt(job, partition, startAt)
      else {
        this.forgetNear(job)
        this.far.cancel(job)
      }
    }
    const last = changes.at(-1)
    if (last !== undefined && changes.length >= mostChanges) {
      this.round = { begunAt, since: last.changed_at, after: last.job }
      return false
    }
    this.heardThrough = begunAt
    this.round = null
    return true
  }

  private async readOn(owned: readonly { partition: number; epoch: number }[]): Promise<boolean> {
    const { database, databaseNow, horizonMs, capacity } = this.options
    if (this.size >= capacity) return true
    // A little less than all: a timer whose start falls on the edge is read by the next look.
    const wanted = owned.filter(({ partition }) => {
      const read = this.read.get(partition)
      return read === undefined || read.through < databaseNow() + horizonMs * freshShare
    })
    if (wanted.length === 0) return true
    const mostPerPartition = Math.max(10, Math.floor(pageRows / wanted.length))
    const asked = databaseNow()
    const timers = await database.run(loadStatement, {
      partitions: wanted.map(({ partition }) => partition),
      after_starts: wanted.map(({ partition }) => this.read.get(partition)?.through ?? 0),
      after_jobs: wanted.map(({ partition }) => this.read.get(partition)?.job ?? 0),
      horizon_ms: horizonMs,
      most_per_partition: mostPerPartition,
    })
    const pages = this.keep(timers)
    let readAll = true
    for (const { partition, epoch } of wanted) {
      const page = pages.get(partition)
      const full = page !== undefined && page.rows >= mostPerPartition
      const end = page?.refused ?? (full ? { through: page.last.start_at, job: page.last.job } : null)
      this.read.set(partition, { epoch, ...(end ?? { through: asked + horizonMs, job: noJobAfter }) })
      if (full && page.refused === null) readAll = false
    }
    return readAll
  }

  /** Puts timers into the wheel; answers by partition where reading goes on. A full wheel refuses: those are read again. */
  private keep(timers: readonly SeenTimer[]): Map<number, Page> {
    const pages = new Map<number, Page>()
    for (const timer of timers) {
      const { job, partition, start_at: startAt } = timer
      const page = pages.get(partition) ?? { rows: 0, last: timer, refused: null }
      pages.set(partition, page)
      page.rows += 1
      page.last = timer
      if (page.refused !== null || this.waits(job, startAt)) continue
      if (!this.far.insert(job, startAt, partition)) page.refused = { through: startAt, job: job - 1 }
    }
    return pages
  }
}

interface Page {
  rows: number
  last: SeenTimer
  refused: { through: number; job: number } | null
}

const noJobAfter = Number.MAX_SAFE_INTEGER
/** The horizon is read on when less than this part of it is known ahead. */
const freshShare = 0.9
