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
  /** The trace context that came with it, as it came. */
  readonly traceparent?: string | undefined
  /** Aborts within a second after the key was revoked or expired: for answers that go on longer than that. */
  readonly signal: AbortSignal
}

const callers = new AsyncLocalStorage<Caller>()

/**
 * Everything that `work` sets off, and what that waits for, is done on behalf of this caller: until the promise that it answers
 * settles, or until `over` says so.
 */
export function onBehalfOf<Result>(
  caller: Caller,
  work: () => Result,
  over?: (ended: () => void) => void,
): Result {
  going += 1
  let result: Result
  try {
    result = callers.run(caller, work)
  } catch (error) {
    leave()
    throw error
  }
  if (over !== undefined) over(once(leave))
  else if (result instanceof Promise) result.then(leave, leave)
  else leave()
  return result
}

/**
 * Before Node 24 a storage that was used once makes every promise of the process dearer, for ever: a run that does nothing took half
 * as long again. So it is switched off while nobody calls. Whoever looks then finds no caller, and sees nothing.
 */
let going = 0
/** What a call left behind may still look for its caller so long after its end. */
const afterMs = 2_000
let switchingOff: NodeJS.Timeout | null = null

function leave(): void {
  going -= 1
  if (going > 0 || switchingOff !== null) return
  switchingOff = setTimeout(() => {
    switchingOff = null
    if (going === 0) callers.disable()
  }, afterMs)
  switchingOff.unref()
}

function once(work: () => void): () => void {
  let done = false
  return () => {
    if (!done) work()
    done = true
  }
}

/** Null for what the fleet does by itself. */
export function currentCaller(): Caller | null {
  return callers.getStore() ?? null
}

/** The tenant that the database shall confine the present request to. Null: there is no request, nothing is shown. */
export function currentTenant(): number | null {
  return currentCaller()?.tenant ?? null
}
