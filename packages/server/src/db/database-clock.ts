import type { Clock } from '../platform/clock.js'

/**
 * What this process may claim about the database's clock without asking it.
 *
 * A reading T that was sent for at m0 and received at m1 (monotonic) says: at m1 the database's now was at least T. So
 * at any later m it is at least T + (m − m1): a lower bound, and "never early" is kept by starting a run only when the
 * bound has reached its time. Of the recent samples the one with the highest bound counts.
 *
 * It also says: at m0 the database's now was at most T, so that a later reading cannot be above T + (m − m0). A sample
 * outside the bounds is a step of the database's clock: forget the old samples and report it. The samples then on their
 * way are forgotten too, because they may have been read before the step. What looks like a step forward may also be a
 * sleep of this machine, during which its monotonic clock stood still: from here the two cannot be told apart.
 */
export class DatabaseClock {
  private readonly clock: Clock
  private readonly onStep: (byMs: number) => void
  /** Oldest first. One that a later sample outbids says nothing more: each is higher than all that follow it. */
  private lower: Bound[] = []
  /** Likewise: each is lower than all that follow it. */
  private upper: Bound[] = []
  private steps = 0

  /** `onStep` is told by how much: less than zero is back, more is forward. */
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
    const [best] = this.lower
    if (best === undefined) throw new Error('The database clock was asked for before its first sample.')
    return Math.floor(this.clock.monotonic() + best.offset)
  }

  private add(sentAt: number, receivedAt: number, databaseNow: number): void {
    // The reading is rounded down: the truth is up to a millisecond later.
    const [least, most] = [databaseNow - receivedAt, databaseNow + 1 - sentAt]
    const byMs = this.stepBetween(least, most, receivedAt)
    if (byMs !== 0) {
      this.steps += 1
      this.lower = []
      this.upper = []
    }
    const isRecent = ({ at }: Bound) => receivedAt - at < memoryMs
    this.lower = this.lower.filter((bound) => isRecent(bound) && bound.offset > least)
    this.upper = this.upper.filter((bound) => isRecent(bound) && bound.offset < most)
    this.lower.push({ at: receivedAt, offset: least })
    this.upper.push({ at: receivedAt, offset: most })
    if (byMs !== 0) this.onStep(byMs)
  }

  /** By how much the database's clock stepped since the samples before; 0 where this sample agrees with them. */
  private stepBetween(least: number, most: number, now: number): number {
    const [highest] = this.lower
    const [lowest] = this.upper
    if (highest !== undefined && most - highest.offset < -tolerance(backToleranceMs, now - highest.at))
      return Math.round(most - highest.offset)
    if (lowest !== undefined && least - lowest.offset > tolerance(forwardToleranceMs, now - lowest.at))
      return Math.round(least - lowest.offset)
    return 0
  }
}

/** The database's now lies so far from the monotonic clock, at least or at most, by a sample that came in `at`. */
interface Bound {
  at: number
  offset: number
}

const memoryMs = 30_000
/** Two clocks of one machine drift apart by parts per million: that is no step. */
const backToleranceMs = 5
/** Wider: a clock that is being slewed runs ahead by more, and nothing is started early by it. */
const forwardToleranceMs = 100
/** The most by which a disciplined clock is slewed. Counts where no sample came for long: drift has added up. */
const slew = 500 / 1_000_000

function tolerance(ms: number, ageMs: number): number {
  return ageMs < memoryMs ? ms : ms + ageMs * slew
}
