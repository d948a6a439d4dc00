import fc from 'fast-check'
import { expect, it } from 'vitest'
import { Instants } from './instants.js'

it('gives the earliest first, whatever came when', () => {
  const step = fc.oneof(fc.integer({ min: -50, max: 50 }), fc.constant('shift' as const))
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const instants = new Instants()
      const model: number[] = []
      for (const step of steps) {
        if (step === 'shift') {
          instants.shift()
          model.shift()
        } else {
          instants.push(step)
          model.push(step)
          model.sort((a, b) => a - b)
        }
        expect(instants.first).toBe(model[0] ?? Number.POSITIVE_INFINITY)
      }
    }),
  )
})
