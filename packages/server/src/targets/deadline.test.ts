import { expect, test, vi } from 'vitest'
import { withinDeadline } from './deadline.js'
import { StopSwitch } from './stop-switch.js'

test('work that has ended hears nothing of a stop that comes later', async () => {
  const stop = new StopSwitch()
  let signal: AbortSignal | undefined
  const ending = await withinDeadline(
    (inner) => {
      ;({ signal } = inner)
      return Promise.resolve('done')
    },
    60_000,
    stop,
  )
  expect(ending).toEqual({ kind: 'finished', value: 'done' })
  stop.stop('too late')
  expect(signal?.aborted).toBe(false)
})

test('the caller’s switch is not stopped when the time is up', async () => {
  const stop = new StopSwitch()
  expect(await withinDeadline(() => new Promise(() => undefined), 1, stop)).toEqual({ kind: 'timeout' })
  expect(stop.stopped).toBe(false)
})

test('what the work left behind is part of its time', async () => {
  const stop = new StopSwitch()
  const never = () => new Promise(() => undefined)
  expect(await withinDeadline(() => 'done', 1, stop, never)).toEqual({ kind: 'timeout' })
  const broken = () => Promise.reject(new Error('it broke'))
  expect(await withinDeadline(() => 'done', 60_000, stop, broken)).toMatchObject({
    kind: 'threw',
    error: { message: 'it broke' },
  })
})

test('what looks like a promise is followed to its end', async () => {
  const lazy = (work: () => unknown) => ({
    then: (take: (value: unknown) => void) => take(work()),
  })
  const done = await withinDeadline<unknown>(
    () => lazy(() => Promise.resolve('done')),
    60_000,
    new StopSwitch(),
  )
  expect(done).toEqual({ kind: 'finished', value: 'done' })
  const broken = lazy(() => Promise.reject(new Error('it broke')))
  expect(await withinDeadline<unknown>(() => broken, 60_000, new StopSwitch())).toMatchObject({
    kind: 'threw',
  })
  const callable = Object.assign(
    () => undefined,
    lazy(() => 'called'),
  )
  expect(await withinDeadline<unknown>(() => callable, 60_000, new StopSwitch())).toEqual({
    kind: 'finished',
    value: 'called',
  })
})

test('work that is over in its turn of the event loop sets no timer; work that goes on sets one', async () => {
  const timers = vi.spyOn(globalThis, 'setTimeout')
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  try {
    const stop = new StopSwitch()
    await Promise.all([
      withinDeadline(() => 'done', 7_001, stop),
      withinDeadline(() => Promise.resolve('done'), 7_002, stop),
    ])
    const going = withinDeadline(
      () => {
        for (const until = performance.now() + 20; performance.now() < until; );
        return new Promise(() => undefined)
      },
      7_003,
      stop,
    )
    await turn()
    const set = timers.mock.calls.map(([, ms = 0]) => ms).filter((ms) => ms > 5_000)
    expect(set).toHaveLength(1)
    // What it worked for in that turn is part of its time.
    expect(set[0]).toBeLessThanOrEqual(7_003 - 20)
    stop.stop('enough')
    expect(await going).toMatchObject({ kind: 'cancelled' })
  } finally {
    timers.mockRestore()
  }
})
