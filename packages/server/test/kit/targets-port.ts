import { CarillonError, type TargetHost, type TargetLimits, type TargetLimitsInput } from '@carillon/contract'
import type { PageQuery, TargetsPort } from '../../src/http/api.js'

const noLimits: TargetLimits = {
  rate_per_second: null,
  burst: null,
  max_concurrent: null,
  timeout_seconds: null,
  drain_per_second: null,
  breaker_enabled: null,
  breaker_attempts: null,
  breaker_window_seconds: null,
  breaker_failure_ratio: null,
  breaker_failures_in_row: null,
  breaker_open_seconds: null,
  breaker_max_open_seconds: null,
}

export function targetNamed(host: string, limits: Partial<TargetLimits> = {}): TargetHost {
  return {
    host,
    jobs: 1,
    in_flight: 0,
    waiting: 0,
    waiting_since: null,
    limits: { ...noLimits, ...limits },
    breaker: {
      state: 'closed',
      since: null,
      retry_at: null,
      openings: 0,
      attempts: 0,
      failures: 0,
      failures_in_row: 0,
      last_error: null,
      last_failed_at: null,
    },
  }
}

/** Hosts in memory, behind the port that the HTTP room is handed. */
export class MemoryTargets implements TargetsPort {
  readonly stored = new Map<string, TargetHost>()
  readonly resets: string[] = []

  list(_tenant: number, _query: PageQuery) {
    return Promise.resolve({ data: [...this.stored.values()], next_cursor: null })
  }

  get(_tenant: number, host: string): Promise<TargetHost> {
    const found = this.stored.get(host)
    return found === undefined
      ? Promise.reject(new CarillonError('target_not_found'))
      : Promise.resolve(found)
  }

  put(_tenant: number, host: string, input: TargetLimitsInput): Promise<TargetHost> {
    const target = targetNamed(host, input)
    this.stored.set(host, target)
    return Promise.resolve(target)
  }

  async deleteLimits(tenant: number, host: string): Promise<void> {
    await this.get(tenant, host)
    this.stored.set(host, targetNamed(host))
  }

  async reset(tenant: number, host: string): Promise<TargetHost> {
    this.resets.push(host)
    return this.get(tenant, host)
  }
}
