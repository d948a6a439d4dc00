/**
 * The only door to the process's own time. Loops and deadlines count on the monotonic clock; what is due, expired
 * or recorded is judged by the database's clock (db/database-clock.ts). Tests hand in a clock they turn by hand.
 */
export interface Clock {
  /** Milliseconds on a clock that never steps. Its zero means nothing. */
  monotonic(): number
  /** Calls back once after `delayMs`; returns a function that calls it off. */
  after(delayMs: number, callback: () => void): () => void
  /** Another way to breathe: for a clock that decides itself who goes on when. */
  breathe?(): Promise<void>
}

/** Between two slices of long work: whatever else is ready in this process goes first. */
export function breathe(clock: Clock): Promise<void> {
  return clock.breathe?.() ?? new Promise((resolve) => setImmediate(resolve))
}

/** setTimeout counts in 32 bits: a longer delay would fire at once. */
const longestTimeout = 2 ** 31 - 1

export const systemClock: Clock = {
  monotonic: () => performance.now(),
  after(delayMs, callback) {
    let timer: NodeJS.Timeout
    const arm = (remaining: number) => {
      const step = Math.min(remaining, longestTimeout)
      timer = setTimeout(() => (remaining > step ? arm(remaining - step) : callback()), Math.max(0, step))
    }
    arm(delayMs)
    return () => clearTimeout(timer)
  },
}

/** Resolves after `delayMs`, or at once when the signal aborts. Never rejects: the caller looks at the signal. */
export function pause(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const cancel = clock.after(delayMs, done)
    function done() {
      cancel()
      signal?.removeEventListener('abort', done)
      resolve()
    }
    signal?.addEventListener('abort', done, { once: true })
  })
}
