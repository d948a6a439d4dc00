import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { editDistance } from './edit-distance.js'

describe('editDistance', () => {
  it.each([
    ['', '', 0],
    ['', 'abc', 3],
    ['abc', '', 3],
    ['port', 'port', 0],
    ['port', 'ports', 1],
    ['ports', 'port', 1],
    ['port', 'pert', 1],
    ['prot', 'port', 1],
    ['kitten', 'sitting', 3],
  ])('from "%s" to "%s" is %i', (a, b, distance) => {
    expect(editDistance(a, b)).toBe(distance)
  })

  it('is symmetric, bounded by the longer text, and zero only between equals', () => {
    const short = fc.string({ maxLength: 12 })
    fc.assert(
      fc.property(short, short, (a, b) => {
        const distance = editDistance(a, b)
        expect(distance).toBe(editDistance(b, a))
        expect(distance).toBeLessThanOrEqual(Math.max(a.length, b.length))
        expect(distance === 0).toBe(a === b)
      }),
    )
  })
})
