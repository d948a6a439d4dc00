import pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { randomBytes } from 'node:crypto'
import { migrate } from '../../src/db/migrate.js'
import { type Caller, onBehalfOf, currentTenant } from '../../src/platform/caller.js'
import { uuidOf } from '../../src/platform/ids.js'
import { systemClock } from '../../src/platform/clock.js'
import { statement } from '../../src/db/statement.js'
import { Database } from '../../src/db/pool.js'
import { Registry } from '../../src/pipeline/register/registry.js'
import { administer, databaseUrl } from '../kit/global-postgres.js'
import { silentLog } from '../kit/test-database.js'
import { Tenant } from '../kit/tenants.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

const everyJob = statement<{ tenant: number; uuid: string }, { job: number }>(
  new URL('../../src/pipeline/register/find-job.sql', import.meta.url),
)

const backend = statement<Record<string, never>, { pid: number }>(
  new URL('../kit/backend.sql', import.meta.url),
)

function callerOf(tenant: number): Caller {
  return {
    tenant,
    tenantName: `tenant ${tenant}`,
    role: 'admin',
    actor: 'test',
    key: null,
    expiresAt: null,
    operation: 'test',
    requestId: 'req',
    signal: new AbortController().signal,
  }
}

/** Tables that carry a tenant, without the partitions of the ledger. */
async function walledTables(): Promise<{ name: string; nullable: boolean; forced: boolean }[]> {
  return house().query(
    `SELECT c.relname AS name, NOT a.attnotnull AS nullable, c.relrowsecurity AND c.relforcerowsecurity AS forced
     FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant' AND NOT a.attisdropped
     WHERE c.relnamespace = 'carillon'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
     ORDER BY 1`,
  )
}

/** A session as requests have it, with nothing of ours in front of the database. */
async function requestSession(tenant: number | null): Promise<pg.Client> {
  const session = await house().session()
  await session.query('SET ROLE carillon_api')
  if (tenant !== null) await session.query("SELECT set_config('carillon.tenant', $1, false)", [`${tenant}`])
  return session
}

async function crowd() {
  const node = await house().node()
  const mine = await Tenant.make(house(), { cap: 5 })
  const theirs = await Tenant.make(house(), { cap: 5 })
  const [a, b] = [await mine.register(node), await theirs.register(node)]
  await house().clock.advance(1_500)
  await node.beat()
  await node.firing.runOnce()
  return { node, mine, theirs, a, b }
}

describe('the second wall, with the first taken away:', () => {
  test('every table that carries a tenant has it, also for its owner', async () => {
    const tables = await walledTables()
    expect(tables.length).toBeGreaterThan(15)
    expect(tables.filter(({ forced }) => !forced)).toEqual([])
  })

  test('a select without a condition shows the rows of the tenant, and nobody else’s', async () => {
    const { mine, theirs } = await crowd()
    const session = await requestSession(mine.key)
    const seen = new Set<string>()
    for (const { name, nullable } of await walledTables()) {
      const { rows } = await session.query<{ tenant: number | null }>(
        ['SELECT tenant FROM carillon.', name].join(''),
      )
      const others = rows.filter(({ tenant }) => tenant !== mine.key && !(nullable && tenant === null))
      expect([name, others]).toEqual([name, []])
      if (rows.some(({ tenant }) => tenant === mine.key)) seen.add(name)
    }
    expect([...seen]).toEqual(expect.arrayContaining(['jobs', 'timers', 'queue', 'tenants', 'tenant_slots']))
    expect(theirs.key).not.toBe(mine.key)
  })

  test('a connection that was set to no tenant sees nothing', async () => {
    await crowd()
    const session = await requestSession(null)
    for (const { name, nullable } of await walledTables()) {
      const { rows } = await session.query<{ tenant: number | null }>(
        ['SELECT tenant FROM carillon.', name].join(''),
      )
      expect([name, rows.filter(({ tenant }) => tenant !== null || !nullable)]).toEqual([name, []])
    }
  })

  test('changes without a condition reach no row of another tenant, and none can be given to it', async () => {
    const { mine, theirs, b } = await crowd()
    const session = await requestSession(mine.key)
    await session.query("UPDATE carillon.jobs SET name = 'taken'")
    await session.query('DELETE FROM carillon.queue')
    await session.query('DELETE FROM carillon.timers')
    expect(await house().query('SELECT name FROM carillon.jobs WHERE tenant = $1', [theirs.key])).toEqual([
      { name: b.name },
    ])
    expect(
      await house().query('SELECT job FROM carillon.timers WHERE tenant = $1', [theirs.key]),
    ).toHaveLength(1)
    expect((await theirs.slots()).taken).toBe(0)
    await expect(session.query('UPDATE carillon.jobs SET tenant = $1', [theirs.key])).rejects.toMatchObject({
      code: '42501',
    })
    await expect(
      session.query(
        `INSERT INTO carillon.audit_log (tenant, actor, action, subject) VALUES ($1, 'x', 'x', 'x')`,
        [theirs.key],
      ),
    ).rejects.toMatchObject({ code: '42501' })
  })

  test('the parts of the ledger cannot be read past it', async () => {
    const session = await requestSession(1)
    await expect(session.query('SELECT * FROM carillon.ledger_default')).rejects.toMatchObject({
      code: '42501',
    })
  })

  test('nobody may alter the audit, or what every tenant shares', async () => {
    const session = await requestSession(1)
    for (const text of [
      'DELETE FROM carillon.audit_log',
      "UPDATE carillon.audit_log SET actor = 'me'",
      'DELETE FROM carillon.partitions',
      'DELETE FROM carillon.brake',
      'SELECT carillon.drop_ledger_days(current_date)',
    ]) {
      await expect(session.query(text)).rejects.toMatchObject({ code: '42501' })
    }
    const fleet = await house().session()
    await fleet.query('SET ROLE carillon_fleet')
    await expect(fleet.query('DELETE FROM carillon.audit_log')).rejects.toMatchObject({ code: '42501' })
  })

  test('the connections of the pool are confined to the caller, whatever tenant a statement is given', async () => {
    const { node, mine, theirs, a, b } = await crowd()
    const confined = node.database.confined('test', 2, currentTenant)
    const [uuid] = (
      await house().query<{ id: string }>('SELECT id FROM carillon.jobs WHERE job = $1', [b.key])
    ).map(({ id }) => id)
    const look = (tenant: number) => confined.run(everyJob, { tenant, uuid: uuid ?? '' })
    try {
      expect(await onBehalfOf(callerOf(theirs.key), () => look(theirs.key))).toHaveLength(1)
      expect(await onBehalfOf(callerOf(mine.key), () => look(theirs.key))).toEqual([])
      expect(await look(theirs.key)).toEqual([])
      // Many at once, over two connections: each is set to its own caller before it is asked.
      const mixed = await Promise.all(
        Array.from({ length: 40 }, (_, n) => {
          const tenant = n % 2 === 0 ? mine.key : theirs.key
          return onBehalfOf(callerOf(tenant), async () => (await look(theirs.key)).length)
        }),
      )
      expect(mixed).toEqual(mixed.map((_, n) => n % 2))
      const registry = new Registry({
        database: confined,
        databaseClock: node.databaseClock,
        minIntervalMs: 1_000,
        checkTarget: () => undefined,
        onChanged: () => undefined,
      })
      // The port is given the tenant of B in place of A's: the caller is A all the same.
      await onBehalfOf(callerOf(mine.key), async () => {
        await expect(registry.get(theirs.key, b.job_id)).rejects.toMatchObject({ code: 'job_not_found' })
        await expect(registry.delete(theirs.key, b.job_id)).rejects.toMatchObject({ code: 'job_not_found' })
        await expect(registry.pause(theirs.key, b.job_id)).rejects.toMatchObject({ code: 'job_not_found' })
        expect((await registry.list(theirs.key, { limit: 10, cursor: null })).data).toEqual([])
        await expect(
          registry.create(theirs.key, {
            name: 'x',
            schedule: '* * * * *',
            target: { type: 'task', task: 't' },
          }),
        ).rejects.toThrow()
        await expect(registry.get(mine.key, a.job_id)).resolves.toMatchObject({ job_id: a.job_id })
      })
      expect(await house().query('SELECT state FROM carillon.jobs WHERE tenant = $1', [theirs.key])).toEqual([
        { state: 'active' },
      ])
    } finally {
      await confined.close()
    }
  })

  test('a connection is kept after the server refused a statement, and is still confined', async () => {
    const { node, mine, theirs, a } = await crowd()
    const confined = node.database.confined('kept', 1, currentTenant)
    const uuid = uuidOf(a.job_id) ?? ''
    try {
      await onBehalfOf(callerOf(mine.key), async () => {
        const before = await confined.run(backend, {})
        const refused = confined.run(everyJob, { tenant: mine.key, uuid: 'none' })
        await expect(refused).rejects.toMatchObject({ code: '22P02' })
        expect(await confined.run(backend, {})).toEqual(before)
        expect(await confined.run(everyJob, { tenant: mine.key, uuid })).toHaveLength(1)
      })
      const look = () => confined.run(everyJob, { tenant: mine.key, uuid })
      expect(await onBehalfOf(callerOf(theirs.key), look)).toEqual([])
    } finally {
      await confined.close()
    }
  })

  test('a table that comes later has it after the next run of migrations', async () => {
    const session = await house().session()
    await session.query('CREATE TABLE carillon.later (tenant int NOT NULL, secret text)')
    try {
      await session.query('SELECT carillon.raise_walls()')
      expect((await walledTables()).find(({ name }) => name === 'later')).toMatchObject({ forced: true })
      await session.query("INSERT INTO carillon.later VALUES (1, 'a'), (2, 'b')")
      const request = await requestSession(2)
      expect((await request.query('SELECT secret FROM carillon.later')).rows).toEqual([{ secret: 'b' }])
    } finally {
      await session.query('DROP TABLE carillon.later')
    }
  })

  test('what is complete is not touched again: no table is locked', async () => {
    const holder = await house().session()
    await holder.query('BEGIN; LOCK TABLE carillon.jobs, carillon.queue IN ACCESS SHARE MODE')
    const session = await house().session()
    await session.query("SET lock_timeout = '1s'")
    await session.query('SELECT carillon.raise_walls()')
    await holder.query('ROLLBACK')
  })
})

describe('a server works as a role without rights of its own', () => {
  test('neither role is a superuser or may pass by row-level security', async () => {
    const rows = await house().query(
      `SELECT rolname, rolsuper OR rolbypassrls OR rolcanlogin OR rolcreaterole AS strong FROM pg_roles
       WHERE rolname IN ('carillon_api', 'carillon_fleet') ORDER BY 1`,
    )
    expect(rows).toEqual([
      { rolname: 'carillon_api', strong: false },
      { rolname: 'carillon_fleet', strong: false },
    ])
  })

  test('and its pool has the role from the first statement on', async () => {
    const who = statement<Record<string, never>, { role: string }>(
      new URL('../kit/current-role.sql', import.meta.url),
    )
    const node = await house().node()
    const confined = node.database.confined('test', 1, () => 1)
    expect(await node.database.run(who, {})).toEqual([{ role: 'carillon_fleet' }])
    expect(await confined.run(who, {})).toEqual([{ role: 'carillon_api' }])
    await confined.close()
  })
})

describe('a login that is no superuser', () => {
  const login = `carillon_login_${randomBytes(4).toString('hex')}`
  const database = `carillon_walls_${randomBytes(4).toString('hex')}`
  let url: string

  beforeAll(async () => {
    const server = inject('postgresUrl')
    await administer(
      server,
      `CREATE ROLE ${login} LOGIN PASSWORD 'pw'`,
      `CREATE DATABASE ${database} OWNER ${login}`,
    )
    const own = new URL(databaseUrl(server, database))
    own.username = login
    own.password = 'pw'
    url = own.href
  })

  afterAll(async () => {
    await administer(
      inject('postgresUrl'),
      `DROP DATABASE ${database} WITH (FORCE)`,
      `DROP OWNED BY ${login}`,
      `DROP ROLE ${login}`,
    )
  })

  async function migrated(): Promise<void> {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    try {
      await migrate(client, systemClock)
    } finally {
      await client.end()
    }
  }

  test('is told exactly which SQL an administrator has to run, and starts after it', async () => {
    // The roles are there, from the other databases of this server: what is missing is the grant.
    const failure = await migrated().then(
      () => null,
      (error: Error) => error.message,
    )
    expect(failure).toContain(`GRANT carillon_fleet, carillon_api TO ${login};`)
    expect(failure).toContain('CREATE ROLE carillon_fleet NOLOGIN')
    await administer(inject('postgresUrl'), `GRANT carillon_fleet, carillon_api TO ${login}`)
    await migrated()
    await migrated()
    const fleet = new Database({
      url,
      poolSize: 1,
      statementTimeoutMs: 5_000,
      applicationName: 'test',
      log: silentLog,
    })
    const found = await fleet.run(
      statement<{ tenant: number }, { present: boolean }>(
        new URL('../../src/pipeline/access/has-admin-key.sql', import.meta.url),
      ),
      { tenant: 1 },
    )
    expect(found).toEqual([{ present: false }])
    const confined = fleet.confined('test', 1, () => null)
    const seen = await confined.run(
      statement<{ tenant: number }, object>(
        new URL('../../src/pipeline/register/tenant-settings.sql', import.meta.url),
      ),
      { tenant: 1 },
    )
    expect(seen).toEqual([])
    await Promise.all([fleet.close(), confined.close()])
  })
})
