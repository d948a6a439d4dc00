import { AsyncLocalStorage } from 'node:async_hooks'
import type { Role } from '@carillon/contract'

/** Who a request comes from, as its key says: not what the request asks for. */
export interface Caller {
  readonly tenant: number
  readonly tenantName: string
  readonly role: Role
  /** What the audit calls it: the name of the key, or `local` where none is needed. */
  readonly actor: string
  /** The key's UUID; null without one. */
  readonly key: string | null
  readonly expiresAt: number | null
  /** The operationId of the call. */
  readonly operation: string
  readonly requestId: string
  /** Aborts within a second after the key was revoked or expired: for answers that go on longer than that. */
  readonly signal: AbortSignal
}

const callers = new AsyncLocalStorage<Caller>()

/** Everything that `work` sets off, and what that waits for, is done on behalf of this caller. */
export function onBehalfOf<Result>(caller: Caller, work: () => Result): Result {
  return callers.run(caller, work)
}

/** Null for what the fleet does by itself. */
export function currentCaller(): Caller | null {
  return callers.getStore() ?? null
}

/** The tenant that the database shall confine the present request to. Null: there is no request, nothing is shown. */
export function currentTenant(): number | null {
  return currentCaller()?.tenant ?? null
}
