import { type ApiCalls, ApiError, createBrowserClient } from '@carillon/sdk/browser'
import type { Self } from '@carillon/contract'

/** The key is kept for this tab only, and goes with it. */
const slot = 'carillon.key'

export function storedKey(): string | null {
  try {
    return sessionStorage.getItem(slot)
  } catch {
    return null
  }
}

export function storeKey(key: string | null): void {
  try {
    if (key === null) sessionStorage.removeItem(slot)
    else sessionStorage.setItem(slot, key)
  } catch {
    // A browser without storage asks again after a reload.
  }
}

export function clientFor(key: string | null): ApiCalls {
  return createBrowserClient({
    url: location.origin,
    maxRetries: 1,
    timeoutMs: 20_000,
    ...(key !== null && { apiKey: key }),
  })
}

/** Who is looking, and what they may. Buttons that would be refused are not shown. */
export interface Session {
  api: ApiCalls
  self: Self
  hasKey: boolean
  mayWrite: boolean
  mayAdmin: boolean
  /** Keys of the tenant `default` see the fleet. */
  seesFleet: boolean
}

export function sessionOf(api: ApiCalls, self: Self, hasKey: boolean): Session {
  return {
    api,
    self,
    hasKey,
    mayWrite: self.role === 'operator' || self.role === 'admin',
    mayAdmin: self.role === 'admin',
    seesFleet: self.tenant === 'default',
  }
}

export function isUnauthenticated(error: unknown): boolean {
  return error instanceof ApiError && error.status === 401
}
