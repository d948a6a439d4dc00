import {
  type ApiKey,
  type ApiKeyList,
  CarillonError,
  type KeyInput,
  type RevealedKey,
  type Role,
  type RotateKeyInput,
} from '@carillon/contract'
import { isUniqueViolation } from '../../db/errors.js'
import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { keyIdOf, newUuid, uuidOfKey } from '../../platform/ids.js'
import { hashOfKey, newKey } from '../../platform/key.js'
import { audit } from '../audit.js'
import { instantOf } from '../instant-of.js'
import { utcText } from '../../time/iso-text.js'

interface KeyRow {
  key_id: string
  name: string
  role: Role
  created_at: number
  expires_at: number | null
  revoked_at: number | null
  rotated_at: number | null
  previous_expires_at: number | null
  now: number
}

const createStatement = statement<
  { id: string; tenant: number; name: string; role: Role; hash: Buffer; expires_at: number | null },
  KeyRow
>(new URL('./create-key.sql', import.meta.url))
const listStatement = statement<
  { tenant: number; id: string | null; before: string | null; most: number },
  KeyRow
>(new URL('./list-keys.sql', import.meta.url))
const rotateStatement = statement<
  {
    tenant: number
    id: string
    hash: Buffer
    overlap_ms: number
    change_end: boolean
    expires_at: number | null
  },
  KeyRow
>(new URL('./rotate-key.sql', import.meta.url))
const revokeStatement = statement<{ tenant: number; id: string }, { name: string; role: Role }>(
  new URL('./revoke-key.sql', import.meta.url),
)
const hasAdminStatement = statement<{ tenant: number }, { present: boolean }>(
  new URL('./has-admin-key.sql', import.meta.url),
)

const defaultOverlapSeconds = 86_400
/** What the audit calls those who need no key. */
const reservedNames = new Set(['local'])

/** The keys of tenants. A key is shown when it is made or rotated; what is kept of it is its hash. */
export class Keys {
  constructor(private readonly database: Database) {}

  async create(
    tenant: number,
    { name, role, expires_at: end }: Omit<KeyInput, 'tenant'>,
  ): Promise<RevealedKey> {
    if (reservedNames.has(name.trim().toLowerCase())) {
      throw refused('/name', 'is reserved for callers that need no key')
    }
    const key = newKey()
    const row = await this.database
      .transaction(async (runner) => {
        const [made] = await runner.run(createStatement, {
          id: newUuid(),
          tenant,
          name,
          role,
          hash: hashOfKey(key),
          expires_at: instantOf(end, '/expires_at'),
        })
        if (made === undefined) throw refused('/expires_at', 'has passed already')
        const { key_id: id, expires_at: expiresAt } = made
        await audit(runner, {
          tenant,
          subject: keyIdOf(id),
          detail: { name, role, expires_at: iso(expiresAt) },
        })
        return made
      })
      .catch((error: unknown) => {
        throw isUniqueViolation(error, 'api_keys_live_name') ? nameTaken(name, error) : error
      })
    return { ...view(row), key }
  }

  async list(tenant: number, query: { limit: number; cursor: string | null }): Promise<ApiKeyList> {
    const before = query.cursor === null ? null : uuidOfKey(query.cursor)
    if (query.cursor !== null && before === null) {
      throw new CarillonError('invalid_cursor', {
        errors: [{ pointer: 'query:cursor', message: 'is no cursor of this list' }],
      })
    }
    const rows = await this.database.run(listStatement, { tenant, id: null, before, most: query.limit + 1 })
    const page = rows.slice(0, query.limit)
    const last = page.at(-1)
    const more = rows.length > query.limit && last !== undefined
    return { data: page.map(view), next_cursor: more ? keyIdOf(last.key_id) : null }
  }

  /** Answers the new secret. The id, the name and the role stay. */
  async rotate(tenant: number, keyId: string, input: RotateKeyInput): Promise<RevealedKey> {
    const id = requireUuid(keyId)
    const key = newKey()
    const overlapSeconds = input.overlap_seconds ?? defaultOverlapSeconds
    const expiresAt = instantOf(input.expires_at, '/expires_at')
    const row = await this.database.transaction(async (runner) => {
      const [rotated] = await runner.run(rotateStatement, {
        tenant,
        id,
        hash: hashOfKey(key),
        overlap_ms: overlapSeconds * 1000,
        change_end: input.expires_at !== undefined,
        expires_at: expiresAt,
      })
      if (rotated === undefined) return undefined
      const detail = { overlap_seconds: overlapSeconds, expires_at: iso(rotated.expires_at) }
      await audit(runner, { tenant, subject: keyId, detail: { name: rotated.name, ...detail } })
      return rotated
    })
    if (row !== undefined) return { ...view(row), key }
    const { state } = await this.get(tenant, id)
    if (state === 'active') throw refused('/expires_at', 'has passed already')
    throw new CarillonError('key_ended', { detail: `The key ${keyId} is ${state}.` })
  }

  /** It opens nothing any more, on any node, a second from now. Once more changes nothing. */
  async revoke(tenant: number, keyId: string): Promise<void> {
    const id = requireUuid(keyId)
    const done = await this.database.transaction(async (runner) => {
      const [revoked] = await runner.run(revokeStatement, { tenant, id })
      if (revoked !== undefined) await audit(runner, { tenant, subject: keyId, detail: revoked })
      return revoked !== undefined
    })
    if (!done) await this.get(tenant, id)
  }

  /** Whether an admin of this tenant could get in by a key. */
  async hasAdmin(tenant: number): Promise<boolean> {
    const [row] = await this.database.run(hasAdminStatement, { tenant })
    return row?.present ?? false
  }

  private async get(tenant: number, id: string): Promise<ApiKey> {
    const [row] = await this.database.run(listStatement, { tenant, id, before: null, most: 1 })
    if (row === undefined) throw notFound(keyIdOf(id))
    return view(row)
  }
}

function view(row: KeyRow): ApiKey {
  const { key_id: id, name, role, now, expires_at: end, previous_expires_at: previous } = row
  const expired = end !== null && end <= now
  return {
    key_id: keyIdOf(id),
    name,
    role,
    state: row.revoked_at !== null ? 'revoked' : expired ? 'expired' : 'active',
    created_at: utcText(row.created_at),
    expires_at: iso(end),
    revoked_at: iso(row.revoked_at),
    rotated_at: iso(row.rotated_at),
    previous_expires_at: previous !== null && previous > now ? iso(previous) : null,
  }
}

function requireUuid(keyId: string): string {
  const id = uuidOfKey(keyId)
  if (id === null) throw notFound(keyId)
  return id
}

function notFound(keyId: string): CarillonError {
  return new CarillonError('key_not_found', {
    // Somebody may have sent the key itself in place of its id: it is not repeated.
    detail: `There is no key ${JSON.stringify(keyId.slice(0, 12))}….`,
  })
}

function nameTaken(name: string, cause: unknown): CarillonError {
  return new CarillonError('key_name_taken', {
    detail: `A live key is named ${JSON.stringify(name)} already.`,
    errors: [{ pointer: '/name', message: 'is taken by a live key' }],
    cause,
  })
}

function refused(pointer: string, message: string): CarillonError {
  return new CarillonError('validation_failed', {
    detail: `${pointer.slice(1)} ${message}.`,
    errors: [{ pointer, message }],
  })
}

function iso(ms: number | null): string | null {
  return ms === null ? null : utcText(ms)
}
