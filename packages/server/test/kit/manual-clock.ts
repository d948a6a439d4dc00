import type { Clock } from '../../src/platform/clock.js'

interface Timer {
  at: number
  order: number
  callback: () => void
}

/** A clock for tests without a database: it stands still until it is turned. */
export class ManualClock implements Clock {
  /** Every delay that was ever asked for, in order. */
  readonly delays: number[] = []
  private now: number
  private timers: Timer[] = []

  constructor(startsAt = 1_000) {
    this.now = startsAt
  }

  monotonic(): number {
    return this.now
  }

  after(delayMs: number, callback: () => void): () => void {
    const timer = { at: this.now + Math.max(0, delayMs), order: this.delays.length, callback }
    this.delays.push(delayMs)
    this.timers.push(timer)
    return () => {
      this.timers = this.timers.filter((other) => other !== timer)
    }
  }

  /** Timers that are set and have not run. */
  get armed(): number {
    return this.timers.length
  }

  /** Moves on and runs the timers that come due, each at its own instant; what they set off is let run its course. */
  async advance(ms: number): Promise<void> {
    const end = this.now + ms
    for (let next = this.nextUntil(end); next !== undefined; next = this.nextUntil(end)) {
      const due = next
      this.now = Math.max(this.now, due.at)
      this.timers = this.timers.filter((timer) => timer !== due)
      due.callback()
      await settled()
    }
    this.now = end
    await settled()
  }

  /** Moves on without running any timer: the process slept. */
  skip(ms: number): void {
    this.now += ms
  }

  private nextUntil(end: number): Timer | undefined {
    return this.timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at || a.order - b.order)[0]
  }
}

/** Lets promises that are ready run their course. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
