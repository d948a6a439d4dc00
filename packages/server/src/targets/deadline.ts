import { TaskStoppedError } from '@carillon/sdk'
import { StopSwitch } from './stop-switch.js'

/** The longest that a Node timer can wait; a longer one would fire at once. */
const longestTimerMs = 2 ** 31 - 1

export type Ending<T> =
  | { kind: 'finished'; value: T }
  | { kind: 'threw'; error: unknown }
  | { kind: 'timeout' }
  | { kind: 'cancelled'; cause: unknown }

/**
 * Runs `work` until it settles, the time is up or `stop` is stopped, whichever comes first. In the last two cases the switch
 * given to `work` is stopped, and the answer does not wait for it to be obeyed: work that never returns cannot hold the
 * caller. What such work does later is ignored.
 */
export function withinDeadline<T>(
  work: (stop: StopSwitch) => T | Promise<T>,
  timeoutMs: number,
  stop: StopSwitch,
): Promise<Ending<T>> {
  if (stop.stopped) return Promise.resolve({ kind: 'cancelled', cause: stop.reason })
  const inner = new StopSwitch()
  return new Promise<Ending<T>>((resolve) => {
    const end = (ending: Ending<T>, because?: unknown) => {
      clearTimeout(timer)
      leave()
      // Resolved before the work hears of it, so that its complaint about it cannot win.
      resolve(ending)
      if (because !== undefined) inner.stop(because)
    }
    const leave = stop.onStop(() => end({ kind: 'cancelled', cause: stop.reason }, stop.reason))
    const timer = setTimeout(
      () =>
        end({ kind: 'timeout' }, new TaskStoppedError('timeout', `not done within ${seconds(timeoutMs)}`)),
      Math.min(timeoutMs, longestTimerMs),
    )
    const threw = (error: unknown) => end({ kind: 'threw', error })
    try {
      const running = work(inner)
      if (running instanceof Promise) running.then((value) => end({ kind: 'finished', value }), threw)
      else end({ kind: 'finished', value: running })
    } catch (error) {
      threw(error)
    }
  })
}

export function seconds(ms: number): string {
  return `${ms / 1000} s`
}

/** What a person reads when the caller's signal ended the attempt. */
export function cancelledBecause(cause: unknown): string {
  if (cause instanceof Error && cause.message !== '') return `cancelled: ${cause.message}`
  return typeof cause === 'string' && cause !== '' ? `cancelled: ${cause}` : 'cancelled'
}
