import type { Clock } from '../../platform/clock.js'
import { Handing } from './handing.js'
import { Turnover } from './turnover.js'

export interface RoomOptions {
  clock: Clock
  concurrency: number
  /** Runs that the worker holds. */
  held: () => number
  /** Those of them that wait for their instants. */
  waiting: () => number
  /** Whether it takes any, and knows what it has. */
  open: () => boolean
}

/** However much room there is: one statement ends in good time, and the others get their share of a burst. */
export const mostPerLease = 1_000

/** Places that become free within so long are worth waiting for. */
const worthWaitingMs = 100
/** After a wait that brought nothing nobody waits for so long; where this worker could take none of them, for longer. */
const inVainMs = 500
const notOursMs = 5_000

/** The places of a worker: how many are free, to whom they are promised, and who waits for them. */
export class Room {
  /** The last leasing pass found as many as it asked for: there are others, perhaps, who have waited longer. */
  backlog = false
  private readonly handing = new Handing()
  private readonly turnover = new Turnover()
  private readonly waiting = new Set<() => void>()
  private noWaitUntil = Number.NEGATIVE_INFINITY

  constructor(private readonly options: RoomOptions) {}

  get free(): number {
    return this.options.concurrency - this.options.held() - this.handing.promised
  }

  /** So many at once have a chance to be taken, also beside as many others. */
  get mostAtOnce(): number {
    return Math.floor(this.options.concurrency / 4)
  }

  /**
   * Whether places that became free are worth a look into the queue. Not a few of them while enough runs wait here for their
   * instants: a look costs the database as much for one run as for fifty, and a worker whose places are always taken by what it
   * holds ahead would ask for each of them. As many as one lease takes are always worth it.
   */
  get isWorthAsking(): boolean {
    const worth = Math.min(Math.ceil(this.options.concurrency / 4), mostPerLease)
    return this.free >= worth || this.options.waiting() < worth
  }

  /** All of them or none, and never more than half of what is free: the rest is for those that are leased, which may have waited. */
  welcomes(runs: number): boolean {
    return this.options.open() && !this.backlog && runs * 2 <= this.free
  }

  /**
   * Null: now is the time to make so many runs. Otherwise a moment later is better: there is no room, and at the pace at which
   * runs end here there soon will be. Runs that go through the queue instead cost twice as much, and while there are some all
   * others must follow them: a process that is busy would do half of what it can, for as long as it is busy. Asked again after
   * each wait, since others wait for the same room; `until` on the monotonic clock, and no longer.
   */
  ready(runs: number, until: number): Promise<void> | null {
    const { clock, concurrency, open } = this.options
    const now = clock.monotonic()
    if (!open() || runs * 2 > concurrency || this.welcomes(runs)) return null
    if (now >= until || now < this.noWaitUntil) return null
    if (this.turnover.within(worthWaitingMs, now) * 4 < runs) return null
    return new Promise((resolve) => {
      const look = () => {
        if (!this.welcomes(runs)) return
        callOff()
        done()
      }
      const done = () => {
        this.waiting.delete(look)
        resolve()
      }
      const callOff = clock.after(until - now, () => {
        this.noWaitUntil = clock.monotonic() + inVainMs
        done()
      })
      this.waiting.add(look)
    })
  }

  /** Promises places to runs that are being made; what it answers is called with how many came of it, or with null: nobody knows. */
  promise(runs: number): (came: number | null) => void {
    const settle = this.handing.begin(runs)
    return (came) => {
      if (came === 0) this.noWaitUntil = this.options.clock.monotonic() + notOursMs
      settle()
      this.tell()
    }
  }

  /** When all that are promised now have come, or not. */
  settled(): Promise<void> {
    return this.handing.settled()
  }

  freed(): void {
    this.turnover.freed()
    this.tell()
  }

  /** Whoever waits looks again. */
  tell(): void {
    if (this.waiting.size > 0) for (const look of [...this.waiting]) look()
  }
}
