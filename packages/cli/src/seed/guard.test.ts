import { expect, it } from 'vitest'
import { checkRoom, farHost, liveNodes } from './guard.js'
import { dueOf } from './seed.js'

it.each([
  ['postgres://me@localhost/x', null],
  ['postgres://me@127.0.0.1:5433/x', null],
  ['postgres://me@[::1]/x', null],
  ['postgres:///x', null],
  ['postgres://me@%2Fvar%2Frun/x', null],
  ['postgres://localhost/x?host=/tmp', null],
  ['postgres://db.example.com/x', 'db.example.com'],
  ['postgres://localhost/x?host=db.example.com', 'db.example.com'],
  ['postgres://10.0.0.7/x', '10.0.0.7'],
])('knows whether %s is on this machine', (url, far) => expect(farHost(url)).toBe(far))

it('takes a process for gone that has been silent for long', () => {
  const processes = [
    { node: 'a', silent_ms: 200 },
    { node: 'b', silent_ms: 3_600_000 },
  ]
  expect(liveNodes(processes)).toEqual(['a'])
})

it('refuses what would not fit on the disk', () => {
  expect(() => checkRoom(1_000_000, 100e9)).not.toThrow()
  expect(() => checkRoom(10_000_000, 5e9)).toThrow('10,000,000 jobs need about')
})

it('spreads first ticks evenly over the period, none of them in the past', () => {
  const plan = { count: 4, periodMs: 1_000, firstTick: 10_000 }
  const dues = (now: number) => [0, 1, 2, 3].map((at) => dueOf(plan, at, now))
  expect(dues(9_000)).toEqual([10_000, 10_250, 10_500, 10_750])
  expect(dues(10_250)).toEqual([11_000, 11_250, 10_500, 10_750])
  expect(dues(13_100)).toEqual([14_000, 13_250, 13_500, 13_750])
})
