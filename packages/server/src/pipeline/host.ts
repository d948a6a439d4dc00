import type { Target } from '@carillon/contract'
import { BoundedCache } from '../time/bounded-cache.js'

/** The host that a target calls, as limits and breakers name it: lower case, with its port unless that is the usual one. */
export function hostOf(target: Target): string | null {
  return target.type === 'http' ? hostOfUrl(target.url) : null
}

// Many jobs call few hosts.
const hosts = new BoundedCache<string | null>(1_000)

export function hostOfUrl(url: string): string | null {
  return hosts.getOrMake(url, () => readHost(url))
}

function readHost(url: string): string | null {
  try {
    const { host } = new URL(url)
    return host === '' ? null : host
  } catch {
    return null
  }
}
