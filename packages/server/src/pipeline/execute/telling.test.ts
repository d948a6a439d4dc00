import { expect, test } from 'vitest'
import { isWorthWaking } from './telling.js'

const times = { aheadMs: 1_000, pollMs: 100 }

test.each([
  ['one whose time has come', 0, true, true],
  ['one that starts in a moment', 10_200, true, true],
  ['one that may be leased, if there are places for many', 10_201, true, false],
  ['the last that may be leased', 11_000, true, false],
  ['one that may not be leased yet', 11_001, false, false],
])('%s', (_, startsAt, withRoom, withLittle) => {
  expect(isWorthWaking(startsAt, 10_000, times, { isWorthAsking: true })).toBe(withRoom)
  expect(isWorthWaking(startsAt, 10_000, times, { isWorthAsking: false })).toBe(withLittle)
})
