import { expect, test } from 'vitest'
import { placeIn } from './rows.js'

test('the keyboard stays on its row where that moves, and on its place where the row is gone', () => {
  expect(placeIn(['a', 'b', 'c'], null)).toBe(-1)
  expect(placeIn(['a', 'b', 'c'], { id: 'b', at: 1 })).toBe(1)
  expect(placeIn(['b', 'c', 'a'], { id: 'b', at: 1 })).toBe(0)
  expect(placeIn(['a', 'c'], { id: 'b', at: 1 })).toBe(1)
  expect(placeIn(['a'], { id: 'c', at: 2 })).toBe(0)
  expect(placeIn([], { id: 'c', at: 2 })).toBe(-1)
})
