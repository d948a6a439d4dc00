import type { TransportOptions } from './transport.js'

export interface ClientOptions {
  /** The server's address, e.g. http://localhost:8080. A path in front of /api/v1 is kept. */
  url: string
  /** Sent as a bearer token. */
  apiKey?: string
  fetch?: typeof globalThis.fetch
  /** For one call, from start to last byte. Default 30,000. */
  timeoutMs?: number
  /**
   * How often a call is repeated after a lost answer, a 503 or a 429, if that is safe. Default 3. A PATCH, and a POST that
   * carries no idempotency key, is repeated only after a 429: then the server did nothing.
   */
  maxRetries?: number
  /** Waits between tries; tests put their own in place. */
  sleep?: (ms: number, signal?: AbortSignal) => Promise<void>
  random?: () => number
}

/** `caller`: who is at fault where the options are. */
export function transportOf(options: ClientOptions, caller: string): TransportOptions {
  if (!URL.canParse(options.url) || !/^https?:$/.test(new URL(options.url).protocol)) {
    throw new TypeError(
      `${caller}: "${options.url}" is not a URL of a server. Give its address, e.g. http://localhost:8080.`,
    )
  }
  return {
    baseUrl: new URL(options.url),
    apiKey: options.apiKey,
    // Browsers refuse it as a method of anything but their window.
    fetch: options.fetch ?? ((url, init) => globalThis.fetch(url, init)),
    timeoutMs: options.timeoutMs ?? 30_000,
    maxRetries: options.maxRetries ?? 3,
    sleep: options.sleep ?? rest,
    random: options.random ?? Math.random,
  }
}

function rest(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve()
    const done = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal?.addEventListener('abort', done)
  })
}
