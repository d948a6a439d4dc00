import type { TargetHost, TargetHostList, TargetLimitsInput } from '@carillon/contract'
import type { Call } from './transport.js'

export interface TargetCalls {
  /** The hosts that jobs call: their limits and breakers. */
  readonly targets: {
    /** One page, by name; pass its `next_cursor` for the next one. */
    list(page?: { limit?: number; cursor?: string }): Promise<TargetHostList>
    get(host: string): Promise<TargetHost>
    /** Sets the limits that are given, for the whole fleet; null takes one away. */
    limit(host: string, limits: TargetLimitsInput): Promise<TargetHost>
    /** Takes all limits away. */
    unlimit(host: string): Promise<void>
    /** Says that the host is well: what its breaker parked leaves at the pace of a drain. */
    reset(host: string): Promise<TargetHost>
  }
}

const targetsPath = '/api/v1/targets'

export function targetCalls(call: <T>(what: Call) => Promise<T>): TargetCalls {
  return {
    targets: {
      list: (page = {}) => call<TargetHostList>({ method: 'GET', path: targetsPath, query: page }),
      get: async (host) => await call<TargetHost>({ method: 'GET', path: pathOf(host) }),
      limit: async (host, limits) =>
        await call<TargetHost>({ method: 'PUT', path: pathOf(host), body: limits }),
      async unlimit(host) {
        await call({ method: 'DELETE', path: pathOf(host) })
      },
      reset: async (host) =>
        await call<TargetHost>({ method: 'POST', path: `${pathOf(host)}/reset`, body: {} }),
    },
  }
}

function pathOf(host: string): string {
  // As a path segment an empty name, "." or ".." would address something else than a host.
  if (/^\.{0,2}$/.test(host)) throw new TypeError(`"${host}" is not a host.`)
  return `${targetsPath}/${encodeURIComponent(host)}`
}
