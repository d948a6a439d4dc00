import { describe, expect, it } from 'vitest'
import { parseSchedule } from './schedule.js'
import { TicksExcept } from './ticks-except.js'

const minute = 60_000
const start = Date.UTC(2026, 0, 1)
const at = (nth: number) => start + nth * minute
const minutely = parseSchedule({ schedule: '* * * * *', timezone: 'UTC', anchor: start })

describe('a schedule without some of its ticks', () => {
  const some = new TicksExcept(minutely, [at(2), at(3), at(7), at(5) + 1], at(8))

  it('passes over them in both directions, and over several in a row', () => {
    expect(some.next(at(1))).toBe(at(4))
    expect(some.next(at(2))).toBe(at(4))
    expect(some.prev(at(3))).toBe(at(1))
    expect(some.prev(at(7))).toBe(at(6))
    expect(some.kind).toBe('cron')
  })

  it('counts what is left, and an instant that is no tick for nothing', () => {
    expect(some.count(at(1), at(6))).toBe(4)
    expect(some.count(at(2), at(3))).toBe(0)
    expect(some.count(at(5), at(6))).toBe(2)
  })

  it('has none after its end', () => {
    expect(some.next(at(8))).toBeNull()
    expect(some.prev(at(20))).toBe(at(8))
    expect(some.count(at(8), at(20))).toBe(1)
    expect(some.count(at(9), at(20))).toBe(0)
  })
})
