import type {
  ApiKeyList,
  AuditList,
  KeyInput,
  RevealedKey,
  Role,
  RotateKeyInput,
  Tenant,
  TenantInput,
  TenantList,
  TenantPatch,
} from '@carillon/contract'
import type { PageQuery } from './page.js'

/** Who has a key. */
export interface AccessPort {
  /** Whether a call without a key is refused; else it is an admin's of the tenant `default`. */
  readonly required: boolean
  identify(key: string): Promise<{
    tenant: number
    tenantName: string
    role: Role
    name: string
    key: string
    expiresAt: number | null
  } | null>
  /** Aborts within a second after the key opens no more. */
  watch(key: string): { signal: AbortSignal; release: () => void }
}

/** Only `create` and `rotate` answer a key. */
export interface KeysPort {
  create(tenant: number, input: Omit<KeyInput, 'tenant'>): Promise<RevealedKey>
  /** In a tenant by its name, on behalf of the fleet's admin. */
  createFor(tenantName: string, input: Omit<KeyInput, 'tenant'>): Promise<RevealedKey>
  list(tenant: number, query: PageQuery): Promise<ApiKeyList>
  rotate(tenant: number, keyId: string, input: RotateKeyInput): Promise<RevealedKey>
  revoke(tenant: number, keyId: string): Promise<void>
}

/** For the fleet's admins alone: no tenant is named, because all are meant. */
export interface TenantsPort {
  list(query: PageQuery): Promise<TenantList>
  get(name: string): Promise<Tenant>
  create(input: TenantInput): Promise<Tenant>
  change(name: string, patch: TenantPatch): Promise<Tenant>
}

export interface AuditFilter {
  actor?: string
  action?: string
  subject?: string
  after?: string
  before?: string
}

export interface AuditPort {
  list(tenant: number, query: PageQuery & AuditFilter): Promise<AuditList>
}
