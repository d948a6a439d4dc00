import fc from 'fast-check'
import { expect, it } from 'vitest'

it.skipIf(
  process.env['CARILLON_TEST_SEED'] !== undefined || process.env['CARILLON_TEST_SEEDS'] !== undefined,
)('property tests draw the same values every time', () => {
  expect(fc.readConfigureGlobal()?.seed).toBe(20_261_116)
  expect(fc.sample(fc.nat(), 3)).toEqual(fc.sample(fc.nat(), 3))
})
