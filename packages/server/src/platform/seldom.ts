import type { Clock } from './clock.js'

/** Work that is done again at a distance that its own cost decides: while it is cheap, every time it is asked for. */
export class Seldom {
  private nextAt = Number.NEGATIVE_INFINITY

  constructor(
    private readonly clock: Clock,
    /** However dear it is, it is done after so long. */
    private readonly mostBetweenMs: number,
    /** It takes at most one part in so many of the time. */
    private readonly share = 20,
  ) {}

  isDue(): boolean {
    return this.clock.monotonic() >= this.nextAt
  }

  /** It was done, from this instant on the monotonic clock until now. */
  done(begunAt: number): void {
    const now = this.clock.monotonic()
    this.nextAt = now + Math.min(this.mostBetweenMs, (now - begunAt) * this.share)
  }

  /** It is due at once. */
  demand(): void {
    this.nextAt = Number.NEGATIVE_INFINITY
  }
}
