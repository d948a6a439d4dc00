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
function setUp(options: { startsInMs: (run: number) => number; lasts?: boolean }) {
  const clock = new ManualClock()
  const databaseClock = new DatabaseClock(clock, () => undefined)
  databaseClock.begin()(1_000_000)
  const asked: number[] = []
  const going: (() => void)[] = []
  let woken = 0
  let token = 0
  const ports: Partial<WorkerPorts> = {
    lease(_holder, most) {
      asked.push(most)
      const runs = Array.from({ length: most }, () => ({
        token: ++token,
        availableAt: 1_000_000 + options.startsInMs(token),
        definition: { jobId: 'job', definition: { target: { type: 'task' } } },
      }))
      return Promise.resolve(runs as unknown as LeasedRun[])
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
    concurrency: places,
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
