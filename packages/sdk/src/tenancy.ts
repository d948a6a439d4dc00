import type {
  ApiKey,
  AuditEntry,
  AuditQuery,
  KeyInput,
  Page,
  RevealedKey,
  Self,
  Tenant,
  TenantInput,
} from '@carillon/contract'
import { type CallApi, pages, pathTo } from './paths.js'

type PageQuery = { limit?: number; cursor?: string }

export interface TenancyCalls {
  readonly keys: {
    /** The key that this client calls with. */
    self(): Promise<Self>
    list(page?: PageQuery): Promise<Page<ApiKey>>
    iterate(page?: { limit?: number }): AsyncGenerator<ApiKey, void, undefined>
    /** The key itself is in this answer and in no other. */
    create(input: KeyInput): Promise<RevealedKey>
    /** A new secret under the same name. The old one is valid for `overlap_seconds` more. */
    rotate(keyId: string, input?: { overlap_seconds?: number }): Promise<RevealedKey>
    revoke(keyId: string): Promise<void>
  }
  readonly tenants: {
    list(page?: PageQuery): Promise<Page<Tenant>>
    iterate(page?: { limit?: number }): AsyncGenerator<Tenant, void, undefined>
    create(input: TenantInput): Promise<Tenant>
    get(name: string): Promise<Tenant>
    edit(name: string, patch: Partial<Omit<TenantInput, 'name'>>): Promise<Tenant>
  }
  /** Every change that somebody made, the newest first. */
  readonly audit: {
    list(query?: AuditQuery & { cursor?: string }): Promise<Page<AuditEntry>>
    iterate(query?: AuditQuery): AsyncGenerator<AuditEntry, void, undefined>
  }
}

const keysPath = '/api/v1/keys'
const tenantsPath = '/api/v1/tenants'
const auditPath = '/api/v1/audit'

export function tenancyCalls(call: CallApi): TenancyCalls {
  return { keys: keyCalls(call), tenants: tenantCalls(call), audit: auditCalls(call) }
}

function keyCalls(call: CallApi): TenancyCalls['keys'] {
  const pathOf = (id: string) => pathTo(keysPath, id, 'the id of a key')
  const list: TenancyCalls['keys']['list'] = (page = {}) =>
    call<Page<ApiKey>>({ method: 'GET', path: keysPath, query: { ...page } })
  return {
    self: () => call<Self>({ method: 'GET', path: `${keysPath}/self` }),
    list,
    iterate: (page = {}) => pages(list, page),
    create: (input) => call<RevealedKey>({ method: 'POST', path: keysPath, body: input }),
    rotate: async (id, input = {}) =>
      await call<RevealedKey>({ method: 'POST', path: `${pathOf(id)}/rotate`, body: input }),
    async revoke(id) {
      await call({ method: 'DELETE', path: pathOf(id) })
    },
  }
}

function tenantCalls(call: CallApi): TenancyCalls['tenants'] {
  const pathOf = (name: string) => pathTo(tenantsPath, name, 'the name of a tenant')
  const list: TenancyCalls['tenants']['list'] = (page = {}) =>
    call<Page<Tenant>>({ method: 'GET', path: tenantsPath, query: { ...page } })
  return {
    list,
    iterate: (page = {}) => pages(list, page),
    create: (input) => call<Tenant>({ method: 'POST', path: tenantsPath, body: input }),
    get: async (name) => await call<Tenant>({ method: 'GET', path: pathOf(name) }),
    edit: async (name, patch) => await call<Tenant>({ method: 'PATCH', path: pathOf(name), body: patch }),
  }
}

function auditCalls(call: CallApi): TenancyCalls['audit'] {
  const list: TenancyCalls['audit']['list'] = (query = {}) =>
    call<Page<AuditEntry>>({ method: 'GET', path: auditPath, query: { ...query } })
  return { list, iterate: (query = {}) => pages(list, query) }
}
