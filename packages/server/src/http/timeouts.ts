/** Milliseconds. Together they bound how long a slow or silent peer can hold a connection. */
export const timeouts = {
  /** Until the headers are there. */
  headers: 10_000,
  /** Until the whole request is there. */
  request: 30_000,
  /** How often connections are looked at for the two above. */
  checkEvery: 1_000,
  /** No byte in either direction while a request is under way. */
  silence: 60_000,
  /** Longer than the usual 60 s of load balancers: the side that closes first should not be the one that receives. */
  keepAlive: 72_000,
  /** How long close() waits for requests in flight. */
  close: 10_000,
} as const
