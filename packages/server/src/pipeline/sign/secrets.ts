import {
  CarillonError,
  limits,
  type RevealedSigningSecret,
  type RotateInput,
  type SigningSecret,
} from '@carillon/contract'
import type { Database, Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { newUuid, secretIdOf, uuidOfSecret } from '../../platform/ids.js'
import { newSecret, secretText } from '../../targets/signing.js'
import { audit } from '../audit.js'
import { everywhereWithinMs, type SigningKey } from './secret-cache.js'
import { utcText } from '../../time/iso-text.js'

interface SecretRow {
  id: string
  secret: Buffer
  created_at: number
  retires_at: number | null
}

const ensureStatement = statement<{ tenants: number[]; ids: string[]; secrets: Buffer[] }, never>(
  new URL('./ensure-secrets.sql', import.meta.url),
)
const readStatement = statement<{ tenants: number[] }, SecretRow & { tenant: number }>(
  new URL('./read-secrets.sql', import.meta.url),
)
const listStatement = statement<{ tenant: number }, Omit<SecretRow, 'secret'> & { ending: string }>(
  new URL('./list-secrets.sql', import.meta.url),
)
const lockStatement = statement<{ tenant: number }, { tenant: number }>(
  new URL('./lock-secrets.sql', import.meta.url),
)
const rotateStatement = statement<
  { tenant: number; id: string; secret: Buffer; overlap_ms: number; most: number },
  SecretRow
>(new URL('./rotate-secret.sql', import.meta.url))
const retireStatement = statement<{ tenant: number; id: string }, { current: boolean }>(
  new URL('./retire-secret.sql', import.meta.url),
)

const defaultOverlapSeconds = 86_400

/** The secrets that webhooks of a tenant are signed with. A tenant that has none is given one when it is asked for. */
export class Secrets {
  constructor(private readonly database: Database) {}

  /** Makes the first secret of each of these tenants, where it has none. */
  async ensure(tenants: readonly number[], runner: Runner = this.database): Promise<void> {
    await runner.run(ensureStatement, {
      tenants: [...tenants],
      ids: tenants.map(() => newUuid()),
      secrets: tenants.map(() => newSecret()),
    })
  }

  /** What to sign with, of each tenant the current one first. A tenant that does not exist is not in the answer. */
  async keysOf(tenants: readonly number[]): Promise<Map<number, SigningKey[]>> {
    const known = await this.readKeys(tenants)
    const without = tenants.filter((tenant) => !known.has(tenant))
    if (without.length === 0) return known
    await this.ensure(without)
    return new Map([...known, ...(await this.readKeys(without))])
  }

  async list(tenant: number): Promise<{ data: SigningSecret[] }> {
    await this.ensure([tenant])
    const rows = await this.database.run(listStatement, { tenant })
    return { data: rows.map(({ ending, ...row }) => shown(row, ending)) }
  }

  /** The one that new receivers are given, in clear. */
  async current(tenant: number): Promise<RevealedSigningSecret> {
    await this.ensure([tenant])
    const [row] = await this.database.run(readStatement, { tenants: [tenant] })
    if (row === undefined) throw new Error(`The tenant ${tenant} has no signing secret.`)
    // Nothing is changed, but who knows it can sign.
    await audit(this.database, { tenant, subject: secretIdOf(row.id) })
    return revealed(row)
  }

  /** Answers the new one, in clear. The one before goes on signing beside it for the overlap. */
  async rotate(tenant: number, input: RotateInput): Promise<RevealedSigningSecret> {
    const row = await this.database.transaction(async (runner) => {
      await runner.run(lockStatement, { tenant })
      await this.ensure([tenant], runner)
      const [made] = await runner.run(rotateStatement, {
        tenant,
        id: newUuid(),
        secret: newSecret(),
        overlap_ms: (input.overlap_seconds ?? defaultOverlapSeconds) * 1000,
        most: limits.signingSecrets,
      })
      const detail = { overlap_seconds: input.overlap_seconds ?? defaultOverlapSeconds }
      if (made !== undefined) await audit(runner, { tenant, subject: secretIdOf(made.id), detail })
      return made
    })
    if (row === undefined) {
      throw new CarillonError('too_many_signing_secrets', {
        detail: `At most ${limits.signingSecrets} secrets sign at once, and this would be one more.`,
      })
    }
    return revealed(row)
  }

  /** Ends one that retires, at once. */
  async retire(tenant: number, secretId: string): Promise<void> {
    const id = uuidOfSecret(secretId)
    const row = id === null ? undefined : await this.retireById(tenant, id)
    if (row === undefined) throw new CarillonError('signing_secret_not_found')
    if (row.current) throw new CarillonError('signing_secret_current')
  }

  private retireById(tenant: number, id: string) {
    return this.database.transaction(async (runner) => {
      const [row] = await runner.run(retireStatement, { tenant, id })
      if (row?.current === false) await audit(runner, { tenant, subject: secretIdOf(id) })
      return row
    })
  }

  private async readKeys(tenants: readonly number[]): Promise<Map<number, SigningKey[]>> {
    const keys = new Map<number, SigningKey[]>()
    for (const { tenant, secret, retires_at } of await this.database.run(readStatement, {
      tenants: [...tenants],
    })) {
      const all = keys.get(tenant) ?? []
      keys.set(tenant, all)
      all.push({ secret, retiresAt: retires_at })
    }
    return keys
  }
}

function shown({ id, created_at, retires_at }: Omit<SecretRow, 'secret'>, ending: string): SigningSecret {
  return {
    id: secretIdOf(id),
    hint: `whsec_…${ending}`,
    created_at: utcText(created_at),
    retires_at: retires_at === null ? null : utcText(retires_at),
    signs_by: utcText(created_at + everywhereWithinMs),
  }
}

function revealed(row: SecretRow): RevealedSigningSecret {
  const secret = secretText(row.secret)
  return { ...shown(row, secret.slice(-5)), secret }
}
