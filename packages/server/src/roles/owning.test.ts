import pino from 'pino'
import { expect, test } from 'vitest'
import { ManualClock } from '../../test/kit/manual-clock.js'
import type { Ownership } from '../cluster/ownership.js'
import { Metrics } from '../platform/metrics.js'
import type { Context } from './context.js'
import { composeOwning } from './owning.js'

/** A scheduler that is to own one partition more than it has until `freeAt`; its passes are noted by their time. */
function setUp(freeAt: number) {
  const clock = new ManualClock(0)
  const passes: number[] = []
  const taken: number[] = []
  const ownership = {
    current: () => (clock.monotonic() >= freeAt && passes.length > 0 ? [{ partition: 1, epoch: 1 }] : []),
    isShort: () => clock.monotonic() < freeAt,
    runOnce: () => Promise.resolve(void passes.push(clock.monotonic())),
  }
  const context = {
    config: { heartbeatMs: 250 },
    clock,
    log: pino({ level: 'silent' }),
    metrics: new Metrics(),
  }
  const owned = ownership as unknown as Ownership
  const role = composeOwning(context as unknown as Context, owned, () => taken.push(clock.monotonic()))
  return { ...role, clock, passes, taken }
}

test('what is not to be had is tried again at the next heartbeat', async () => {
  const { owning, clock, passes } = setUp(1_000)
  owning.start()
  await clock.advance(0)
  await clock.advance(600)
  expect(passes).toEqual([0, 250, 500])
  await owning.stop()
})

test('what a peer left behind is tried again at once until it is had, and then at heartbeats', async () => {
  const { owning, hurry, clock, passes } = setUp(200)
  owning.start()
  await clock.advance(0)
  await clock.advance(100)
  hurry()
  await clock.advance(0)
  await clock.advance(400)
  expect(passes).toEqual([0, 100, 140, 180, 220, 470])
  await owning.stop()
})

test('what is never to be had is not hurried for ever', async () => {
  const { owning, hurry, clock, passes } = setUp(Number.POSITIVE_INFINITY)
  owning.start()
  await clock.advance(0)
  hurry()
  await clock.advance(0)
  await clock.advance(10_000)
  expect(passes.filter((at) => at <= 2_100).length).toBeGreaterThan(40)
  expect(passes.filter((at) => at > 2_100).length).toBeLessThanOrEqual(32)
  await owning.stop()
})
