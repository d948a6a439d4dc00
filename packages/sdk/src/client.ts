import { type ApiCalls, apiCalls } from './api-calls.js'
import { type ClientOptions, transportOf } from './client-options.js'
import { type SyncJob, type SyncOptions, type SyncPlan, syncJobs } from './sync.js'

export interface Client extends ApiCalls {
  /**
   * Definitions in code: makes the jobs of an owner what the list says, and answers what that took. With `dryRun` it only
   * says what it would do.
   */
  sync(jobs: readonly SyncJob[], options: SyncOptions): Promise<SyncPlan>
}

export function createClient(options: ClientOptions): Client {
  const calls = apiCalls(transportOf(options, 'createClient'))
  return { ...calls, sync: (wanted, options) => syncJobs(calls.jobs, wanted, options) }
}
