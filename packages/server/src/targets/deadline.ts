import { TaskStoppedError } from '@carillon/sdk'

/** The longest that a Node timer can wait; a longer one would fire at once. */
const longestTimerMs = 2 ** 31 - 1

export type Ending<T> =
  | { kind: 'finished'; value: T }
  | { kind: 'threw'; error: unknown }
  | { kind: 'timeout' }
  | { kind: 'cancelled'; cause: unknown }

/**
 * Runs `work` until it settles, the time is up or `signal` aborts, whichever comes first. In the last two cases
 * the signal given to `work` aborts, and the answer does not wait for it to be obeyed: work that never returns
 * cannot hold the caller. What such work does later is ignored.
 */
export function withinDeadline<T>(
  work: (signal: AbortSignal) => Promise<T>,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Ending<T>> {
  if (signal.aborted) return Promise.resolve({ kind: 'cancelled', cause: signal.reason as unknown })
  const inner = new AbortController()
  return new Promise<Ending<T>>((resolve) => {
    const end = (ending: Ending<T>, abortReason?: unknown) => {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
      // Resolved before the abort is seen by the work, so that its complaint about it cannot win.
      resolve(ending)
      if (abortReason !== undefined) inner.abort(abortReason)
    }
    const onAbort = () => {
      const cause: unknown = signal.reason
      end({ kind: 'cancelled', cause }, cause ?? new DOMException('cancelled', 'AbortError'))
    }
    const timer = setTimeout(
      () =>
        end({ kind: 'timeout' }, new TaskStoppedError('timeout', `not done within ${seconds(timeoutMs)}`)),
      Math.min(timeoutMs, longestTimerMs),
    )
    signal.addEventListener('abort', onAbort, { once: true })
    // An async wrapper, so that a synchronous throw of `work` is an ending too.
    const running = (async () => work(inner.signal))()
    running.then(
      (value) => end({ kind: 'finished', value }),
      (error: unknown) => end({ kind: 'threw', error }),
    )
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
