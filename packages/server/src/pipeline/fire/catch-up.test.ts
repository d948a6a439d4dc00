import { pino } from 'pino'
import { expect, it } from 'vitest'
import { ManualClock } from '../../../test/kit/manual-clock.js'
import type { Database } from '../../db/pool.js'
import { Metrics } from '../../platform/metrics.js'
import { CatchUp } from './catch-up.js'
import type { Governor } from './governor.js'

type Sent = { name: string; params: Record<string, unknown> }

/** A catch-up over a database that answers with so many open replays and nothing else. */
function catchUpOf(open: { replays: number; ticks: number }, partitions: number) {
  const clock = new ManualClock()
  const sent: Sent[] = []
  const told: { replays: number; ticks: number }[] = []
  const owned = Array.from({ length: partitions }, (_, partition) => ({ partition, epoch: 1 }))
  const database = {
    run(statement: { name: string }, params: Record<string, unknown>) {
      const name = statement.name.replace(/_[0-9a-f]{8}$/, '')
      sent.push({ name, params })
      return Promise.resolve(name === 'open-replays' ? [{ ...open, oldest: 1 }] : [])
    },
  } as unknown as Database
  const catchUp = new CatchUp({
    database,
    clock,
    log: pino({ level: 'silent' }),
    metrics: new Metrics(),
    governor: { allowed: () => Promise.resolve(10), used: () => undefined } as unknown as Governor,
    self: () => 1,
    owned: () => owned,
    disown: () => undefined,
    freshWait: () => false,
    onFired: () => undefined,
    onOpen: (left) => void told.push(left),
  })
  const named = (name: string) => sent.filter((call) => call.name === name)
  return { catchUp, clock, owned, told, named }
}

it.each([1, 16, 85, 256])('looks at a bounded number of replays with %i partitions', async (partitions) => {
  const { catchUp, named } = catchUpOf({ replays: 1_000_000, ticks: 1_000_000 }, partitions)
  await catchUp.runOnce()
  const [read] = named('read-replays')
  const most = Number(read?.params['most_per_partition']) * partitions
  expect(most).toBeGreaterThanOrEqual(500)
  expect(most).toBeLessThanOrEqual(5_000)
})

it('counts a million replays now and then, and a few at every look', async () => {
  const { catchUp, clock, named } = catchUpOf({ replays: 1_000_000, ticks: 1_000_000 }, 256)
  for (let look = 0; look < 8; look++) {
    await catchUp.runOnce()
    clock.skip(1_000)
  }
  expect(named('open-replays')).toHaveLength(2)
  expect(named('read-replays')).toHaveLength(8)
  const few = catchUpOf({ replays: 3, ticks: 3 }, 256)
  for (let look = 0; look < 8; look++) await few.catchUp.runOnce()
  expect(few.named('open-replays')).toHaveLength(8)
})

it('has nothing left to tell of once its partitions are gone', async () => {
  const { catchUp, owned, told } = catchUpOf({ replays: 20_000, ticks: 30_000 }, 2)
  await catchUp.runOnce()
  owned.splice(0)
  await catchUp.runOnce()
  expect(told).toEqual([
    { replays: 20_000, ticks: 30_000 },
    { replays: 0, ticks: 0 },
  ])
})
