import {
  type ApiKey,
  CarillonError,
  type KeyInput,
  type RevealedKey,
  type Role,
  type Tenant,
  type TenantInput,
  type TenantPatch,
} from '@carillon/contract'
import type { AccessPort, AuditPort, KeysPort, PageQuery, TenantsPort } from '../../src/http/api.js'
import { keyIdOf, newUuid } from '../../src/platform/ids.js'
import { newKey } from '../../src/platform/key.js'

const made = '2026-11-01T00:00:00Z'

/** Nobody needs a key, and none opens. */
export const openAccess: AccessPort = {
  required: false,
  identify: () => Promise.resolve(null),
  watch: () => ({ signal: new AbortController().signal, release: () => undefined }),
}

/** Keys are needed; each role of each of two tenants has one. */
export class MemoryAccess implements AccessPort {
  readonly required = true
  readonly watched: { key: string; abort: AbortController; released: boolean }[] = []
  private readonly holders = new Map<
    string,
    { tenant: number; tenantName: string; role: Role; name: string }
  >()

  keyOf(role: Role, tenant = 1): string {
    const tenantName = tenant === 1 ? 'default' : `tenant-${tenant}`
    const name = `${role} of ${tenantName}`
    for (const [key, holder] of this.holders) if (holder.name === name) return key
    const key = newKey()
    this.holders.set(key, { tenant, tenantName, role, name })
    return key
  }

  identify(key: string): ReturnType<AccessPort['identify']> {
    const holder = this.holders.get(key)
    return Promise.resolve(holder === undefined ? null : { ...holder, key: newUuid(), expiresAt: null })
  }

  watch(key: string) {
    const entry = { key, abort: new AbortController(), released: false }
    this.watched.push(entry)
    return {
      signal: entry.abort.signal,
      release: () => {
        entry.released = true
      },
    }
  }
}

export class MemoryKeys implements KeysPort {
  readonly made: { tenant: number | string; input: Omit<KeyInput, 'tenant'> }[] = []
  readonly keys: ApiKey[] = []

  create(tenant: number, input: Omit<KeyInput, 'tenant'>): Promise<RevealedKey> {
    return this.make(tenant, input)
  }

  createFor(tenantName: string, input: Omit<KeyInput, 'tenant'>): Promise<RevealedKey> {
    return this.make(tenantName, input)
  }

  list(_tenant: number, { limit }: PageQuery) {
    return Promise.resolve({ data: this.keys.slice(0, limit), next_cursor: null })
  }

  async rotate(_tenant: number, keyId: string): Promise<RevealedKey> {
    return { ...(await this.find(keyId)), key: newKey() }
  }

  async revoke(_tenant: number, keyId: string): Promise<void> {
    await this.find(keyId)
  }

  private make(tenant: number | string, input: Omit<KeyInput, 'tenant'>): Promise<RevealedKey> {
    this.made.push({ tenant, input })
    const key: ApiKey = {
      key_id: keyIdOf(newUuid()),
      name: input.name,
      role: input.role,
      state: 'active',
      created_at: made,
      expires_at: input.expires_at ?? null,
      revoked_at: null,
      rotated_at: null,
      previous_expires_at: null,
    }
    this.keys.push(key)
    return Promise.resolve({ ...key, key: newKey() })
  }

  private find(keyId: string): Promise<ApiKey> {
    const key = this.keys.find(({ key_id: id }) => id === keyId)
    return key === undefined ? Promise.reject(new CarillonError('key_not_found')) : Promise.resolve(key)
  }
}

export class MemoryTenants implements TenantsPort {
  readonly tenants = new Map<string, Tenant>()

  list({ limit }: PageQuery) {
    return Promise.resolve({ data: [...this.tenants.values()].slice(0, limit), next_cursor: null })
  }

  get(name: string): Promise<Tenant> {
    const tenant = this.tenants.get(name)
    return tenant === undefined
      ? Promise.reject(new CarillonError('tenant_not_found'))
      : Promise.resolve(tenant)
  }

  create({ name, ...given }: TenantInput): Promise<Tenant> {
    const empty = {
      max_jobs: null,
      create_per_second: null,
      min_interval_seconds: null,
      max_concurrent: null,
    }
    const tenant: Tenant = { name, ...empty, weight: 100, allow_commands: false, ...given, created_at: made }
    this.tenants.set(name, tenant)
    return Promise.resolve(tenant)
  }

  async change(name: string, patch: TenantPatch): Promise<Tenant> {
    const tenant = { ...(await this.get(name)), ...patch }
    this.tenants.set(name, tenant)
    return tenant
  }
}

export class MemoryAudit implements AuditPort {
  readonly asked: unknown[] = []

  list(tenant: number, query: PageQuery) {
    this.asked.push({ tenant, ...query })
    return Promise.resolve({ data: [], next_cursor: null })
  }
}
