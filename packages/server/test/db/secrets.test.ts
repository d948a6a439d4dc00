import { describe, expect, test } from 'vitest'
import { everywhereWithinMs, refreshMs, SecretCache } from '../../src/pipeline/sign/secret-cache.js'
import { Secrets } from '../../src/pipeline/sign/secrets.js'
import { Upkeep } from '../../src/pipeline/archive/upkeep.js'
import { secretText } from '../../src/targets/signing.js'
import { silentLog } from '../kit/test-database.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()
const dayMs = 86_400_000

const secrets = () => new Secrets(house().database.database)
const idsOf = async (tenant: number) => (await secrets().list(tenant)).data.map(({ id }) => id)

async function makeTenant(): Promise<number> {
  const [row] = await house().query<{ tenant: number }>(
    "INSERT INTO carillon.tenants (name) VALUES ('tenant ' || gen_random_uuid()) RETURNING tenant",
  )
  return row?.tenant ?? 0
}

describe('the first secret of a tenant', () => {
  test('is one, whoever asks for it at the same time', async () => {
    const tenant = await makeTenant()
    const asking = Array.from({ length: 12 }, (_, at) =>
      at % 3 === 0
        ? secrets().current(tenant)
        : at % 3 === 1
          ? secrets().list(tenant)
          : secrets().keysOf([tenant, 1]),
    )
    await Promise.all(asking)
    expect(await idsOf(tenant)).toHaveLength(1)
    expect(
      (await house().query('SELECT FROM carillon.signing_secrets WHERE tenant = $1', [tenant])).length,
    ).toBe(1)
  })

  test('is waited for while another process is about to make it', async () => {
    const other = await house().session()
    await other.query('BEGIN')
    await other.query(
      'INSERT INTO carillon.signing_secrets (tenant, id, secret) VALUES (1, gen_random_uuid(), $1)',
      [Buffer.alloc(32, 5)],
    )
    const asked = secrets().current(1)
    await house().lockWaits(1)
    await other.query('COMMIT')
    expect((await asked).secret).toBe(secretText(Buffer.alloc(32, 5)))
  })

  test('is made neither twice nor for a tenant that does not exist', async () => {
    await secrets().ensure([1])
    const before = await secrets().current(1)
    await secrets().ensure([1, 2_000_000])
    expect(await secrets().current(1)).toEqual(before)
    expect([...(await secrets().keysOf([1, 2_000_000])).keys()]).toEqual([1])
  })

  test('is of 32 random bytes, and another one for every tenant', async () => {
    const [one, two] = await Promise.all([1, await makeTenant()].map((tenant) => secrets().current(tenant)))
    expect(one?.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    expect(two?.secret).not.toBe(one?.secret)
  })
})

describe('a rotation', () => {
  test('makes another the current one; the one before signs beside it until it retires', async () => {
    const before = await secrets().current(1)
    const made = await secrets().rotate(1, {})
    expect(await secrets().current(1)).toEqual(made)
    const { data } = await secrets().list(1)
    expect(data.map(({ id }) => id)).toEqual([made.id, before.id])
    expect(data[0]?.retires_at).toBeNull()
    const left = Date.parse(data[1]?.retires_at ?? '') - (await house().now())
    expect(Math.abs(left - dayMs)).toBeLessThan(60_000)
    const keys = (await secrets().keysOf([1])).get(1) ?? []
    expect(keys.map(({ secret }) => secretText(secret))).toEqual([made.secret, before.secret])
    await house().clock.advance(dayMs)
    expect(await idsOf(1)).toEqual([made.id])
    expect((await secrets().keysOf([1])).get(1)).toHaveLength(1)
  })

  test('without overlap ends the one before at once', async () => {
    const before = await secrets().current(1)
    const made = await secrets().rotate(1, { overlap_seconds: 0 })
    expect(await idsOf(1)).toEqual([made.id])
    expect(made.secret).not.toBe(before.secret)
  })

  test('of a tenant leaves the others alone', async () => {
    const tenant = await makeTenant()
    const mine = await secrets().current(1)
    await secrets().rotate(tenant, {})
    expect(await secrets().current(1)).toEqual(mine)
    await expect(secrets().retire(tenant, mine.id)).rejects.toMatchObject({
      code: 'signing_secret_not_found',
    })
  })

  test('is refused where more than five would sign; one without overlap never adds one', async () => {
    const current = await secrets().current(1)
    for (let n = 0; n < 4; n++) await secrets().rotate(1, {})
    await expect(secrets().rotate(1, {})).rejects.toMatchObject({ code: 'too_many_signing_secrets' })
    expect(await idsOf(1)).toHaveLength(5)
    const leaked = await secrets().rotate(1, { overlap_seconds: 0 })
    expect(await idsOf(1)).toHaveLength(5)
    expect((await secrets().current(1)).id).toBe(leaked.id)
    await secrets().retire(1, current.id)
    await secrets().rotate(1, {})
  })

  test('waits for the one that another process is about to make, and comes on top of it', async () => {
    await secrets().current(1)
    const other = await house().session()
    await other.query('BEGIN')
    await other.query('SELECT FROM carillon.tenants WHERE tenant = 1 FOR NO KEY UPDATE')
    await other.query('SELECT FROM carillon.signing_secrets WHERE tenant = 1 FOR UPDATE')
    const mine = secrets().rotate(1, {})
    await house().lockWaits(1)
    await other.query('UPDATE carillon.signing_secrets SET retires_at = carillon.now_ms() + 60000')
    await other.query(
      'INSERT INTO carillon.signing_secrets (tenant, id, secret) VALUES (1, gen_random_uuid(), $1)',
      [Buffer.alloc(32, 6)],
    )
    await other.query('COMMIT')
    const made = await mine
    expect(await secrets().current(1)).toEqual(made)
    expect(await idsOf(1)).toHaveLength(3)
  })

  test('comes after the one before, however many are asked for at once: five sign at most, one is current', async () => {
    await secrets().current(1)
    const answers = await Promise.allSettled(Array.from({ length: 10 }, () => secrets().rotate(1, {})))
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(4)
    const { data } = await secrets().list(1)
    expect(data).toHaveLength(5)
    expect(data.filter(({ retires_at }) => retires_at === null)).toHaveLength(1)
  })
})

describe('a secret that retires', () => {
  test('can be ended before its time; the current one cannot', async () => {
    const old = await secrets().current(1)
    const made = await secrets().rotate(1, {})
    await secrets().retire(1, old.id)
    expect(await idsOf(1)).toEqual([made.id])
    await expect(secrets().retire(1, old.id)).rejects.toMatchObject({ code: 'signing_secret_not_found' })
    await expect(secrets().retire(1, made.id)).rejects.toMatchObject({ code: 'signing_secret_current' })
    await expect(secrets().retire(1, 'sgn_no')).rejects.toMatchObject({ code: 'signing_secret_not_found' })
    expect(await idsOf(1)).toEqual([made.id])
  })

  test('is forgotten by the upkeep once it has retired, and not before', async () => {
    await secrets().current(1)
    await secrets().rotate(1, { overlap_seconds: 3_600 })
    const upkeep = new Upkeep({
      database: house().database.database,
      log: silentLog,
      ledgerDaysAhead: 1,
      ledgerRetentionDays: 9_000,
      oneOffRetentionHours: 9_000,
    })
    const kept = async () => (await house().query('SELECT FROM carillon.signing_secrets')).length
    await upkeep.runOnce()
    expect(await kept()).toBe(2)
    await house().clock.advance(3_600_000)
    await upkeep.runOnce()
    expect(await kept()).toBe(1)
  })
})

test('a list says which secret it is by its last characters, and not more', async () => {
  const { secret, hint } = await secrets().current(1)
  const { data } = await secrets().list(1)
  expect(data).toMatchObject([{ hint }])
  expect(hint).toBe(`whsec_…${secret.slice(-5)}`)
  expect(JSON.stringify(data)).not.toContain(secret.slice(6, 20))
})

test('a message about a violated key does not quote a secret', async () => {
  await secrets().current(1)
  const again = house().query(
    'INSERT INTO carillon.signing_secrets (tenant, id, secret) VALUES (1, gen_random_uuid(), $1)',
    [Buffer.alloc(32, 0xab)],
  )
  const error = await again.then(
    () => null,
    (thrown: unknown) => thrown,
  )
  expect(JSON.stringify(error)).toContain('signing_secrets_current')
  expect(JSON.stringify(error)).not.toContain('abab')
})

test('a rotation reaches a worker with its next pass, well before it is said to be everywhere', async () => {
  const { clock } = house()
  const cache = new SecretCache({
    clock,
    now: () => 0,
    keysOf: (tenants) => secrets().keysOf(tenants),
  })
  const signing = async () => (await cache.secretsOf(1)).map(secretText)
  const before = await secrets().current(1)
  expect(await signing()).toEqual([before.secret])
  const made = await secrets().rotate(1, {})
  await cache.refreshOnce()
  expect(await signing()).toEqual([made.secret, before.secret])
  expect(Date.parse(made.signs_by) - Date.parse(made.created_at)).toBe(everywhereWithinMs)
  expect(2 * refreshMs).toBeLessThan(everywhereWithinMs)
})
