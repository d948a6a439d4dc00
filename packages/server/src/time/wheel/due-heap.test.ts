import fc from 'fast-check'
import { expect, it } from 'vitest'
import { DueHeap } from './due-heap.js'
import { none, TimerTable } from './timer-table.js'

it('has the earliest on top, whatever is taken out of the middle', () => {
  const instants = fc.array(fc.integer({ min: 0, max: 60 }), { minLength: 8, maxLength: 60, size: 'max' })
  const removals = fc.array(fc.nat(), { maxLength: 20, size: 'max' })
  fc.assert(
    fc.property(instants, removals, (ats, picks) => {
      const timers = new TimerTable(100)
      const heap = new DueHeap(timers)
      const rows = ats.map((at) => {
        const row = timers.take()
        timers.setAt(row, at)
        heap.push(row)
        return row
      })
      for (const pick of picks) {
        if (rows.length === 0) break
        heap.remove(rows.splice(pick % rows.length, 1)[0] as number)
      }
      const left = rows.map((row) => timers.at(row)).sort((a, b) => a - b)
      const out: number[] = []
      for (let row = heap.top(); row !== none; row = heap.top()) {
        out.push(timers.at(row))
        heap.remove(row)
      }
      expect(out).toEqual(left)
      expect(heap.size).toBe(0)
    }),
    { numRuns: 500 },
  )
})
