import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loadConfig } from '../../src/config.js'
import { createKey, type RunningServer, startServer } from '../../src/main.js'
import { openApi } from '../kit/api-house.js'
import { createTestDatabase, silentLog, type TestDatabase } from '../kit/test-database.js'
import { until } from '../kit/until.js'
import { useHouse } from '../kit/use-house.js'
import { utcText } from '../../src/time/iso-text.js'

const house = useHouse()

async function open() {
  const api = await openApi(house(), await house().node())
  const admin = await api.key('admin')
  const make = async (body: object) =>
    (await api.ask('POST', '/keys', { key: admin, body })).body as unknown as Made
  const opens = async (key: string) => (await api.ask('GET', '/keys/self', { key })).status === 200
  /** So long as a look at a key is believed. */
  const forget = () => house().clock.advance(501)
  return { api, admin, make, opens, forget }
}

interface Made {
  key: string
  key_id: string
  state: string
}

describe('a key', () => {
  test('is shown once and stored as a hash', async () => {
    const { api, admin, make, opens } = await open()
    const { key, key_id: id } = await make({ name: 'ci', role: 'operator' })
    expect(key).toMatch(/^car_[\w-]{43}$/)
    expect(await opens(key)).toBe(true)
    const { body } = await api.ask('GET', '/keys', { key: admin })
    expect(JSON.stringify(body)).not.toContain(key)
    expect(body['data']).toContainEqual(
      expect.objectContaining({ key_id: id, name: 'ci', role: 'operator', state: 'active' }),
    )
    const rows = await house().query<{ text: string }>('SELECT k::text AS text FROM carillon.api_keys k')
    expect(rows.some(({ text }) => text.includes(key.slice(4)))).toBe(false)
  })

  test('opens nothing after its end', async () => {
    const { make, opens, forget } = await open()
    const end = utcText((await house().now()) + 60_000)
    const { key } = await make({ name: 'short', role: 'viewer', expires_at: end })
    expect(await opens(key)).toBe(true)
    await house().clock.advance(60_000)
    await forget()
    expect(await opens(key)).toBe(false)
  })

  test.each([
    ['an end that has passed', { name: 'x', role: 'viewer', expires_at: '2020-01-01T00:00:00Z' }],
    ['an end without an offset', { name: 'x', role: 'viewer', expires_at: '2030-01-01T00:00:00' }],
    ['a role that there is not', { name: 'x', role: 'root' }],
    ['the name of those without a key', { name: 'Local', role: 'viewer' }],
    ['an empty name', { name: ' ', role: 'viewer' }],
  ])('is not made with %s', async (_what, body) => {
    const { api, admin } = await open()
    expect((await api.ask('POST', '/keys', { key: admin, body })).status).toBe(422)
  })

  test('has a name of its own among the live ones', async () => {
    const { api, admin, make } = await open()
    const { key_id: id } = await make({ name: 'ci', role: 'viewer' })
    const again = { key: admin, body: { name: 'ci', role: 'viewer' } }
    expect((await api.ask('POST', '/keys', again)).body).toMatchObject({ code: 'key_name_taken' })
    await api.ask('DELETE', `/keys/${id}`, { key: admin })
    expect((await api.ask('POST', '/keys', again)).status).toBe(201)
  })

  test('is rotated with an overlap: the secret before opens until that is over, the one before that no more', async () => {
    const { api, admin, make, opens, forget } = await open()
    const first = await make({ name: 'ci', role: 'viewer' })
    const rotate = async (body: object) =>
      (await api.ask('POST', `/keys/${first.key_id}/rotate`, { key: admin, body })).body as unknown as Made
    const second = await rotate({ overlap_seconds: 60 })
    await forget()
    expect([await opens(first.key), await opens(second.key)]).toEqual([true, true])
    const third = await rotate({ overlap_seconds: 60 })
    await forget()
    expect([await opens(first.key), await opens(second.key), await opens(third.key)]).toEqual([
      false,
      true,
      true,
    ])
    await house().clock.advance(60_000)
    expect([await opens(second.key), await opens(third.key)]).toEqual([false, true])
    const last = await rotate({ overlap_seconds: 0 })
    await forget()
    expect([await opens(third.key), await opens(last.key)]).toEqual([false, true])
    expect(last.key_id).toBe(first.key_id)
  })

  test('that was revoked takes its overlap with it, and cannot be rotated back', async () => {
    const { api, admin, make, opens, forget } = await open()
    const first = await make({ name: 'ci', role: 'viewer' })
    const path = `/keys/${first.key_id}`
    const second = (await api.ask('POST', `${path}/rotate`, { key: admin, body: {} })).body as unknown as Made
    expect((await api.ask('DELETE', path, { key: admin })).status).toBe(204)
    await forget()
    expect([await opens(first.key), await opens(second.key)]).toEqual([false, false])
    expect((await api.ask('POST', `${path}/rotate`, { key: admin, body: {} })).body).toMatchObject({
      code: 'key_ended',
    })
    expect((await api.ask('DELETE', path, { key: admin })).status).toBe(204)
  })

  test('whose answers go on ends them when it is revoked, and not those that were answered', async () => {
    const { api, admin, make } = await open()
    const { key, key_id: id } = await make({ name: 'stream', role: 'viewer' })
    const going = api.ring.watch(key)
    const answered = api.ring.watch(key)
    answered.release()
    await api.ring.runOnce()
    expect(going.signal.aborted).toBe(false)
    await api.ask('DELETE', `/keys/${id}`, { key: admin })
    await api.ring.runOnce()
    expect(going.signal.aborted).toBe(true)
    expect(going.signal.reason).toMatchObject({ code: 'unauthenticated' })
    expect(answered.signal.aborted).toBe(false)
  })
})

describe('tenants', () => {
  test('register programs to run only where an admin of the fleet allows it, and no edit gets round that', async () => {
    const { api, admin } = await open()
    const name = `programs-${Math.random().toString(36).slice(2)}`
    const theirs = await api.tenant(name)
    const target = { type: 'command', argv: ['/bin/true'] }
    const job = (of: string) => ({ name: of, schedule: '@every 1h', target })
    const create = async (key: string, of: string) =>
      (await api.ask('POST', '/jobs', { key, body: job(of) })).status
    expect(await create(admin, 'program')).toBe(201)
    const refused = await api.ask('POST', '/jobs', { key: theirs, body: job('program') })
    expect(refused).toMatchObject({ status: 422, body: { code: 'invalid_target' } })
    const plain = { ...job('plain'), target: { type: 'task', task: 't' } }
    const bulk = await api.ask('POST', '/jobs/bulk', { key: theirs, body: { jobs: [job('program'), plain] } })
    expect(bulk.body).toMatchObject({
      created: 1,
      failed: 1,
      results: [{ status: 'failed' }, { status: 'created' }],
    })
    const edit = async () =>
      (await api.ask('PUT', '/jobs/by-name/plain', { key: theirs, body: job('plain') })).status
    expect(await edit()).toBe(422)
    const allow = { key: theirs, body: { allow_commands: true } }
    expect((await api.ask('PATCH', `/tenants/${name}`, allow)).status).toBe(403)
    const allowed = await api.ask('PATCH', `/tenants/${name}`, { ...allow, key: admin })
    expect(allowed.body).toMatchObject({ allow_commands: true })
    expect([await create(theirs, 'program'), await edit()]).toEqual([201, 200])
  })

  test('are made with quotas, weight and cap, have a first key and a signing secret, and are changed', async () => {
    const { api, admin, make } = await open()
    const name = `acme-${Math.random().toString(36).slice(2)}`
    const made = await api.ask('POST', '/tenants', {
      key: admin,
      body: { name, max_jobs: 5, max_concurrent: 3 },
    })
    expect(made).toMatchObject({ status: 201, body: { name, max_jobs: 5, weight: 100, max_concurrent: 3 } })
    const again = await api.ask('POST', '/tenants', { key: admin, body: { name } })
    expect(again.body).toMatchObject({ code: 'tenant_name_taken' })
    const { key } = await make({ name: 'first', role: 'admin', tenant: name })
    expect((await api.ask('GET', '/keys/self', { key })).body).toMatchObject({ tenant: name, role: 'admin' })
    const secrets = await house().query(
      'SELECT 1 AS one FROM carillon.signing_secrets JOIN carillon.tenants USING (tenant) WHERE name = $1',
      [name],
    )
    expect(secrets).toHaveLength(1)
    const body = { weight: 300, max_concurrent: null, create_per_second: 2.5, max_jobs: null }
    expect((await api.ask('PATCH', `/tenants/${name}`, { key: admin, body })).body).toMatchObject({
      name,
      ...body,
    })
    expect((await api.ask('GET', '/tenants', { key: admin })).body['data']).toContainEqual(
      expect.objectContaining({ name, weight: 300 }),
    )
    expect((await api.ask('PATCH', `/tenants/${name}`, { key: admin, body: {} })).status).toBe(422)
    expect((await api.ask('PATCH', `/tenants/${name}`, { key: admin, body: { name: 'b' } })).status).toBe(422)
  })
})

describe('two servers on one database', () => {
  let database: TestDatabase
  const servers: RunningServer[] = []
  const start = (env: Record<string, string>) =>
    startServer({
      config: loadConfig({
        env: { DATABASE_URL: database.url, CARILLON_ROLES: 'api', CARILLON_PORT: '0', ...env },
      }),
      log: silentLog,
    })
  const self = async (server: RunningServer | undefined, key: string) =>
    (await fetch(`${server?.url}/api/v1/keys/self`, { headers: { authorization: `Bearer ${key}` } })).status

  beforeAll(async () => {
    database = await createTestDatabase()
  })
  afterAll(async () => {
    for (const server of servers) await server.stop()
    await database.close()
  })

  test('beyond loopback, or when told so, they do not start before there is an admin key, and say how to make one', async () => {
    for (const env of [{ CARILLON_HOST: '0.0.0.0' }, { CARILLON_REQUIRE_KEYS: 'true' }]) {
      const failure = await start(env).then(
        () => null,
        (error: Error) => error.message,
      )
      expect(failure).toContain('carillon keys first')
    }
    await createKey(database.database, { name: 'watcher', role: 'viewer' })
    await expect(start({ CARILLON_REQUIRE_KEYS: 'true' })).rejects.toThrow('has no admin key')
  })

  test('on loopback they need none', async () => {
    const server = await start({})
    expect(server.access).toContain('no key needed')
    expect((await fetch(`${server.url}/api/v1/jobs`)).status).toBe(200)
    await server.stop()
  })

  test('a key that one revokes opens nothing at the other a second later', async () => {
    const { key: admin } = await createKey(database.database, { name: 'root', role: 'admin' })
    for (let n = 0; n < 2; n++) servers.push(await start({ CARILLON_REQUIRE_KEYS: 'true' }))
    const [one, other] = servers
    expect(one?.access).toContain('CARILLON_REQUIRE_KEYS')
    expect((await fetch(`${one?.url}/api/v1/jobs`)).status).toBe(401)
    expect((await fetch(`${one?.url}/healthz`)).status).toBe(200)
    expect((await fetch(`${one?.url}/metrics`)).status).toBe(401)
    const { key, key_id: id } = await createKey(database.database, { name: 'leaving', role: 'worker' })
    expect([await self(one, key), await self(other, key)]).toEqual([200, 200])
    const waiting = fetch(`${other?.url}/api/v1/leases`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ worker: 'w', tasks: ['t'], wait_seconds: 12 }),
    })
    // Kept warm, so that the other has a fresh answer when the key is revoked.
    await until('the other knows it', async () => (await self(other, key)) === 200)
    const revoked = await fetch(`${one?.url}/api/v1/keys/${id}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${admin}` },
    })
    expect(revoked.status).toBe(204)
    const at = performance.now()
    let last = at
    await until('it opens nothing', async () => {
      const status = await self(other, key)
      if (status === 200) last = performance.now()
      return status === 401
    })
    expect(last - at).toBeLessThan(1_000)
    // A call that was waiting ends long before its time.
    const answer = await waiting
    expect([answer.status, await answer.json()]).toEqual([200, expect.objectContaining({ data: [] })])
    expect(performance.now() - at).toBeLessThan(8_000)
  })
})
