import type { Clock } from '../../platform/clock.js'

/** Where a pass found the first run of a lane: one that is ready, and one that may take a place. */
export interface LaneSeen {
  route: number
  ready: number | null
  waiting: number | null
  /** How many runs were seen in it. */
  runs?: number
}

/** From which instant on a pass looks into each lane. */
export interface Look {
  full: boolean
  /** Of lanes that are not named. */
  from: number
  routes: number[]
  readyFroms: number[]
  waitingFroms: number[]
  /** Jobs that gave a place back: what waits for it is looked at wherever it lies. */
  freed: number[]
}

/** Runs come into the queue up to so late behind their time and are found by the next pass. */
const slackMs = 5_000
/** Whatever came later, was handed back or rescued is found by a look from the bottom, at most so long after. */
const mostBetweenFullMs = 2_000
/** Looks from the bottom take at most one part in so many of the time. */
const fullShare = 20
const mostFreed = 1_000

/**
 * Where leasing begins to look. Entries of runs that are gone stay at the bottom of each lane's index for as long as any
 * old transaction is open, and so do runs that wait for a place. A pass that begins where the last one found something
 * reads none of them. One from the bottom follows at a distance that its own cost decides: while it is cheap, every pass
 * is one.
 */
export class Watermarks {
  private lanes = new Map<number, { ready: number; waiting: number }>()
  private from = 0
  private readonly freedJobs = new Set<number>()
  private fullAt = Number.NEGATIVE_INFINITY
  private holder: number | undefined
  private lastNow = 0

  constructor(private readonly clock: Clock) {}

  /** A job gave a place back. */
  freed(job: number): void {
    if (this.freedJobs.size < mostFreed) this.freedJobs.add(job)
    else this.lookFully()
  }

  /** The next pass looks everywhere. */
  lookFully(): void {
    this.fullAt = Number.NEGATIVE_INFINITY
  }

  next(holder: number): Look {
    const full = this.clock.monotonic() >= this.fullAt || holder !== this.holder
    const freed = [...this.freedJobs]
    this.freedJobs.clear()
    this.holder = holder
    if (full) return { full, from: 0, routes: [], readyFroms: [], waitingFroms: [], freed: [] }
    const lanes = [...this.lanes]
    return {
      full,
      from: this.from,
      routes: lanes.map(([route]) => route),
      readyFroms: lanes.map(([, { ready }]) => ready),
      waitingFroms: lanes.map(([, { waiting }]) => waiting),
      freed,
    }
  }

  /** What the pass found; `sentAt` and the present on the monotonic clock say what it cost. */
  found(look: Look, seen: readonly LaneSeen[], now: number, sentAt: number): void {
    this.from = now - slackMs
    this.lanes = new Map(
      seen.map(({ route, ready, waiting }) => [
        route,
        {
          ready: Math.min(ready ?? this.from, this.from),
          waiting: Math.min(waiting ?? this.from, this.from),
        },
      ]),
    )
    const at = this.clock.monotonic()
    if (look.full) this.fullAt = at + Math.min(mostBetweenFullMs, (at - sentAt) * fullShare)
    // The database's clock went back: what is due now lies below all that was seen.
    if (now < this.lastNow) this.lookFully()
    this.lastNow = now
  }
}
