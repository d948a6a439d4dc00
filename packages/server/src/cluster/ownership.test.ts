import pino from 'pino'
import { expect, test, vi } from 'vitest'
import type { Clock } from '../platform/clock.js'
import { Metrics } from '../platform/metrics.js'
import type { Coordination, Lease } from './coordination.js'
import { Ownership } from './ownership.js'

/** One node that has all partitions; its renewals are answered when the test says so. */
function setUp() {
  let now = 0
  const renewals: (() => void)[] = []
  const taken: number[] = []
  const clock: Clock = { monotonic: () => now, after: () => () => undefined }
  const coordination = {
    take: (_self: number, wanted: number[]) => {
      taken.push(...wanted)
      return Promise.resolve(wanted.map((partition) => ({ partition, epoch: 1 })))
    },
    renew: (_self: number, leases: Lease[]) =>
      new Promise<Lease[]>((resolve) => renewals.push(() => resolve(leases))),
    release: () => Promise.resolve(),
  } as unknown as Coordination
  const ownership = new Ownership({
    coordination,
    clock,
    log: pino({ level: 'silent' }),
    metrics: new Metrics(),
    leaseTtlMs: 10_000,
    renewMs: 3_000,
    self: () => 1,
    liveSchedulers: () => [1],
    sinceFiringMs: () => 0,
    offer: () => undefined,
  })
  const at = (ms: number) => {
    now = ms
  }
  return { ownership, at, renewals, taken }
}

test('a renewal that is answered late counts all the same: nothing is taken anew', async () => {
  const { ownership, at, renewals, taken } = setUp()
  await ownership.runOnce()
  const all = ownership.current().length
  expect(all).toBeGreaterThan(0)
  expect(taken).toHaveLength(all)
  at(3_000)
  const renewing = ownership.runOnce()
  await vi.waitUntil(() => renewals.length === 1)
  at(10_500)
  expect(ownership.current()).toHaveLength(0)
  at(11_000)
  renewals[0]?.()
  await renewing
  expect(ownership.current()).toHaveLength(all)
  const next = ownership.runOnce()
  await vi.waitUntil(() => renewals.length === 2)
  renewals[1]?.()
  await next
  expect(taken).toHaveLength(all)
})

test('what is owned is the same list while nothing changes, and ends with its trust', async () => {
  const { ownership, at } = setUp()
  await ownership.runOnce()
  const first = ownership.current()
  at(9_999)
  expect(ownership.current()).toBe(first)
  at(10_000)
  expect(ownership.current()).toHaveLength(0)
})

test.each<[string, (ownership: Ownership, leases: readonly Lease[]) => unknown]>([
  ['the database refuses it', (ownership, leases) => ownership.disown(leases)],
  ['the process was declared dead', (ownership) => ownership.dropAll()],
  ['it is given back', (ownership) => ownership.releaseAll()],
])('nothing is owned any more once %s', async (_why, lose) => {
  const { ownership } = setUp()
  await ownership.runOnce()
  await lose(ownership, ownership.current())
  expect(ownership.current()).toHaveLength(0)
})
