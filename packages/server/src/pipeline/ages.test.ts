import { describe, expect, it } from 'vitest'
import { ageText } from './ages.js'

describe('ageText', () => {
  it.each([
    [1_000, '1 second'],
    [119_000, '119 seconds'],
    [120_000, '2 minutes'],
    [7_200_000, '2 hours'],
    [3 * 86_400_000 + 5, '3 days'],
    [6.5 * 365.25 * 86_400_000, '6 years'],
  ])('says %i ms as "%s"', (ms, text) => {
    expect(ageText(ms)).toBe(text)
  })
})
