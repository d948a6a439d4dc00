import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ManualClock, settled } from '../../test/kit/manual-clock.js'
import { pause, systemClock } from './clock.js'

const longestTimeout = 2 ** 31 - 1
const day = 86_400_000

describe('the system clock', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it.each([
    { name: 'an ordinary delay', delayMs: 1_500 },
    { name: 'the longest one that a timer can count', delayMs: longestTimeout },
    { name: 'one millisecond more than that', delayMs: longestTimeout + 1 },
    { name: 'a delay of 100 days, four timers long', delayMs: 100 * day },
  ])('calls back after $name, once and not sooner', ({ delayMs }) => {
    const callback = vi.fn()
    systemClock.after(delayMs, callback)
    vi.advanceTimersByTime(delayMs - 1)
    expect(callback).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1)
    expect(callback).toHaveBeenCalledTimes(1)
    vi.advanceTimersByTime(2 * longestTimeout)
    expect(callback).toHaveBeenCalledTimes(1)
  })

  it('never asks for a timer beyond 32 bits, which would fire at once', () => {
    const timeouts = vi.spyOn(globalThis, 'setTimeout')
    systemClock.after(100 * day, () => undefined)
    vi.advanceTimersByTime(100 * day)
    const asked = timeouts.mock.calls.map(([, delay]) => delay ?? 0)
    expect(asked.reduce((sum, delay) => sum + delay, 0)).toBe(100 * day)
    expect(Math.max(...asked)).toBeLessThanOrEqual(longestTimeout)
  })

  it('calls back soon when the instant has passed already', () => {
    const callback = vi.fn()
    systemClock.after(-5_000, callback)
    vi.advanceTimersByTime(1)
    expect(callback).toHaveBeenCalledTimes(1)
  })

  it.each([
    { name: 'in its first stretch', after: 1_000 },
    { name: 'in a later stretch', after: longestTimeout + 1_000 },
  ])('can be called off $name', ({ after }) => {
    const callback = vi.fn()
    const callOff = systemClock.after(2 * longestTimeout, callback)
    vi.advanceTimersByTime(after)
    callOff()
    expect(vi.getTimerCount()).toBe(0)
    vi.advanceTimersByTime(3 * longestTimeout)
    expect(callback).not.toHaveBeenCalled()
  })
})

it('the monotonic clock never goes back', () => {
  let last = systemClock.monotonic()
  for (let look = 0; look < 1_000; look++) {
    const now = systemClock.monotonic()
    expect(now).toBeGreaterThanOrEqual(last)
    last = now
  }
})

describe('a pause', () => {
  it('ends after its time', async () => {
    const clock = new ManualClock()
    let over = false
    const pausing = pause(clock, 100).then(() => {
      over = true
    })
    await clock.advance(99)
    expect(over).toBe(false)
    await clock.advance(1)
    await pausing
  })

  it('ends at once when its signal aborts, and leaves neither timer nor listener', async () => {
    const clock = new ManualClock()
    const stop = new AbortController()
    const removed = vi.spyOn(stop.signal, 'removeEventListener')
    const pausing = pause(clock, 100_000, stop.signal)
    stop.abort()
    await pausing
    expect(clock.armed).toBe(0)
    expect(removed).toHaveBeenCalled()
  })

  it('does not begin when its signal is aborted already', async () => {
    const clock = new ManualClock()
    await pause(clock, 100_000, AbortSignal.abort())
    expect(clock.delays).toEqual([])
  })

  it('lets go of its signal when it ends in time: a long life leaves no listeners behind', async () => {
    const clock = new ManualClock()
    const { signal } = new AbortController()
    const added = vi.spyOn(signal, 'addEventListener')
    const removed = vi.spyOn(signal, 'removeEventListener')
    const pausing = pause(clock, 10, signal)
    await clock.advance(10)
    await pausing
    await settled()
    expect(removed.mock.calls.map(([name, listener]) => [name, listener])).toEqual(
      added.mock.calls.map(([name, listener]) => [name, listener]),
    )
  })
})
