import pino from 'pino'
import { describe, expect, test } from 'vitest'
import { DatabaseClock } from '../../db/database-clock.js'
import { systemClock } from '../../platform/clock.js'
import { Metrics } from '../../platform/metrics.js'
import type { AttemptResult, LeasedRun } from '../run.js'
import type { WorkerPorts } from './ports.js'
import { Worker } from './worker.js'

const succeeded = {
  outcome: 'success',
  retryable: false,
  retryAfterMs: null,
  reason: null,
  error: null,
  result: undefined,
} as const

function setUp(ports: Partial<WorkerPorts>, concurrency = 100_000, clock = systemClock) {
  const log = pino({ level: 'silent' })
  const databaseClock = new DatabaseClock(systemClock, () => undefined)
  databaseClock.begin()(1_000_000)
  const delivered: number[] = []
  const closed: AttemptResult[] = []
  const worker = new Worker({
    ports: {
      deliver: (run: LeasedRun) => {
        delivered.push(run.token)
        return Promise.resolve(succeeded)
      },
      close: (result: AttemptResult) => {
        closed.push(result)
        return Promise.resolve('closed')
      },
      behind: () => null,
      revoked: () => Promise.resolve([]),
      ...ports,
    } as unknown as WorkerPorts,
    clock,
    databaseClock,
    log,
    metrics: new Metrics(),
    concurrency,
    self: () => 1,
    wake: () => undefined,
  })
  const hand = (many: number, aheadMs: (at: number) => number = () => 0) => {
    const now = databaseClock.atLeast()
    const runs = Array.from({ length: many }, (_, at) => ({
      token: at + 1,
      availableAt: now + aheadMs(at),
      definition: { jobId: 'job', definition: { target: { type: 'task' } } },
    }))
    worker.offer(many)?.accept(runs as unknown as LeasedRun[])
  }
  return { worker, hand, delivered, closed }
}

const soon = () => performance.now() + 100

async function until(holds: () => boolean): Promise<void> {
  for (let turn = 0; !holds(); turn++) {
    if (turn > 10_000) throw new Error('it did not come to pass')
    await new Promise((resolve) => setImmediate(resolve))
  }
}

test('no more of a crowd is started while the record is behind', async () => {
  let relieve: () => void = () => undefined
  const gate = new Promise<void>((resolve) => {
    relieve = resolve
  })
  let asked = 0
  const { worker, hand, delivered, closed } = setUp({ behind: () => (++asked === 1 ? gate : null) })
  hand(1_200)
  await until(() => asked === 1)
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
  expect(delivered).toHaveLength(500)
  relieve()
  await until(() => closed.length === 1_200)
  expect(new Set(delivered).size).toBe(1_200)
  expect(delivered).toHaveLength(1_200)
  await until(() => worker.inFlight === 0)
})

test('a delivery that throws before it begins has failed, and those behind it start', async () => {
  const { worker, hand, closed } = setUp({
    deliver: (run) => {
      if (run.token === 2) throw new Error('a damaged definition')
      return Promise.resolve(succeeded)
    },
  })
  hand(3)
  await until(() => closed.length === 3)
  expect(closed.map(({ run, outcome }) => [run.token, outcome]).sort()).toEqual([
    [1, 'success'],
    [2, 'failed'],
    [3, 'success'],
  ])
  await until(() => worker.inFlight === 0)
})

test('a close that throws at once frees the place of its run, and those behind it start', async () => {
  let closed = 0
  const { worker, hand } = setUp({
    deliver: () => {
      throw new Error('a damaged definition')
    },
    close: (result) => {
      if (result.run.token === 1) throw new Error('no verdict')
      closed++
      return Promise.resolve('closed')
    },
  })
  hand(3)
  await until(() => worker.inFlight === 0)
  expect(closed).toBe(2)
})

test('a close that fails frees the place of its run', async () => {
  const { worker, hand } = setUp({ close: () => Promise.reject(new Error('gone')) })
  hand(2)
  await until(() => worker.inFlight === 0)
  expect(worker.inFlight).toBe(0)
})

describe('whoever is about to make runs for a worker', () => {
  /** A worker with 100 places, all of whose runs last until they are let go. */
  function busy(clock = systemClock) {
    const going: (() => void)[] = []
    const set = setUp(
      {
        deliver: () => new Promise((resolve) => going.push(() => resolve(succeeded))),
        lease: () => Promise.resolve([]),
      },
      100,
      clock,
    )
    const end = async (many: number) => {
      const before = set.worker.inFlight
      for (const go of going.splice(0, many)) go()
      await until(() => set.worker.inFlight === before - many)
    }
    return { ...set, end, going }
  }

  test('makes them at once where there is room, and where runs last', async () => {
    const { worker, hand, going } = busy()
    expect(worker.room.ready(50, soon())).toBeNull()
    hand(50)
    await until(() => going.length === 50)
    expect(worker.room.ready(10, soon())).toBeNull()
    // There is no room for more than half of what is left, and nothing has ended of late.
    expect(worker.room.ready(26, soon())).toBeNull()
  })

  test('waits for room where runs end fast, until there is', async () => {
    // Its time never passes: only room can end the wait.
    const { worker, hand, end, going } = busy({ ...systemClock, after: () => () => undefined })
    hand(50)
    await until(() => going.length === 50)
    await end(20)
    const ready = worker.room.ready(40, soon())
    expect(ready).not.toBeNull()
    let over = false
    void ready?.then(() => (over = true))
    await new Promise((resolve) => setImmediate(resolve))
    expect(over).toBe(false)
    await end(30)
    await ready
    expect(worker.room.ready(40, soon())).toBeNull()
    expect(worker.offer(40)).not.toBeNull()
  })

  test('asks again after a wait: of two that wait for the same room one takes it, and the other waits on', async () => {
    const { worker, hand, end, going } = busy({ ...systemClock, after: () => () => undefined })
    hand(50)
    await until(() => going.length === 50)
    await end(25)
    const before = soon()
    const both = [worker.room.ready(40, before), worker.room.ready(40, before)]
    expect(both).not.toContain(null)
    await end(20)
    for (const each of both) await each
    const offer = worker.offer(40)
    expect(offer).not.toBeNull()
    const still = worker.room.ready(40, before)
    expect(still).not.toBeNull()
    offer?.accept([])
    await end(5)
    await still
  })

  test('does not wait where there would never be room for so many', async () => {
    const { worker, hand, end, going } = busy()
    hand(50)
    await until(() => going.length === 50)
    await end(40)
    expect(worker.room.ready(51, soon())).toBeNull()
  })

  test('does not wait again at once after a wait that brought nothing, nor after one whose runs were not for this worker', async () => {
    const { worker, hand, end, going } = busy()
    hand(50)
    await until(() => going.length === 50)
    await end(20)
    await worker.room.ready(40, performance.now() + 20)
    expect(worker.room.ready(40, soon())).toBeNull()
    const other = busy()
    other.hand(50)
    await until(() => other.going.length === 50)
    await other.end(20)
    other.worker.offer(10)?.accept([])
    expect(other.worker.room.ready(40, soon())).toBeNull()
  })

  test('does not wait for ever', async () => {
    const { worker, hand, end, going } = busy()
    hand(50)
    await until(() => going.length === 50)
    await end(20)
    const ready = worker.room.ready(40, soon())
    expect(ready).not.toBeNull()
    await ready
    expect(worker.offer(40)).toBeNull()
  })
})

test('a worker that leaves gives back first what somebody else has to start first', async () => {
  const givenBack: number[] = []
  const { worker, hand } = setUp({
    handBack: (_holder, runs) => {
      givenBack.push(...runs.map((run) => (run as LeasedRun).availableAt))
      return Promise.resolve()
    },
  })
  hand(3_000, (at) => 60_000 + ((at * 7_919) % 3_000))
  await worker.handBack()
  expect(givenBack).toHaveLength(3_000)
  expect(givenBack).toEqual(givenBack.toSorted((a, b) => a - b))
})
