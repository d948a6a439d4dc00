import type { Clock } from '../platform/clock.js'

/**
 * What this process may claim about the database's clock without asking it.
 *
 * A reading T that was sent for at m0 and received at m1 (monotonic) says: at m1 the database's now was at least T. So
 * at any later m it is at least T + (m − m1): a lower bound, and "never early" is kept by starting a run only when the
 * bound has reached its time. Of the recent samples the one with the highest bound counts. A sample that says the
 * database is earlier than the bound allowed at m0 is a step of its clock: forget the old samples and report it. The
 * samples then on their way are forgotten too, because they may have been read before the step.
 */
export class DatabaseClock {
  private readonly clock: Clock
  private readonly onStep: (byMs: number) => void
  /** Oldest first. One that a later sample outbids says nothing more: each is higher than all that follow it. */
  private samples: { at: number; offset: number }[] = []
  private steps = 0

  constructor(clock: Clock, onStep: (byMs: number) => void) {
    this.clock = clock
    this.onStep = onStep
  }

  /** Reads the monotonic clock before a query is sent; the answer completes the sample. */
  begin(): (databaseNow: number) => void {
    const sentAt = this.clock.monotonic()
    const stepsBefore = this.steps
    return (databaseNow) => {
      if (this.steps === stepsBefore) this.add(sentAt, this.clock.monotonic(), databaseNow)
    }
  }

  /** The database's now is this or later. Rounded down: instants are whole milliseconds. */
  atLeast(): number {
    const [best] = this.samples
    if (best === undefined) throw new Error('The database clock was asked for before its first sample.')
    return Math.floor(this.clock.monotonic() + best.offset)
  }

  private add(sentAt: number, receivedAt: number, databaseNow: number): void {
    const [best] = this.samples
    const contradiction = best === undefined ? 0 : databaseNow + 1 - sentAt - best.offset
    if (contradiction < -toleranceMs) {
      this.steps += 1
      this.samples = []
      this.onStep(Math.round(contradiction))
    }
    const offset = databaseNow - receivedAt
    this.samples = this.samples.filter(
      (sample) => receivedAt - sample.at < memoryMs && sample.offset > offset,
    )
    this.samples.push({ at: receivedAt, offset })
  }
}

/** Two clocks of one machine drift apart by parts per million: that is no step. */
const toleranceMs = 5
const memoryMs = 30_000
