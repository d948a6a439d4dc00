import type { Clock } from '../../platform/clock.js'
import { NumberMap } from '../../platform/number-map.js'
import { Instants } from './instants.js'

/**
 * Where leased runs wait for their instant. One timer for all of them, set to the earliest; nothing leaves before the
 * database's clock has certainly reached its time.
 *
 * By instant: half a million runs may wait for one, and come a thousand at a time.
 */
export class StartLine<Entry extends { availableAt: number }> {
  private readonly waiting = new NumberMap<Entry[]>()
  private readonly instants = new Instants()
  private callOff: (() => void) | null = null
  private count = 0

  constructor(
    private readonly clock: Clock,
    private readonly databaseNowAtLeast: () => number,
    private readonly onDue: (entries: Entry[]) => void,
  ) {}

  add(entries: readonly Entry[]): void {
    this.count += entries.length
    for (const entry of entries) {
      const { availableAt } = entry
      const others = this.waiting.get(availableAt)
      if (others !== undefined) others.push(entry)
      else {
        this.waiting.set(availableAt, [entry])
        this.instants.push(availableAt)
      }
    }
    this.release()
  }

  /** Takes entries out before their time. */
  remove(matches: (entry: Entry) => boolean): Entry[] {
    const removed: Entry[] = []
    for (const [instant, entries] of this.waiting.entries()) {
      const staying: Entry[] = []
      for (const entry of entries) (matches(entry) ? removed : staying).push(entry)
      // The instant stays where it is: with nobody left it passes without anything to let go of.
      this.waiting.set(instant, staying)
    }
    this.count -= removed.length
    return removed
  }

  removeAll(): Entry[] {
    return this.remove(() => true)
  }

  get size(): number {
    return this.count
  }

  /** Lets go of everything that is due, and sets the timer for the next. */
  release(): void {
    this.callOff?.()
    this.callOff = null
    const now = this.databaseNowAtLeast()
    let due: Entry[] = []
    for (let first = this.instants.first; first <= now; first = this.instants.first) {
      this.instants.shift()
      const entries = this.waiting.delete(first) ?? []
      if (due.length === 0) due = entries
      else for (const entry of entries) due.push(entry)
    }
    this.count -= due.length
    const next = this.instants.first
    // The bound is rounded down and timers may come a little early: a try too soon is repeated, never a start too soon.
    if (next !== Number.POSITIVE_INFINITY) {
      this.callOff = this.clock.after(Math.max(1, next - now), () => this.release())
    }
    if (due.length > 0) this.onDue(due)
  }
}
