import type { Clock } from '../../platform/clock.js'
import { SigningError } from '../../targets/signing.js'

export interface SigningKey {
  secret: Uint8Array
  /** By the database's clock; null: it does not retire. */
  retiresAt: number | null
}

export interface SecretCacheOptions {
  clock: Clock
  /** The database's clock, never ahead of it: a secret signs a moment too long rather than too short. */
  now: () => number
  /** The secrets of these tenants, newest first; makes those that are missing. */
  keysOf: (tenants: readonly number[]) => Promise<Map<number, SigningKey[]>>
}

/** How often the secrets in use are read anew. */
export const refreshMs = 2_000
/** Within this time a rotation is known to every process that reaches the database: a pass, its wait, and some to spare. */
export const everywhereWithinMs = 5_000
/** A tenant that nothing was signed for is not read any more. */
const idleMs = 600_000
const mostTenants = 10_000

interface Entry {
  keys: readonly SigningKey[]
  usedAt: number
}

/**
 * What a worker signs with. Only the first delivery of a tenant waits for the database; from then on the secrets are read
 * anew in the background, and those known last serve while the database is away.
 */
export class SecretCache {
  private readonly entries = new Map<number, Entry>()
  private asked: { tenants: Set<number>; keys: Promise<Map<number, SigningKey[]>> } | null = null

  constructor(private readonly options: SecretCacheOptions) {}

  /** What to sign a tenant's deliveries with now, the newest first. Rejects where none were ever read. */
  async secretsOf(tenant: number): Promise<Uint8Array[]> {
    const { clock, now } = this.options
    const entry = this.entries.get(tenant) ?? (await this.load(tenant))
    entry.usedAt = clock.monotonic()
    const at = now()
    return entry.keys
      .filter(({ retiresAt }) => retiresAt === null || retiresAt > at)
      .map(({ secret }) => secret)
  }

  /** Reads the secrets of all tenants in use anew, at once. */
  async refreshOnce(): Promise<undefined> {
    const { clock, keysOf } = this.options
    const unusedSince = clock.monotonic() - idleMs
    for (const [tenant, { usedAt }] of this.entries) if (usedAt < unusedSince) this.entries.delete(tenant)
    if (this.entries.size === 0) return
    const tenants = [...this.entries.keys()]
    const read = await keysOf(tenants)
    for (const tenant of tenants) {
      const entry = this.entries.get(tenant)
      const keys = read.get(tenant)
      if (keys === undefined) this.entries.delete(tenant)
      else if (entry !== undefined) entry.keys = keys
    }
  }

  private async load(tenant: number): Promise<Entry> {
    const keys = (await this.ask(tenant)).get(tenant)
    if (keys === undefined) throw new SigningError('the tenant has no signing secret')
    // Whoever asked at the same time may have put it there, and a refresh may have been since.
    const known = this.entries.get(tenant)
    if (known !== undefined) return known
    this.makeRoom()
    const entry = { keys, usedAt: this.options.clock.monotonic() }
    this.entries.set(tenant, entry)
    return entry
  }

  /** Those who ask in one turn of the loop are answered by one read: after a start many tenants come at once. */
  private ask(tenant: number): Promise<Map<number, SigningKey[]>> {
    if (this.asked === null) {
      const tenants = new Set<number>()
      const keys = new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
        this.asked = null
        return this.options.keysOf([...tenants])
      })
      this.asked = { tenants, keys }
    }
    this.asked.tenants.add(tenant)
    return this.asked.keys
  }

  /** Whoever was there first goes: if it is in use, it is read again. */
  private makeRoom(): void {
    const [first] = this.entries.keys()
    if (this.entries.size >= mostTenants && first !== undefined) this.entries.delete(first)
  }
}
