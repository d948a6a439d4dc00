import { setImmediate } from 'node:timers'
import { TaskStoppedError } from '@carillon/sdk'
import { systemClock } from '../platform/clock.js'
import { type StopListener, StopSwitch } from './stop-switch.js'

/** The longest that a Node timer can wait; a longer one would fire at once. */
const longestTimerMs = 2 ** 31 - 1

export type Ending<T> =
  | { kind: 'finished'; value: T }
  | { kind: 'threw'; error: unknown }
  | { kind: 'timeout' }
  | { kind: 'cancelled'; cause: unknown }

/**
 * Runs `work` until it settles, the time is up or `stop` is stopped, whichever comes first. In the last two cases the switch
 * given to `work` is stopped, and the answer does not wait for it to be obeyed: work that never returns cannot hold the caller.
 * What such work does later is ignored. `lingers`: asked when the work has settled, for something it left behind that is part of its time.
 */
export function withinDeadline<T>(
  work: (stop: StopSwitch) => T | PromiseLike<T>,
  timeoutMs: number,
  stop: StopSwitch,
  lingers?: () => Promise<unknown> | null,
): Promise<Ending<T>> {
  if (stop.stopped) return Promise.resolve({ kind: 'cancelled', cause: stop.reason })
  return new Promise<Ending<T>>((resolve) => {
    new Deadline<T>(resolve, timeoutMs, stop, lingers).over(work)
  })
}

/** Begun in this turn of the event loop. Most work of a crowd is over within its turn, and needs no timer: one look for all of them is enough. */
let begun: { watch(): void }[] = []

function watchBegun(): void {
  const those = begun
  begun = []
  for (const deadline of those) deadline.watch()
}

/** The work's own switch and all that ends it, in one object: of a run that does nothing, such small things are the cost. */
class Deadline<T> extends StopSwitch implements StopListener {
  private timer: NodeJS.Timeout | null = null
  private readonly begunAt = systemClock.monotonic()
  private isOver = false

  constructor(
    private readonly resolve: (ending: Ending<T>) => void,
    private readonly timeoutMs: number,
    private readonly outer: StopSwitch,
    private readonly lingers: (() => Promise<unknown> | null) | undefined,
  ) {
    super()
    if (begun.push(this) === 1) setImmediate(watchBegun)
    outer.join(this)
  }

  watch(): void {
    if (this.isOver) return
    const leftMs = this.timeoutMs - (systemClock.monotonic() - this.begunAt)
    this.timer = setTimeout(() => this.timeUp(), Math.min(Math.max(1, leftMs), longestTimerMs))
  }

  over(work: (stop: StopSwitch) => T | PromiseLike<T>): void {
    try {
      const running = work(this)
      if (running instanceof Promise) this.follow(running as Promise<T>)
      // Not by its own `then`: what that answers may be a promise again.
      else if (isThenable(running)) this.follow(Promise.resolve(running))
      else this.settled({ kind: 'finished', value: running })
    } catch (error) {
      this.settled({ kind: 'threw', error })
    }
  }

  private follow(running: Promise<T>): void {
    running.then(
      (value) => this.settled({ kind: 'finished', value }),
      (error: unknown) => this.settled({ kind: 'threw', error }),
    )
  }

  // Resolved before the work hears of it, so that its complaint about it cannot win.
  whenStopped(reason: unknown): void {
    this.end({ kind: 'cancelled', cause: reason })
    this.stop(reason)
  }

  private timeUp(): void {
    this.end({ kind: 'timeout' })
    this.stop(new TaskStoppedError('timeout', `not done within ${seconds(this.timeoutMs)}`))
  }

  private settled(ending: Ending<T>): void {
    const left = this.lingers?.() ?? null
    if (left === null) this.end(ending)
    else
      left.then(
        () => this.end(ending),
        (error: unknown) => this.end(ending.kind === 'threw' ? ending : { kind: 'threw', error }),
      )
  }

  /** Only the first one counts. */
  private end(ending: Ending<T>): void {
    this.isOver = true
    if (this.timer !== null) clearTimeout(this.timer)
    this.outer.leave(this)
    this.resolve(ending)
  }
}

function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false
  return typeof (value as { then?: unknown }).then === 'function'
}

export function seconds(ms: number): string {
  return `${ms / 1000} s`
}

/** What a person reads when the caller's signal ended the attempt. */
export function cancelledBecause(cause: unknown): string {
  if (cause instanceof Error && cause.message !== '') return `cancelled: ${cause.message}`
  return typeof cause === 'string' && cause !== '' ? `cancelled: ${cause}` : 'cancelled'
}
