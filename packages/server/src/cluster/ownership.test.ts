import pino from 'pino'
import { expect, test, vi } from 'vitest'
import type { Clock } from '../platform/clock.js'
import { Metrics } from '../platform/metrics.js'
import type { Coordination, Lease } from './coordination.js'
import { assignPartitions } from './assignment.js'
import { Ownership, type OwnershipOptions } from './ownership.js'

interface SetUp extends Pick<OwnershipOptions, 'assign'> {
  live?: () => number[]
  takes?: boolean
}

/** One node that has all partitions, unless others are named; its renewals are answered when the test says so. */
function setUp({ live = () => [1], takes = true, ...rest }: SetUp = {}) {
  let now = 0
  const renewals: (() => void)[] = []
  const taken: number[] = []
  const clock: Clock = { monotonic: () => now, after: () => () => undefined }
  const coordination = {
    take: (_self: number, wanted: number[]) => {
      taken.push(...wanted)
      return Promise.resolve(takes ? wanted.map((partition) => ({ partition, epoch: 1 })) : [])
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
    liveSchedulers: live,
    sinceFiringMs: () => 0,
    offer: () => undefined,
    ...rest,
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

test('a node to which the assignment gives nothing is spare, and does not count as one that is without', async () => {
  let mine: number[] = []
  const others = Array.from({ length: 46 }, (_, node) => node + 1)
  const { ownership, at } = setUp({ live: () => others, assign: () => new Map([[1, mine]]), takes: false })
  at(3_600_000)
  expect([ownership.isSpare(), ownership.withoutMs()]).toEqual([true, 0])
  await ownership.runOnce()
  expect([ownership.isSpare(), ownership.withoutMs()]).toEqual([true, 0])
  // From when on something is its own, and not from when on it had none.
  mine = [7]
  others.pop()
  at(3_601_000)
  await ownership.runOnce()
  expect([ownership.isSpare(), ownership.withoutMs()]).toEqual([false, 1_000])
})

test('a node on which nobody counts is not spare', async () => {
  const { ownership, at } = setUp({ live: () => [2, 3] })
  at(60_000)
  await ownership.runOnce()
  expect([ownership.isSpare(), ownership.withoutMs()]).toEqual([false, 60_000])
})

test('a fleet with half as many nodes as partitions has spare ones', () => {
  const shares = [...assignPartitions(Array.from({ length: 128 }, (_, at) => 1_000 + at)).values()]
  expect(shares.filter((partitions) => partitions.length === 0)).not.toHaveLength(0)
})
