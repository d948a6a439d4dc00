import type { Config } from '../config.js'

/** By what jobs are registered, whichever way they come: by a call, by a request of the outbox, or as a template. */
export function registeringTerms(config: Config) {
  return {
    quota: { maxJobs: config.maxJobs, createPerSecond: config.createPerSecond },
    maxJobBytes: config.maxBodyBytes,
    minIntervalMs: config.minIntervalSeconds * 1000,
  }
}
