import { expect, test } from 'vitest'
import { Turnover } from './turnover.js'

function freed(turnover: Turnover, many: number): void {
  for (let at = 0; at < many; at++) turnover.freed()
}

test('says how many places will be free, by how many became free of late', () => {
  const turnover = new Turnover()
  expect(turnover.within(100, 1_000)).toBe(0)
  freed(turnover, 400)
  expect(turnover.within(50, 1_200)).toBe(100)
})

test('a burst is noticed at once, and forgotten when nothing follows', () => {
  const turnover = new Turnover()
  turnover.within(100, 1_000)
  freed(turnover, 500)
  expect(turnover.within(100, 1_010)).toBe(500)
  turnover.within(100, 1_100)
  expect(turnover.within(100, 1_200)).toBe(0)
})
