import { expect, test } from 'vitest'
import { ManualClock } from '../../../test/kit/manual-clock.js'
import type { Database } from '../../db/pool.js'
import { hashOfKey, newKey } from '../../platform/key.js'
import { believedMs, KeyRing, watchEveryMs } from './key-ring.js'

/** A database that has these keys; asked, it counts. */
function ringOver(keys: readonly string[]) {
  const clock = new ManualClock()
  const open = new Set(keys.map((key) => hashOfKey(key).toString('base64')))
  const state = { asked: 0, away: false, hangs: false, open }
  const run = (_statement: unknown, params: { hash?: Buffer; hashes?: Buffer[] }) => {
    state.asked += 1
    if (state.away) return Promise.reject(new Error('away'))
    if (state.hangs) return new Promise(() => undefined)
    const found = (params.hashes ?? [params.hash as Buffer]).filter((hash) =>
      open.has(hash.toString('base64')),
    )
    return Promise.resolve(
      found.map((hash) => ({
        hash,
        key_id: 'k',
        tenant: 1,
        tenant_name: 'default',
        name: 'n',
        role: 'viewer',
        expires_at: null,
      })),
    )
  }
  const ring = new KeyRing({ database: { run } as unknown as Database, clock })
  return { ring, clock, state }
}

test('a revocation holds within a second: an answer is believed for less, counted from before it was asked', () => {
  expect(believedMs + watchEveryMs).toBeLessThan(1_000)
})

test('many calls at once share one look, and later ones its answer until that has aged', async () => {
  const key = newKey()
  const { ring, clock, state } = ringOver([key])
  await Promise.all([ring.identify(key), ring.identify(key), ring.identify(key)])
  await ring.identify(key)
  expect(state.asked).toBe(1)
  await clock.advance(believedMs)
  state.open.clear()
  expect(await ring.identify(key)).toBeNull()
  expect(state.asked).toBe(2)
})

test('what is no key is not looked up, and one that nobody has is not remembered', async () => {
  const { ring, state } = ringOver([])
  for (const text of ['', 'car_', `${newKey()}x`, `x${newKey()}`, `car_${'é'.repeat(43)}`]) {
    expect(await ring.identify(text)).toBeNull()
  }
  expect(state.asked).toBe(0)
  const key = newKey()
  await ring.identify(key)
  state.open.add(hashOfKey(key).toString('base64'))
  expect(await ring.identify(key)).toMatchObject({ tenant: 1 })
})

test('a failed look is no answer: the call fails, and the next one looks again', async () => {
  const key = newKey()
  const { ring, state } = ringOver([key])
  state.away = true
  await expect(ring.identify(key)).rejects.toThrow('away')
  state.away = false
  expect(await ring.identify(key)).toMatchObject({ role: 'viewer' })
})

test('an answer that goes on ends when its key cannot be seen for a second', async () => {
  const key = newKey()
  const { ring, clock, state } = ringOver([key])
  const { signal } = ring.watch(key)
  await ring.runOnce()
  state.away = true
  await clock.advance(900)
  await expect(ring.runOnce()).rejects.toThrow('away')
  expect(signal.aborted).toBe(false)
  await clock.advance(200)
  await expect(ring.runOnce()).rejects.toThrow('away')
  expect(signal.aborted).toBe(true)
})

test('nothing is asked while no answer goes on', async () => {
  const key = newKey()
  const { ring, state } = ringOver([key])
  ring.watch(key).release()
  await ring.runOnce()
  expect(state.asked).toBe(0)
})

test('a database that does not answer is told to the caller in time, and the next call asks again', async () => {
  const key = newKey()
  const { ring, clock, state } = ringOver([key])
  state.hangs = true
  const waiting = expect(ring.identify(key)).rejects.toMatchObject({ code: 'database_unavailable' })
  await clock.advance(3_000)
  await waiting
  state.hangs = false
  expect(await ring.identify(key)).toMatchObject({ tenant: 1 })
})
