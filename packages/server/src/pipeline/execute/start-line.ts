import type { Clock } from '../../platform/clock.js'

/**
 * Where leased runs wait for their instant. One timer for all of them, set to the earliest; nothing leaves before the
 * database's clock has certainly reached its time.
 */
export class StartLine<Entry extends { availableAt: number }> {
  private waiting: Entry[] = []
  private callOff: (() => void) | null = null

  constructor(
    private readonly clock: Clock,
    private readonly databaseNowAtLeast: () => number,
    private readonly onDue: (entries: Entry[]) => void,
  ) {}

  add(entries: readonly Entry[]): void {
    this.waiting.push(...entries)
    this.waiting.sort((a, b) => a.availableAt - b.availableAt)
    this.release()
  }

  /** Takes entries out before their time. */
  remove(matches: (entry: Entry) => boolean): Entry[] {
    const removed = this.waiting.filter(matches)
    if (removed.length > 0) this.waiting = this.waiting.filter((entry) => !matches(entry))
    return removed
  }

  removeAll(): Entry[] {
    return this.remove(() => true)
  }

  get size(): number {
    return this.waiting.length
  }

  /** Lets go of everything that is due, and sets the timer for the next. */
  release(): void {
    this.callOff?.()
    this.callOff = null
    const now = this.databaseNowAtLeast()
    const firstAhead = this.waiting.findIndex((entry) => entry.availableAt > now)
    const due = this.waiting.splice(0, firstAhead === -1 ? this.waiting.length : firstAhead)
    const [next] = this.waiting
    // The bound is rounded down and timers may come a little early: a try too soon is repeated, never a start too soon.
    if (next !== undefined) {
      this.callOff = this.clock.after(Math.max(1, next.availableAt - now), () => this.release())
    }
    if (due.length > 0) this.onDue(due)
  }
}
