import { ApiError, ConnectionError } from '../errors.js'

/** Repeats a call that got no answer, or a 5xx, until it has one or the time is over. Other refusals are thrown. */
export type Retry = <Result>(call: () => Promise<Result>) => Promise<Result>

const firstMs = 100
const longestMs = 5_000

export function retrying(giveUp: AbortSignal, random: () => number): Retry {
  return async (call) => {
    for (let tries = 0; ; tries++) {
      try {
        return await call()
      } catch (error) {
        if (giveUp.aborted || !worthRepeating(error)) throw error
      }
      await pause(backoffMs(tries, random()), giveUp)
    }
  }
}

export function worthRepeating(error: unknown): boolean {
  return error instanceof ConnectionError || (error instanceof ApiError && error.status >= 500)
}

export function backoffMs(tries: number, random: number): number {
  return Math.min(firstMs * 2 ** Math.min(tries, 10), longestMs) * (0.5 + random / 2)
}

/** Resolves after the time, or at once when the signal aborts. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done, { once: true })
  })
}
