import { expect, test } from 'vitest'
import { type StopListener, StopSwitch } from './stop-switch.js'

test('goes on until it is stopped, and keeps the first reason', () => {
  const stop = new StopSwitch()
  expect(stop.stopped).toBe(false)
  stop.stop('first')
  stop.stop('second')
  expect(stop.stopped).toBe(true)
  expect(stop.reason).toBe('first')
})

test('its signal says the same, whether it was asked for before or after', () => {
  const early = new StopSwitch()
  const { signal } = early
  expect(signal.aborted).toBe(false)
  early.stop('why')
  expect(signal).toMatchObject({ aborted: true, reason: 'why' })
  const late = new StopSwitch()
  late.stop('why')
  expect(late.signal).toMatchObject({ aborted: true, reason: 'why' })
  expect(late.signal).toBe(late.signal)
})

test('tells its listeners once, and not those that have left', () => {
  const stop = new StopSwitch()
  const told: string[] = []
  const listeners = ['first', 'leaves', 'third', 'leaves too', 'fifth'].map((name) => ({
    whenStopped: (why: unknown) => void told.push(`${name}: ${String(why)}`),
  }))
  const [first, second, third, fourth, fifth] = listeners as [StopListener, StopListener, ...StopListener[]]
  stop.join(first)
  stop.join(second)
  stop.leave(second)
  stop.leave(first)
  for (const one of [first, third, fourth, fifth]) stop.join(one as StopListener)
  stop.leave(fourth as StopListener)
  stop.stop('why')
  stop.stop('again')
  expect(told).toEqual(['first: why', 'third: why', 'fifth: why'])
})

test('without a reason it has that of an aborted signal', () => {
  const stop = new StopSwitch()
  stop.stop(undefined)
  expect(stop.reason).toMatchObject({ name: 'AbortError' })
})

test('follows a signal', () => {
  const abort = new AbortController()
  const stop = StopSwitch.by(abort.signal)
  expect(stop.stopped).toBe(false)
  abort.abort('why')
  expect(stop).toMatchObject({ stopped: true, reason: 'why' })
  expect(StopSwitch.by(abort.signal)).toMatchObject({ stopped: true, reason: 'why' })
})
