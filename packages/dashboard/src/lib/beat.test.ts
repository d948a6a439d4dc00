import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { beatOf } from './beat.js'

class Tab extends EventTarget {
  hidden = false
  turn(hidden: boolean): void {
    this.hidden = hidden
    this.dispatchEvent(new Event('visibilitychange'))
  }
}

let tab: Tab
beforeEach(() => {
  vi.useFakeTimers()
  tab = new Tab()
  vi.stubGlobal('document', tab)
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

test('all who want the time this often share one timer, which ends with the last of them', () => {
  const beat = beatOf(1_001)
  let told = 0
  const leave = [beat.subscribe(() => told++), beat.subscribe(() => told++)]
  expect(vi.getTimerCount()).toBe(1)
  told = 0
  vi.advanceTimersByTime(1_001)
  expect(told).toBe(2)
  for (const one of leave) one()
  expect(vi.getTimerCount()).toBe(0)
})

test('nothing is told while nobody looks at the tab, and the time at once when somebody does', () => {
  const beat = beatOf(1_002)
  let told = 0
  const leave = beat.subscribe(() => told++)
  tab.turn(true)
  expect(vi.getTimerCount()).toBe(0)
  told = 0
  const before = beat.time()
  vi.advanceTimersByTime(60_000)
  tab.turn(false)
  expect(told).toBe(1)
  expect(beat.time() - before).toBeGreaterThan(59_000)
  leave()
  tab.turn(true)
  tab.turn(false)
  expect(vi.getTimerCount()).toBe(0)
})

test('the time is the same however often it is asked for between two beats', () => {
  const beat = beatOf(1_003)
  const leave = beat.subscribe(() => undefined)
  const first = beat.time()
  vi.advanceTimersByTime(500)
  expect(beat.time()).toBe(first)
  vi.advanceTimersByTime(600)
  expect(beat.time()).toBeGreaterThan(first)
  leave()
})
