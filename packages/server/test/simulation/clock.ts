import type { Clock } from '../../src/platform/clock.js'

interface Timer {
  at: number
  order: number
  process: object
  callback: () => void
}

/** Where every history begins, by the database's clock. */
export const epoch = Date.parse('2026-11-02T12:00:00Z')

/** One time for all: the processes' monotonic clocks and the database's go on together, when the scheduler says so. */
export class VirtualTime {
  now = 0
  private timers: Timer[] = []
  private order = 0

  /** By the database's clock. */
  readonly databaseNow = (): number => epoch + Math.floor(this.now)

  /** The clock of one process. Its zero is another one in each: nobody may compare two of them. */
  clockOf(process: object, zero: number): Clock {
    return {
      monotonic: () => this.now + zero,
      breathe: () => Promise.resolve(),
      after: (delayMs, callback) => {
        const timer = { at: this.now + Math.max(0, delayMs), order: this.order++, process, callback }
        this.timers.push(timer)
        return () => {
          const at = this.timers.indexOf(timer)
          if (at >= 0) this.timers.splice(at, 1)
        }
      },
    }
  }

  /** The next timer up to this instant of a process that can hear it. Time moves on to it. */
  takeDue(until: number, hears: (process: object) => boolean): (() => void) | null {
    let next: Timer | null = null
    for (const timer of this.timers) {
      if (timer.at > until || !hears(timer.process)) continue
      if (next === null || timer.at < next.at || (timer.at === next.at && timer.order < next.order))
        next = timer
    }
    if (next === null) return null
    this.timers.splice(this.timers.indexOf(next), 1)
    this.now = Math.max(this.now, next.at)
    return next.callback
  }

  /** When the next timer of anybody that hears is due. */
  nextAt(hears: (process: object) => boolean): number | null {
    let at: number | null = null
    for (const timer of this.timers) if (hears(timer.process) && (at === null || timer.at < at)) at = timer.at
    return at
  }

  forget(process: object): void {
    this.timers = this.timers.filter((timer) => timer.process !== process)
  }
}
