import { expect, test } from 'vitest'
import { Gathering } from './gathering.js'

function after(ticksPerSecond: number, everyMs: number): Gathering {
  const gathering = new Gathering()
  for (let pass = 0; pass < 50; pass++) gathering.passed((ticksPerSecond * everyMs) / 1_000, everyMs)
  return gathering
}

test('few ticks are waited for as long as there is time, by how early they are staged', () => {
  expect(new Gathering().waitMs(2_000)).toBe(100)
  expect(after(10, 100).waitMs(1_000)).toBe(100)
  expect(after(10, 100).waitMs(500)).toBe(50)
})

test('many are waited for until they are worth a statement', () => {
  expect(after(1_000, 100).waitMs(2_000)).toBeCloseTo(64, 0)
  expect(after(4_000, 20).waitMs(2_000)).toBeCloseTo(16, 0)
})

test('a crowd is not waited for, but gathered all the same', () => {
  expect(after(100_000, 10).waitMs(2_000)).toBe(4)
})

test('two passes at once say nothing', () => {
  const gathering = after(1_000, 100)
  gathering.passed(5_000, 0)
  expect(gathering.waitMs(2_000)).toBeCloseTo(64, 0)
})
