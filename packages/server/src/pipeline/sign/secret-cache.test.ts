import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../../test/kit/manual-clock.js'
import { SecretCache, type SigningKey } from './secret-cache.js'

const key = (byte: number, retiresAt: number | null = null): SigningKey => ({
  secret: Buffer.alloc(32, byte),
  retiresAt,
})
const first = (secrets: readonly Uint8Array[]) => secrets.map(([byte]) => byte)

/** A store in memory: each tenant has its number as its secret, until a test says otherwise. */
function setUp() {
  const clock = new ManualClock()
  const stored = new Map<number, SigningKey[]>()
  const reads: number[][] = []
  let time = 0
  let away: Error | null = null
  const cache = new SecretCache({
    clock,
    now: () => time,
    keysOf: (tenants) => {
      reads.push([...tenants])
      if (away !== null) return Promise.reject(away)
      const known = tenants.filter((tenant) => tenant < 1_000_000)
      return Promise.resolve(
        new Map(known.map((tenant) => [tenant, stored.get(tenant) ?? [key(tenant % 256)]])),
      )
    },
  })
  return {
    cache,
    clock,
    stored,
    reads,
    at: (ms: number) => {
      time = ms
    },
    goAway: (error: Error | null) => {
      away = error
    },
  }
}

describe('the secrets of a tenant', () => {
  it('are read once, however many deliveries ask at a time, and of all tenants at once', async () => {
    const { cache, reads } = setUp()
    const asked = [1, 2, 1, 3, 2, 1].map((tenant) => cache.secretsOf(tenant))
    expect((await Promise.all(asked)).map(first)).toEqual([[1], [2], [1], [3], [2], [1]])
    expect(first(await cache.secretsOf(1))).toEqual([1])
    expect(reads).toEqual([[1, 2, 3]])
  })

  it('change with the next refresh after a rotation, without a delivery that waits for it', async () => {
    const { cache, stored, reads } = setUp()
    await cache.secretsOf(1)
    stored.set(1, [key(9), key(1, 1_000)])
    expect(first(await cache.secretsOf(1))).toEqual([1])
    await cache.refreshOnce()
    expect(first(await cache.secretsOf(1))).toEqual([9, 1])
    expect(reads).toEqual([[1], [1]])
  })

  it('retire at their instant by the database’s clock, also without a refresh', async () => {
    const { cache, stored, at } = setUp()
    stored.set(1, [key(9), key(1, 1_000)])
    at(999)
    expect(first(await cache.secretsOf(1))).toEqual([9, 1])
    at(1_000)
    expect(first(await cache.secretsOf(1))).toEqual([9])
  })

  it('known last go on serving while the database is away', async () => {
    const { cache, goAway, stored } = setUp()
    await cache.secretsOf(1)
    goAway(new Error('the database is away'))
    await expect(cache.refreshOnce()).rejects.toThrow('away')
    expect(first(await cache.secretsOf(1))).toEqual([1])
    await expect(cache.secretsOf(2)).rejects.toThrow('away')
    goAway(null)
    stored.set(1, [key(9)])
    await cache.refreshOnce()
    expect(first(await cache.secretsOf(1))).toEqual([9])
    expect(first(await cache.secretsOf(2))).toEqual([2])
  })

  it('are never none: a tenant that has no secret is not signed for with nothing', async () => {
    const { cache } = setUp()
    await expect(cache.secretsOf(1_000_001)).rejects.toThrow('the tenant has no signing secret')
  })

  it('are not read any more once nothing was signed for ten minutes, and anew when something is', async () => {
    const { cache, clock, reads } = setUp()
    await cache.secretsOf(1)
    await cache.secretsOf(2)
    clock.skip(599_000)
    await cache.secretsOf(2)
    clock.skip(2_000)
    await cache.refreshOnce()
    expect(reads.at(-1)).toEqual([2])
    await cache.secretsOf(1)
    expect(reads.at(-1)).toEqual([1])
  })

  it('are kept for ten thousand tenants at most', async () => {
    const { cache, reads } = setUp()
    for (let start = 0; start < 10_050; start += 50)
      await Promise.all(Array.from({ length: 50 }, (_, at) => cache.secretsOf(start + at)))
    await cache.refreshOnce()
    expect(reads.at(-1)).toHaveLength(10_000)
  })
})
