import { CarillonError, type Role } from '@carillon/contract'
import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import type { Clock } from '../../platform/clock.js'
import { hashOfKey, looksLikeKey } from '../../platform/key.js'

interface Holder {
  key_id: string
  tenant: number
  tenant_name: string
  name: string
  role: Role
  expires_at: number | null
}

const identifyStatement = statement<{ hash: Buffer }, Holder>(new URL('./identify-key.sql', import.meta.url))
const openStatement = statement<{ hashes: Buffer[] }, { hash: Buffer }>(
  new URL('./open-keys.sql', import.meta.url),
)

/** Who has a key, as the API asks for it. */
export interface Identity {
  tenant: number
  tenantName: string
  role: Role
  name: string
  key: string
  expiresAt: number | null
}

/**
 * How long an answer of the database about a key is believed, from before it was asked. With the look every `watchEveryMs` at
 * keys whose answers go on, a revocation holds on every node within a second, without a message that might be lost.
 */
export const believedMs = 500
export const watchEveryMs = 400
const mostRemembered = 10_000
/** A database that hangs is told to whoever calls: a call that waits to be known is answered by nobody. */
const lookUpWithinMs = 3_000
/** A look that fails for this long is a revocation that this node may not have heard of. */
const longestUnseenMs = 1_000

interface Watched {
  hash: Buffer
  aborts: Set<AbortController>
  seenAt: number
}

/** The keys that callers send, each looked up in the database twice a second at most. Only hashes are remembered. */
export class KeyRing {
  private readonly known = new Map<string, { until: number; identity: Promise<Identity | null> }>()
  private readonly watched = new Map<string, Watched>()

  constructor(private readonly options: { database: Database; clock: Clock }) {}

  /** Null: the key opens nothing. */
  async identify(key: string): Promise<Identity | null> {
    if (!looksLikeKey(key)) return null
    const hash = hashOfKey(key)
    const name = hash.toString('base64')
    const now = this.options.clock.monotonic()
    const remembered = this.known.get(name)
    if (remembered !== undefined && now < remembered.until) return remembered.identity
    const identity = this.lookUp(hash)
    this.remember(name, { until: now + believedMs, identity })
    try {
      const found = await identity
      // A key that nobody has is not worth its place: others could fill the memory with such.
      if (found === null) this.known.delete(name)
      return found
    } catch (error) {
      this.known.delete(name)
      throw error
    }
  }

  /** Aborts when the key opens no more. After `release`, never: what was answered is answered. */
  watch(key: string): { signal: AbortSignal; release: () => void } {
    const hash = hashOfKey(key)
    const name = hash.toString('base64')
    const entry = this.watched.get(name) ?? {
      hash,
      aborts: new Set(),
      seenAt: this.options.clock.monotonic(),
    }
    this.watched.set(name, entry)
    const abort = new AbortController()
    entry.aborts.add(abort)
    const release = () => {
      entry.aborts.delete(abort)
      if (entry.aborts.size === 0 && this.watched.get(name) === entry) this.watched.delete(name)
    }
    return { signal: abort.signal, release }
  }

  /** Looks at the keys whose answers go on. */
  async runOnce(): Promise<boolean> {
    const entries = [...this.watched.entries()]
    if (entries.length === 0) return false
    const began = this.options.clock.monotonic()
    try {
      const hashes = entries.map(([, { hash }]) => hash)
      const rows = await this.options.database.run(openStatement, { hashes })
      const open = new Set(rows.map(({ hash }) => hash.toString('base64')))
      for (const [name, entry] of entries) {
        if (open.has(name)) entry.seenAt = began
        else this.end(name, entry)
      }
    } catch (error) {
      const now = this.options.clock.monotonic()
      for (const [name, entry] of entries) if (now - entry.seenAt > longestUnseenMs) this.end(name, entry)
      throw error
    }
    return false
  }

  private end(name: string, entry: Watched): void {
    if (this.watched.get(name) === entry) this.watched.delete(name)
    const reason = new CarillonError('unauthenticated', { detail: 'The key was revoked or has expired.' })
    for (const abort of entry.aborts) abort.abort(reason)
  }

  private async lookUp(hash: Buffer): Promise<Identity | null> {
    const [row] = await this.inTime(this.options.database.run(identifyStatement, { hash }))
    if (row === undefined) return null
    const { key_id: key, tenant, tenant_name: tenantName, name, role, expires_at: expiresAt } = row
    return { key, tenant, tenantName, name, role, expiresAt }
  }

  private async inTime<Result>(looking: Promise<Result>): Promise<Result> {
    let callOff = () => undefined as void
    const late = new Promise<never>((_, reject) => {
      const detail = `Whose the key is was not answered within ${lookUpWithinMs / 1000} s.`
      callOff = this.options.clock.after(lookUpWithinMs, () =>
        reject(new CarillonError('database_unavailable', { detail })),
      )
    })
    try {
      return await Promise.race([looking, late])
    } finally {
      callOff()
    }
  }

  private remember(name: string, entry: { until: number; identity: Promise<Identity | null> }): void {
    this.known.delete(name)
    if (this.known.size >= mostRemembered) {
      const [oldest] = this.known.keys()
      if (oldest !== undefined) this.known.delete(oldest)
    }
    this.known.set(name, entry)
  }
}
