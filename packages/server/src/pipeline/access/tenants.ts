import {
  CarillonError,
  type Tenant,
  type TenantInput,
  type TenantList,
  type TenantPatch,
} from '@carillon/contract'
import { isUniqueViolation } from '../../db/errors.js'
import type { Database, Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { audit } from '../audit.js'
import { utcText } from '../../time/iso-text.js'

interface TenantRow extends Omit<Tenant, 'created_at'> {
  tenant: number
  created_at: number
}

const listStatement = statement<{ name: string | null; after: string; most: number }, TenantRow>(
  new URL('./list-tenants.sql', import.meta.url),
)
const createStatement = statement<
  Pick<
    Tenant,
    'name' | 'max_jobs' | 'create_per_second' | 'min_interval_seconds' | 'weight' | 'allow_commands'
  >,
  { tenant: number }
>(new URL('./create-tenant.sql', import.meta.url))
const changeStatement = statement<{ name: string; changes: string }, { tenant: number }>(
  new URL('./change-tenant.sql', import.meta.url),
)
const capStatement = statement<{ tenant: number; most: number | null }, { done: boolean }>(
  new URL('./cap-tenant.sql', import.meta.url),
)

const defaultWeight = 100

export interface TenantsOptions {
  /** Of the fleet: tenants are seen from outside all of them. */
  database: Database
  /** Whose log the changes are noted in: the tenant of the fleet's admins. */
  home: number
  /** Makes what a new tenant has from its beginning, in the same transaction. */
  furnish: (runner: Runner, tenant: number) => Promise<void>
}

/** The tenants of a fleet. They are made by its admins and never removed. */
export class Tenants {
  constructor(private readonly options: TenantsOptions) {}

  async create({ name, max_concurrent: cap, ...given }: TenantInput): Promise<Tenant> {
    const { database, home, furnish } = this.options
    await database
      .transaction(async (runner) => {
        const [made] = await runner.run(createStatement, {
          name,
          max_jobs: given.max_jobs ?? null,
          create_per_second: given.create_per_second ?? null,
          min_interval_seconds: given.min_interval_seconds ?? null,
          weight: given.weight ?? defaultWeight,
          allow_commands: given.allow_commands ?? false,
        })
        if (made === undefined) throw new Error(`The tenant ${name} was not stored.`)
        await furnish(runner, made.tenant)
        await audit(runner, {
          tenant: home,
          subject: name,
          detail: { ...given, max_concurrent: cap ?? null },
        })
        if (cap !== undefined && cap !== null)
          await runner.run(capStatement, { tenant: made.tenant, most: cap })
      })
      .catch((error: unknown) => {
        throw isUniqueViolation(error, 'tenants_name_key') ? nameTaken(name, error) : error
      })
    return this.get(name)
  }

  async list({ limit, cursor }: { limit: number; cursor: string | null }): Promise<TenantList> {
    const rows = await this.options.database.run(listStatement, {
      name: null,
      after: cursor === null ? '' : decodeName(cursor),
      most: limit + 1,
    })
    const page = rows.slice(0, limit)
    const last = page.at(-1)
    const more = rows.length > limit && last !== undefined
    return { data: page.map(view), next_cursor: more ? encodeName(last.name) : null }
  }

  async get(name: string): Promise<Tenant> {
    return view(await this.find(name))
  }

  async keyOf(name: string): Promise<number> {
    return (await this.find(name)).tenant
  }

  /** The cap last: the first one waits for the queue, and everybody behind it for this transaction. */
  async change(name: string, { max_concurrent: cap, ...changes }: TenantPatch): Promise<Tenant> {
    const { database, home } = this.options
    const before = await this.find(name)
    await database.transaction(async (runner) => {
      const [changed] = await runner.run(changeStatement, { name, changes: JSON.stringify(changes) })
      if (changed === undefined) throw notFound(name)
      const given = { ...changes, ...(cap !== undefined && { max_concurrent: cap }) }
      const detail = Object.fromEntries(
        Object.entries(given).map(([field, to]) => [field, { from: before[field as keyof TenantRow], to }]),
      )
      await audit(runner, { tenant: home, subject: name, detail })
      if (cap !== undefined) await runner.run(capStatement, { tenant: changed.tenant, most: cap })
    })
    return this.get(name)
  }

  private async find(name: string): Promise<TenantRow> {
    // The database takes no NUL in a text.
    if (name.includes('\0')) throw notFound(name)
    const [row] = await this.options.database.run(listStatement, { name, after: '', most: 1 })
    if (row === undefined) throw notFound(name)
    return row
  }
}

function view({ tenant: _key, created_at: createdAt, ...row }: TenantRow): Tenant {
  return { ...row, created_at: utcText(createdAt) }
}

function notFound(name: string): CarillonError {
  return new CarillonError('tenant_not_found', {
    detail: `There is no tenant ${JSON.stringify(name.slice(0, 64))}.`,
  })
}

function nameTaken(name: string, cause: unknown): CarillonError {
  return new CarillonError('tenant_name_taken', {
    detail: `A tenant is named ${JSON.stringify(name)} already.`,
    errors: [{ pointer: '/name', message: 'is taken by a tenant' }],
    cause,
  })
}

function encodeName(name: string): string {
  return Buffer.from(name).toString('base64url')
}

function decodeName(cursor: string): string {
  const name = Buffer.from(cursor, 'base64url').toString('utf8')
  if (/^[a-z0-9-]+$/.test(name)) return name
  throw new CarillonError('invalid_cursor', {
    errors: [{ pointer: 'query:cursor', message: 'is no cursor of this list' }],
  })
}
