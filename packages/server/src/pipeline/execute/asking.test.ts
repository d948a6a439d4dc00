import pino from 'pino'
import { expect, test } from 'vitest'
import { ManualClock, settled } from '../../../test/kit/manual-clock.js'
import { DatabaseClock } from '../../db/database-clock.js'
import { Metrics } from '../../platform/metrics.js'
import type { LeasedRun } from '../run.js'
import type { WorkerPorts } from './ports.js'
import { Worker } from './worker.js'

const succeeded = {
  outcome: 'success',
  retryable: false,
  retryAfterMs: null,
  reason: null,
  error: null,
} as const
const places = 20

/** A worker before a queue that never ends, whose loop asks again when it is woken or told that there is more. */
function setUp(options: {
  startsInMs: (run: number) => number
  lasts?: boolean
  concurrency?: number
  /** What happens while a lease is under way. */
  meanwhile?: (lease: number) => Promise<void>
}) {
  const clock = new ManualClock()
  const databaseClock = new DatabaseClock(clock, () => undefined)
  databaseClock.begin()(1_000_000)
  const asked: number[] = []
  const going: (() => void)[] = []
  let woken = 0
  let token = 0
  const ports: Partial<WorkerPorts> = {
    async lease(_holder, most) {
      asked.push(most)
      await options.meanwhile?.(asked.length)
      const runs = Array.from({ length: most }, () => ({
        token: ++token,
        availableAt: 1_000_000 + options.startsInMs(token),
        definition: { jobId: 'job', definition: { target: { type: 'task' } } },
      }))
      return runs as unknown as LeasedRun[]
    },
    deliver: () =>
      options.lasts === true
        ? new Promise((resolve) => going.push(() => resolve({ ...succeeded, result: undefined })))
        : Promise.resolve({ ...succeeded, result: undefined }),
    close: () => Promise.resolve('closed'),
    behind: () => null,
    revoked: () => Promise.resolve([]),
    stillHeld: (_holder, runs) => Promise.resolve(new Set(runs.map((run) => run.token))),
  }
  const worker = new Worker({
    ports: ports as WorkerPorts,
    clock,
    databaseClock,
    log: pino({ level: 'silent' }),
    metrics: new Metrics(),
    concurrency: options.concurrency ?? places,
    self: () => 1,
    wake: () => woken++,
  })
  /** As the loop does it. */
  const pass = async () => {
    woken = 0
    while (await worker.leaseOnce());
  }
  return { worker, clock, asked, going, pass, woken: () => woken }
}

test('a worker whose places are taken by what it holds ahead asks for a quarter of them at a time, not for each', async () => {
  const { clock, asked, pass, woken } = setUp({ startsInMs: (run) => run * 10 })
  await pass()
  expect(asked).toEqual([20])
  const wakes: number[] = []
  for (let run = 1; run <= 10; run++) {
    await clock.advance(10)
    await settled()
    if (woken() > 0) {
      wakes.push(run)
      await pass()
    }
  }
  expect(wakes).toEqual([5, 10])
  expect(asked).toEqual([20, 5, 5])
})

test('a worker whose places are taken by what it runs asks as soon as one is free', async () => {
  const { worker, going, asked, pass, woken } = setUp({ startsInMs: () => 0, lasts: true })
  await pass()
  await settled()
  expect(going).toHaveLength(places)
  going[0]?.()
  await settled()
  expect(worker.inFlight).toBe(places - 1)
  expect(woken()).toBe(1)
  await pass()
  expect(asked).toEqual([20, 1])
})

test('one that is told of a run asks for it, however few places are free', async () => {
  const { clock, asked, pass, woken } = setUp({ startsInMs: (run) => run * 10 })
  await pass()
  await clock.advance(10)
  await settled()
  expect(woken()).toBe(0)
  await pass()
  expect(asked).toEqual([20, 1])
})

test('one that was told of a run and had no place for it asks as soon as one is free', async () => {
  const { clock, asked, pass, woken } = setUp({ startsInMs: (run) => run * 10 })
  await pass()
  await pass()
  await clock.advance(10)
  await settled()
  expect(woken()).toBe(1)
  await pass()
  expect(asked).toEqual([20, 1])
  await clock.advance(10)
  await settled()
  expect(woken()).toBe(0)
})

test('a place that became free while it asked is no reason to ask again at once', async () => {
  const meanwhile = async (lease: number) => {
    if (lease === 2) await set.clock.advance(10)
  }
  const set = setUp({ startsInMs: (run) => run * 10, meanwhile })
  await set.pass()
  await set.clock.advance(10)
  await settled()
  await set.pass()
  expect(set.asked).toEqual([20, 1])
  expect(set.worker.room.free).toBe(1)
})

test('as many as one lease takes are asked for one after the other, however many wait', async () => {
  const { asked, pass } = setUp({ startsInMs: () => 60_000, concurrency: 8_000 })
  await pass()
  expect(asked).toEqual(Array.from({ length: 8 }, () => 1_000))
})
