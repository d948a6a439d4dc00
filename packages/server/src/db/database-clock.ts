import type { Clock } from '../platform/clock.js'

/**
 * What this process may claim about the database's clock without asking it.
 *
 * A reading T that was sent for at m0 and received at m1 (monotonic) says: at m1 the database's now was at least T. So
 * at any later m it is at least T + (m − m1): a lower bound, and "never early" is kept by starting a run only when the
 * bound has reached its time. Of the recent samples the one with the highest bound counts. A sample that says the
 * database is earlier than the bound allowed at m0 is a step of its clock: forget the old samples and report it.
 */
export class DatabaseClock {
  private readonly clock: Clock
  private readonly onStep: (byMs: number) => void
  private samples: { at: number; offset: number }[] = []
  private best = Number.NEGATIVE_INFINITY

  constructor(clock: Clock, onStep: (byMs: number) => void) {
    this.clock = clock
    this.onStep = onStep
  }

  /** Reads the monotonic clock before a query is sent; the answer completes the sample. */
  begin(): (databaseNow: number) => void {
    const sentAt = this.clock.monotonic()
    return (databaseNow) => this.add(sentAt, this.clock.monotonic(), databaseNow)
  }

  /** The database's now is this or later. Rounded down: instants are whole milliseconds. */
  atLeast(): number {
    if (this.samples.length === 0)
      throw new Error('The database clock was asked for before its first sample.')
    return Math.floor(this.clock.monotonic() + this.best)
  }

  private add(sentAt: number, receivedAt: number, databaseNow: number): void {
    const highestPossible = databaseNow + 1 - sentAt
    if (highestPossible < this.best - toleranceMs) {
      this.onStep(Math.round(highestPossible - this.best))
      this.samples = []
    }
    this.samples = this.samples.filter((sample) => receivedAt - sample.at < memoryMs)
    this.samples.push({ at: receivedAt, offset: databaseNow - receivedAt })
    this.best = Math.max(...this.samples.map((sample) => sample.offset))
  }
}

/** Two clocks of one machine drift apart by parts per million: that is no step. */
const toleranceMs = 5
const memoryMs = 30_000
