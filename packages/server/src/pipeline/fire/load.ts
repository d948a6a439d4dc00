import type { Clock } from '../../platform/clock.js'

export interface LoadOptions {
  clock: Clock
  thresholdMs: number
  /** Told when it begins and when it ends. */
  onChange: (overloaded: boolean, lagMs: number) => void
}

/** Above the threshold for so long it is an overload; below half of it for so long, it is over. */
const beginsAfterMs = 1_000
const endsAfterMs = 3_000

/**
 * Whether this scheduler keeps up: how late fresh ticks enter the queue. A single late pass is no overload, and a single
 * good one does not end it. Ticks found after an outage do not count: they were missed, and are caught up at a pace.
 */
export class Load {
  overloaded = false
  lagMs = 0
  private since: number | null = null

  constructor(private readonly options: LoadOptions) {}

  /** The latest of a pass; 0 for a pass in which nothing was late. */
  passed(lagMs: number): void {
    const { clock, thresholdMs, onChange } = this.options
    this.lagMs = lagMs
    const turning = this.overloaded ? lagMs < thresholdMs / 2 : lagMs > thresholdMs
    if (!turning) {
      this.since = null
      return
    }
    const now = clock.monotonic()
    this.since ??= now
    if (now - this.since < (this.overloaded ? endsAfterMs : beginsAfterMs)) return
    this.overloaded = !this.overloaded
    this.since = null
    onChange(this.overloaded, lagMs)
  }
}
